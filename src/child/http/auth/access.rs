//! What requests to one server carry: the token of a login, read when it is first needed, renewed before it ends and when
//! the server does not take it any more.
//!
//! Several processes share a file. Each looks into it before it renews, since another may have done so.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::header::HeaderValue;

use super::grant::{self, Denied};
use super::register::Identity;
use super::scope;
use crate::child::http::client::Client;
use crate::child::remote::Remote;
use crate::state::tokens::{self, Tokens, now};

/// Tokens are renewed so many seconds before they end.
const EARLY: u64 = 60;

/// Why there is no token, for a person: the beginning of what else there is to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::child::http) struct NoAccess(pub(in crate::child::http) String);

/// The access to one server. A cheap handle.
#[derive(Clone)]
pub(in crate::child::http) struct Access {
    shared: Arc<Shared>,
}

struct Shared {
    path: PathBuf,
    url: String,
    /// A configured secret, which is not in the file.
    secret: Option<String>,
    client: Client,
    held: Mutex<Held>,
    /// Held by whoever reads the file or renews; all others wait and take what came of it.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Clone)]
enum Held {
    Unread,
    Nothing,
    Tokens(Arc<Tokens>),
}

impl Access {
    /// The access to `remote` that `path` keeps; nothing is read yet.
    pub(in crate::child::http) fn new(path: PathBuf, remote: &Remote, client: Client) -> Access {
        let (url, secret) = (remote.url.clone(), remote.login.client_secret.clone());
        let shared =
            Shared { path, url, secret, client, held: Mutex::new(Held::Unread), turn: tokio::sync::Mutex::default() };
        Access { shared: Arc::new(shared) }
    }

    /// What a request carries now; `None` if nobody has logged in.
    ///
    /// # Errors
    /// The token has ended and cannot be renewed.
    pub(in crate::child::http) async fn header(&self) -> Result<Option<HeaderValue>, NoAccess> {
        let mut held = self.shared.held().clone();
        if matches!(held, Held::Unread) {
            let _turn = self.shared.turn.lock().await;
            held = self.shared.held().clone();
            if matches!(held, Held::Unread) {
                held = self.read().await?.map_or(Held::Nothing, |tokens| Held::Tokens(Arc::new(tokens)));
                *self.shared.held() = held.clone();
            }
        }
        let Held::Tokens(tokens) = held else { return Ok(None) };
        if !is_ending(&tokens, EARLY) || tokens.refresh_token.is_none() {
            return Ok(Some(bearer(&tokens)?));
        }
        match self.renewed(&tokens.access_token).await {
            Ok(header) => Ok(Some(header)),
            // It is good for a moment yet.
            Err(_) if !is_ending(&tokens, 0) => Ok(Some(bearer(&tokens)?)),
            Err(error) => Err(error),
        }
    }

    /// What requests carry after the token `used`, which the server does not take or which is about to end.
    ///
    /// # Errors
    /// There is no other, and none can be had.
    pub(in crate::child::http) async fn instead(&self, used: Option<&HeaderValue>) -> Result<HeaderValue, NoAccess> {
        let used = used.and_then(|used| used.to_str().ok()).and_then(|used| used.strip_prefix("Bearer "));
        self.renewed(used.unwrap_or_default()).await
    }

    /// What a login elsewhere has brought since `used`, whose scopes do not suffice. Renewing would not change them.
    pub(in crate::child::http) async fn anew(&self, used: Option<&HeaderValue>) -> Option<HeaderValue> {
        let used = used.and_then(|used| used.to_str().ok()).and_then(|used| used.strip_prefix("Bearer "));
        let _turn = self.shared.turn.lock().await;
        let other = self.read().await.ok()?.filter(|tokens| is_other(tokens, used.unwrap_or_default()))?;
        bearer(&self.hold(other)).ok()
    }

    /// Those of `wanted` that the login is not good for; the next one asks for them, too. `None` if there is no login.
    pub(in crate::child::http) async fn wants(&self, wanted: &[String]) -> Option<Vec<String>> {
        let _turn = self.shared.turn.lock().await;
        // Not what is held: another process may have renewed or forgotten it.
        let mut tokens = self.read().await.ok()??;
        let missing = scope::without(wanted, &tokens.scopes);
        let known = tokens.wanted_scopes.len();
        scope::add(&mut tokens.wanted_scopes, missing.iter().map(String::as_str));
        if tokens.wanted_scopes.len() > known {
            let path = self.shared.path.clone();
            // What is not noted is asked for when it is missing again.
            let _ = tokio::task::spawn_blocking(move || tokens::write(&path, &tokens)).await;
        }
        Some(missing)
    }

