//! Access to child servers that a person has logged in to: `tokens/<server>-<hash of url>.json`, written by
//! `evokore login` and by whichever process renews it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use evokore_catalog::canonical::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{create_private_dir, write_atomic};

/// Bytes of a file that is read; a larger one is not ours.
const MAX_BYTES: u64 = 256 << 10;

/// What a login gave, with all that renewing it needs. Bound to one address and one authorization server.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tokens {
    /// The server's address.
    pub url: String,
    /// The authorization server.
    pub issuer: String,
    /// Where it renews tokens.
    pub token_endpoint: String,
    /// What the tokens are for (RFC 8707).
    pub resource: String,
    /// How the authorization server knows us.
    pub client_id: String,
    /// Its secret, if it was given at registration. A configured one is never written.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub client_secret: Option<String>,
    /// Whether the secret goes into the body instead of a header.
    #[serde(default)]
    pub secret_in_body: bool,
    /// What requests carry.
    pub access_token: String,
    /// What the next access token is got with.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub refresh_token: Option<String>,
    /// Seconds since 1970; `None` if it was not said.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub expires_at: Option<u64>,
    /// Where the authorization server takes tokens back (RFC 7009), if it does.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub revocation_endpoint: Option<String>,
    /// What was granted: scopes (RFC 6749, 3.3). None if nothing was said of them.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub scopes: Vec<String>,
    /// What the server has wanted since besides; the next login asks for it, too.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub wanted_scopes: Vec<String>,
}

impl fmt::Debug for Tokens {
    /// Without what is secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens")
            .field("url", &self.url)
            .field("issuer", &self.issuer)
            .field("expires_at", &self.expires_at)
            .finish_non_exhaustive()
    }
}

/// The file for server `id` at `url` below the state folder `home`.
pub fn path(home: &Path, id: &str, url: &str) -> PathBuf {
    let digest = hex(&Sha256::digest(url.as_bytes())[..8]);
    home.join("tokens").join(format!("{id}-{digest}.json"))
}

/// What `path` holds for `url`; `None` if there is none, or it is for another address.
///
/// # Errors
/// It cannot be read.
pub fn read(path: &Path, url: &str) -> io::Result<Option<Tokens>> {
    match std::fs::metadata(path) {
        Ok(about) if about.len() > MAX_BYTES => return Err(io::Error::other("it is too large")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        _ => {}
    }
    // Where the text is at fault must not be quoted: it is secret.
    let tokens: Tokens = serde_json::from_slice(&std::fs::read(path)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not as `evokore login` writes it"))?;
    Ok(Some(tokens).filter(|tokens| tokens.url == url))
}

/// Writes `tokens` to `path`, whole or not at all.
///
/// # Errors
/// What the file system says.
pub fn write(path: &Path, tokens: &Tokens) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        create_private_dir(folder)?;
    }
    write_atomic(path, &serde_json::to_vec_pretty(tokens)?)
}

/// Removes `path`; false if there was none.
///
/// # Errors
/// What the file system says.
pub fn remove(path: &Path) -> io::Result<bool> {
    match std::fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Seconds since 1970. Files outlive processes, so no monotonic clock will do.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
