//! The end of a login: the authorization server takes the tokens back if it can (RFC 7009), and they are forgotten here
//! in any case.

use std::path::Path;

use evokore_catalog::server::ServerSpec;

use super::fetch::address;
use super::register::Identity;
use super::{LoginError, authenticate, place};
use crate::child::http::client::Client;
use crate::child::settings::ChildSettings;
use crate::state::tokens::{self, Tokens};

/// What a logout came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Logout {
    /// Nobody was logged in.
    Nobody,
    /// The tokens are forgotten, and this authorization server takes them no more.
    Revoked(String),
    /// The tokens are forgotten here alone. Why they are good until they end, as a sentence.
    Forgotten(String),
}

/// Ends the login at the server of `spec`.
///
/// # Errors
/// There is nothing to forget at such a server, or the file cannot be removed.
pub async fn logout(spec: &ServerSpec, settings: &ChildSettings) -> Result<Logout, LoginError> {
    let (remote, path) = place(spec, settings)?;
    let kept = tokens::read(&path, &remote.url);
    let outcome = match kept {
        Ok(Some(tokens)) => {
            let identity = Identity {
                id: tokens.client_id.clone(),
                secret: remote.login.client_secret.or_else(|| tokens.client_secret.clone()),
                in_body: tokens.secret_in_body,
            };
            revoke(&Client::new(settings.lookup.clone()), &tokens, &identity).await
        }
        Ok(None) => Logout::Nobody,
        Err(error) => Logout::Forgotten(format!("what was kept of them could not be read: {error}")),
    };
    if forget(&path)? { Ok(outcome) } else { Ok(Logout::Nobody) }
}

fn forget(path: &Path) -> Result<bool, LoginError> {
    tokens::remove(path).map_err(|error| {
        LoginError::new(format!("`{}` cannot be removed: {error}", path.display()), "remove it by hand")
    })
}

/// Gives the tokens back, first what new ones are got with.
async fn revoke(client: &Client, tokens: &Tokens, identity: &Identity) -> Logout {
    let issuer = &tokens.issuer;
    let Some(endpoint) = &tokens.revocation_endpoint else {
        return Logout::Forgotten(format!("{issuer} takes no tokens back"));
    };
    let refresh = tokens.refresh_token.as_deref().map(|token| (token, "refresh_token"));
    for (token, kind) in refresh.into_iter().chain([(&*tokens.access_token, "access_token")]) {
        if let Err(error) = give_back(client, endpoint, identity, token, kind).await {
            return Logout::Forgotten(format!("{issuer} did not take them back: {}", error.what));
        }
    }
    Logout::Revoked(issuer.clone())
}

async fn give_back(
    client: &Client,
    endpoint: &str,
    identity: &Identity,
    token: &str,
    kind: &str,
) -> Result<(), LoginError> {
    let endpoint = address(endpoint, "its revocation endpoint")?;
    let pairs = [("token", token), ("token_type_hint", kind)];
    let answer = authenticate::post(client, &endpoint, identity, &pairs).await?;
    // An unknown token is answered like one that it took back (RFC 7009, 2.2).
    if answer.status.is_success() { Ok(()) } else { Err(LoginError::new(answer.told(), super::TELL)) }
}