    async fn renewed(&self, used: &str) -> Result<HeaderValue, NoAccess> {
        let (access, used) = (self.clone(), used.to_owned());
        // A task of its own: a refresh token that was used is gone, so what came for it must be kept even if nobody
        // waits for it any more.
        let task = tokio::spawn(async move {
            let _turn = access.shared.turn.lock().await;
            let tokens = access.renew(&used).await?;
            bearer(&tokens)
        });
        task.await.unwrap_or_else(|_| Err(NoAccess("evokore is ending".to_owned())))
    }

    /// Other tokens than those with `used`: someone else's, or new ones.
    async fn renew(&self, used: &str) -> Result<Arc<Tokens>, NoAccess> {
        let held = self.shared.held().clone();
        if let Held::Tokens(tokens) = &held
            && is_other(tokens, used)
        {
            return Ok(tokens.clone());
        }
        let kept = self.read().await?;
        if let Some(other) = kept.clone().filter(|tokens| is_other(tokens, used)) {
            return Ok(self.hold(other));
        }
        let Held::Tokens(tokens) = held else { return Err(NoAccess(String::new())) };
        let Some(refresh_token) = tokens.refresh_token.clone() else { return Err(NoAccess(String::new())) };
        let identity = Identity {
            id: tokens.client_id.clone(),
            secret: self.shared.secret.clone().or_else(|| tokens.client_secret.clone()),
            in_body: tokens.secret_in_body,
        };
        let pairs =
            [("grant_type", "refresh_token"), ("refresh_token", &*refresh_token), ("resource", &tokens.resource)];
        let granted = match grant::ask(&self.shared.client, &tokens.token_endpoint, &identity, &pairs).await {
            Ok(granted) => granted,
            Err(denied) => return self.denied(denied, &tokens, used).await,
        };
        let new = Tokens {
            access_token: granted.access_token,
            // One that may be used again is not given again.
            refresh_token: granted.refresh_token.or(Some(refresh_token)),
            expires_at: granted.expires_at,
            scopes: granted.scopes.unwrap_or_else(|| tokens.scopes.clone()),
            // Any process notes them, there alone.
            wanted_scopes: kept.map(|kept| kept.wanted_scopes).unwrap_or_default(),
            ..(*tokens).clone()
        };
        let held = self.hold(new.clone());
        let path = self.shared.path.clone();
        match tokio::task::spawn_blocking(move || tokens::write(&path, &new)).await {
            // What is held serves as long as the process lives; the next one will say that a login is needed.
            Ok(Ok(())) | Ok(Err(_)) | Err(_) => Ok(held),
        }
    }

    async fn denied(&self, denied: Denied, tokens: &Tokens, used: &str) -> Result<Arc<Tokens>, NoAccess> {
        // Another process may have been faster with the same refresh token.
        if let Some(other) = self.read().await?.filter(|tokens| is_other(tokens, used)) {
            return Ok(self.hold(other));
        }
        if let Denied::Refused(_) = denied {
            // It is not asked with this one again.
            self.hold(Tokens { refresh_token: None, ..tokens.clone() });
        }
        Err(NoAccess(denied.error().to_string()))
    }

    fn hold(&self, tokens: Tokens) -> Arc<Tokens> {
        let tokens = Arc::new(tokens);
        *self.shared.held() = Held::Tokens(tokens.clone());
        tokens
    }

    async fn read(&self) -> Result<Option<Tokens>, NoAccess> {
        let (path, url) = (self.shared.path.clone(), self.shared.url.clone());
        let shown = path.display().to_string();
        match tokio::task::spawn_blocking(move || tokens::read(&path, &url)).await {
            Ok(Ok(tokens)) => Ok(tokens),
            Ok(Err(error)) => Err(NoAccess(format!("`{shown}` cannot be read: {error}"))),
            Err(_) => Err(NoAccess("evokore is ending".to_owned())),
        }
    }
}

impl Shared {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_ending(tokens: &Tokens, early: u64) -> bool {
    tokens.expires_at.is_some_and(|end| end <= now().saturating_add(early))
}

/// Whether tokens serve where `used` does not.
fn is_other(tokens: &Tokens, used: &str) -> bool {
    tokens.access_token != used && !is_ending(tokens, 0)
}

fn bearer(tokens: &Tokens) -> Result<HeaderValue, NoAccess> {
    let mut value = HeaderValue::from_str(&format!("Bearer {}", tokens.access_token))
        .map_err(|_| NoAccess("the token that is kept fits into no header".to_owned()))?;
    value.set_sensitive(true);
    Ok(value)
}
