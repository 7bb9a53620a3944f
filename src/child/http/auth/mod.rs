//! Logging in to servers over HTTP (MCP 2025-11-25, authorization), and staying logged in.
//!
//! ```text
//! login      a person's login from beginning to end
//!   discovery  server → protected resource → authorization server; challenge reads WWW-Authenticate
//!   register   how the authorization server knows us
//!   browser    the way out through a browser and back to this machine; secret: what must not be guessed
//! grant      the token endpoint: a code or a refresh token → tokens
//! access     what requests carry, renewed in time; the files are state::tokens
//! fetch      bounded requests to all of them; form: how they are spelled
//! ```

mod access;
mod browser;
mod challenge;
mod discovery;
mod fetch;
mod form;
mod grant;
mod login;
mod register;
mod secret;

pub(super) use access::{Access, NoAccess};
pub use login::{login, logout};

/// Why there is no access: what is wrong, as a sentence, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct LoginError {
    /// What is wrong. Holds no secret.
    pub what: String,
    /// What to do.
    pub hint: &'static str,
}

impl LoginError {
    fn new(what: impl Into<String>, hint: &'static str) -> LoginError {
        LoginError { what: what.into(), hint }
    }
}

/// What to do about an authorization server that does not do its part.
const TELL: &str = "tell whoever runs it, or put a token into the `headers` of the server";
