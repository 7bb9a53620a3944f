//! Servers that are there already: reached over HTTP instead of started.

#[cfg(feature = "http")]
use std::sync::OnceLock;

#[cfg(feature = "http")]
use super::http::{self, Client};
use super::launch::{LaunchError, Launched};
#[cfg(feature = "http")]
use super::resolve::{Target, resolve};
use super::settings::ChildSettings;
#[cfg(feature = "http")]
use crate::state;
use evokore_catalog::server::Dialect;
#[cfg(feature = "http")]
use evokore_catalog::server::ServerSpec;

/// A server's address, and what each request to it carries.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Remote {
    pub(super) id: &'static str,
    pub(super) url: String,
    /// Secrets.
    pub(super) headers: Vec<(String, String)>,
    /// How it speaks.
    pub(super) dialect: Dialect,
    pub(super) login: Login,
}

/// What a login there needs that is not found out.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Login {
    pub(super) client_id: Option<String>,
    /// A secret.
    pub(super) client_secret: Option<String>,
    pub(super) scopes: &'static [&'static str],
    pub(super) redirect_port: Option<u16>,
}

/// The server of `spec`.
///
/// # Errors
/// It is none of these, or a variable is missing.
#[cfg(feature = "http")]
pub(super) fn of(spec: &ServerSpec, settings: &ChildSettings) -> Result<Remote, String> {
    match resolve(spec, &*settings.lookup, &settings.base) {
        Ok(Target::Remote(remote)) => Ok(remote),
        Ok(Target::Command(_)) => Err("it is started by a `command`, and is not reached at a `url`".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Reaches the servers of a process, with one client that is made for the first of them.
pub(super) struct Remotes {
    #[cfg(feature = "http")]
    lookup: super::settings::Lookup,
    #[cfg(feature = "http")]
    client: OnceLock<Client>,
}

#[cfg(feature = "http")]
impl Remotes {
    pub(super) fn new(settings: &ChildSettings) -> Remotes {
        Remotes { lookup: settings.lookup.clone(), client: OnceLock::new() }
    }

    /// The server at `remote`; nothing is sent yet.
    pub(super) fn reach(&self, remote: &Remote) -> Result<Launched, LaunchError> {
        let client = self.client.get_or_init(|| Client::new(self.lookup.clone())).clone();
        let home = state::home(&*self.lookup);
        let endpoint = http::endpoint(remote, client, home.as_deref()).map_err(LaunchError::Never)?;
        Ok(http::launched(endpoint, remote.dialect))
    }
}

#[cfg(not(feature = "http"))]
impl Remotes {
    pub(super) fn new(_settings: &ChildSettings) -> Remotes {
        Remotes {}
    }

    pub(super) fn reach(&self, _remote: &Remote) -> Result<Launched, LaunchError> {
        const WHY: &str = "it is reached over HTTP, for which this executable was not built\nhint: build it with the feature \
                           `http`, or give the server a `command` that bridges to its `url`";
        Err(LaunchError::Never(WHY.to_owned()))
    }
}
