//! Servers that are there already: reached over HTTP instead of started.

#[cfg(feature = "http")]
use std::sync::OnceLock;

#[cfg(feature = "http")]
use super::http::{self, Client, Endpoint};
use super::launch::{LaunchError, Launched};
use super::settings::ChildSettings;

/// A server's address, and what each request to it carries.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Remote {
    pub(super) url: String,
    /// Secrets.
    pub(super) headers: Vec<(String, String)>,
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
        let endpoint = Endpoint::new(&remote.url, &remote.headers, client).map_err(LaunchError::Never)?;
        Ok(http::launched(endpoint))
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
