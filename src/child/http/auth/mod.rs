//! Logging in to servers over HTTP (MCP 2025-11-25, authorization), and staying logged in.
//!
//! ```text
//! login      a person's login from beginning to end
//!   discovery  server → protected resource → authorization server; challenge reads WWW-Authenticate
//!   register   how the authorization server knows us
//!   scope      what is asked for, and what a server wants besides
//!   browser    the way out through a browser and back to this machine; secret: what must not be guessed
//! logout     the end of a login: tokens are taken back and forgotten
//! grant      the token endpoint: a code or a refresh token → tokens; authenticate: who asks there
//! access     what requests carry, renewed in time; the files are state::tokens
//! fetch      bounded requests to all of them; form: how they are spelled
//! ```

mod access;
mod authenticate;
mod browser;
mod challenge;
mod discovery;
mod fetch;
mod form;
mod grant;
mod login;
mod logout;
mod register;
mod scope;
mod secret;

use std::borrow::Cow;
use std::path::PathBuf;

use evokore_catalog::server::{ServerSpec, Transport};
use evokore_catalog::template::needed;

use crate::child::remote::{self, Remote};
use crate::child::settings::ChildSettings;
use crate::state::{self, tokens};

pub(super) use access::{Access, NoAccess};
pub(super) use challenge::lacking;
pub(super) use form::unescaped;
pub use login::login;
pub use logout::{Logout, logout};

/// Why there is no access: what is wrong, as a sentence, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct LoginError {
    /// What is wrong. Holds no secret.
    pub what: String,
    /// What to do.
    pub hint: Cow<'static, str>,
}

impl LoginError {
    fn new(what: impl Into<String>, hint: impl Into<Cow<'static, str>>) -> LoginError {
        LoginError { what: what.into(), hint: hint.into() }
    }
}

/// What to do about an authorization server that does not do its part.
const TELL: &str = "tell whoever runs it, or put a token into the `headers` of the server";

/// The server of `spec` as far as logins go, and the file of its tokens.
fn place(spec: &ServerSpec, settings: &ChildSettings) -> Result<(Remote, PathBuf), LoginError> {
    if let Transport::Stdio { env, .. } = spec.transport {
        let what = "it is started by a `command`, so there is nothing to log in to";
        return Err(LoginError::new(what, credentials(env)));
    }
    let remote = remote::of(spec, settings).map_err(|what| LoginError::new(what, "correct its entry"))?;
    let home = state::home(&*settings.lookup).ok_or_else(|| {
        LoginError::new("there is no home folder in which a login could be kept", "set `EVOKORE_HOME` or `HOME`")
    })?;
    let path = tokens::path(&home, remote.id, &remote.url);
    Ok((remote, path))
}

/// Where a program takes its credentials from, as far as its `env` tells.
fn credentials(env: &[(&str, &str)]) -> String {
    let names: Vec<String> = env.iter().flat_map(|(_, value)| needed(value)).map(|name| format!("`{name}`")).collect();
    if names.is_empty() {
        return "such a program takes credentials from its environment: give them to it in `env` of its entry, as \
                `\"NAME\": \"${NAME}\"`"
            .to_owned();
    }
    format!("it takes its credentials from its environment: set {}", names.join(", "))
}
