//! The token endpoint (OAuth 2.1, 3.2): a code or a refresh token goes in, an access token comes out.

use hyper::header::HeaderValue;
use serde::Deserialize;

use super::fetch::{self, Answer, address};
use super::register::Identity;
use super::{LoginError, form, secret};
use crate::child::http::client::Client;
use crate::state::tokens::now;

const AGAIN: &str = "log in again";

/// What was granted.
pub(super) struct Granted {
    pub(super) access_token: String,
    pub(super) refresh_token: Option<String>,
    /// Seconds since 1970.
    pub(super) expires_at: Option<u64>,
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
    let mut pairs = pairs.to_vec();
    let mut authorization = None;
    match &identity.secret {
        Some(secret) if !identity.in_body => authorization = Some(basic(&identity.id, secret)?),
        Some(secret) => pairs.extend([("client_id", identity.id.as_str()), ("client_secret", secret)]),
        None => pairs.push(("client_id", &identity.id)),
    }
    let body = form::encode(&pairs).into();
    let kind = "application/x-www-form-urlencoded";
    let answer = fetch::post(client, &endpoint, kind, body, authorization).await.map_err(Denied::Failed)?;
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
    })
}

/// RFC 6749, 2.3.1: both parts are spelled as in a form first.
fn basic(id: &str, secret: &str) -> Result<HeaderValue, Denied> {
    let both = format!("{}:{}", form::escaped(id), form::escaped(secret));
    let mut value = HeaderValue::from_str(&format!("Basic {}", secret::base64(both.as_bytes())))
        .map_err(|_| Denied::Refused(LoginError::new("the client's secret fits into no header", "check it")))?;
    value.set_sensitive(true);
    Ok(value)
}
