//! Who asks the token endpoint and its like (RFC 6749, 2.3).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::Uri;
use hyper::header::HeaderValue;

use super::fetch::{self, Answer};
use super::register::Identity;
use super::{LoginError, form};
use crate::child::http::client::Client;

/// Posts `pairs` as a form to `endpoint`, in the name of `identity`.
pub(super) async fn post(
    client: &Client,
    endpoint: &Uri,
    identity: &Identity,
    pairs: &[(&str, &str)],
) -> Result<Answer, LoginError> {
    let mut pairs = pairs.to_vec();
    let mut authorization = None;
    match &identity.secret {
        Some(secret) if !identity.in_body => authorization = Some(basic(&identity.id, secret)?),
        Some(secret) => pairs.extend([("client_id", identity.id.as_str()), ("client_secret", secret)]),
        None => pairs.push(("client_id", &identity.id)),
    }
    let body = form::encode(&pairs).into();
    fetch::post(client, endpoint, "application/x-www-form-urlencoded", body, authorization).await
}

/// RFC 6749, 2.3.1: both parts are spelled as in a form first.
fn basic(id: &str, secret: &str) -> Result<HeaderValue, LoginError> {
    let both = format!("{}:{}", form::escaped(id), form::escaped(secret));
    let mut value = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(both)))
        .map_err(|_| LoginError::new("the client's secret fits into no header", "check it"))?;
    value.set_sensitive(true);
    Ok(value)
}
