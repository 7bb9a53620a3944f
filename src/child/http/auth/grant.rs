//! The token endpoint (OAuth 2.1, 3.2): a code or a refresh token goes in, an access token comes out.

use serde::Deserialize;

use super::fetch::{Answer, address};
use super::register::Identity;
use super::{LoginError, authenticate, scope};
use crate::child::http::client::Client;
use crate::state::tokens::now;

const AGAIN: &str = "log in again";

/// What was granted.
pub(super) struct Granted {
    pub(super) access_token: String,
    pub(super) refresh_token: Option<String>,
    /// Seconds since 1970.
    pub(super) expires_at: Option<u64>,
    /// What it is good for, if that is not what was asked for (RFC 6749, 5.1).
    pub(super) scopes: Option<Vec<String>>,
}

/// Why nothing was granted.
#[derive(Debug)]
pub(super) enum Denied {
    /// It will not be.
    Refused(LoginError),
    /// It may be later.
    Failed(LoginError),
}

impl Denied {
    pub(super) fn error(self) -> LoginError {
        match self {
            Denied::Refused(error) | Denied::Failed(error) => error,
        }
    }
}

/// Asks the token endpoint at `endpoint`; `pairs` say for what.
pub(super) async fn ask(
    client: &Client,
    endpoint: &str,
    identity: &Identity,
    pairs: &[(&str, &str)],
) -> Result<Granted, Denied> {
    let endpoint = address(endpoint, "the token endpoint").map_err(Denied::Refused)?;
    let answer = authenticate::post(client, &endpoint, identity, pairs).await.map_err(Denied::Failed)?;
    if !answer.status.is_success() {
        let error = LoginError::new(format!("the authorization server gives no token ({})", answer.told()), AGAIN);
        let is_final = answer.status.is_client_error() && !matches!(answer.status.as_u16(), 408 | 425 | 429);
        return Err(if is_final { Denied::Refused(error) } else { Denied::Failed(error) });
    }
    granted(&answer).map_err(Denied::Refused)
}

fn granted(answer: &Answer) -> Result<Granted, LoginError> {
    #[derive(Deserialize)]
    struct Raw {
        access_token: String,
        token_type: String,
        refresh_token: Option<String>,
        expires_in: Option<u64>,
        scope: Option<String>,
    }
    let raw: Raw = answer.json("the answer of the token endpoint")?;
    if !raw.token_type.eq_ignore_ascii_case("bearer") {
        return Err(LoginError::new("the authorization server gives a token that is no `Bearer`", super::TELL));
    }
    let is_sound = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_sound(&raw.access_token) {
        return Err(LoginError::new("the authorization server gives a token that no header may have", super::TELL));
    }
    Ok(Granted {
        access_token: raw.access_token,
        refresh_token: raw.refresh_token.filter(|token| !token.is_empty()),
        expires_at: raw.expires_in.map(|seconds| now().saturating_add(seconds)),
        scopes: raw.scope.map(|scope| scope::read(&scope)),
    })
}
