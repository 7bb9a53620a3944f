//! Requests to the servers that logins take: bounded in time and size, never redirected, never in the clear.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, USER_AGENT};
use hyper::{Method, Request, StatusCode, Uri};
use serde::de::DeserializeOwned;

use super::{LoginError, TELL};
use crate::child::http::address;
use crate::child::http::client::{Client, shortened, whole};

/// From the request to the end of the answer.
const PATIENCE: Duration = Duration::from_secs(20);
/// Bytes of one answer.
const LIMIT: usize = 256 << 10;

/// An answer in full.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) body: Bytes,
}

impl Answer {
    pub(super) fn json<T: DeserializeOwned>(&self, whose: &str) -> Result<T, LoginError> {
        // What the text holds may be secret.
        serde_json::from_slice(&self.body).map_err(|error| {
            let what = format!("{whose} is not as it should be (line {}, column {})", error.line(), error.column());
            LoginError::new(what, TELL)
        })
    }

    /// The answer in few words, for an error. An error of OAuth (RFC 6749, 5.2) is shown alone.
    pub(super) fn told(&self) -> String {
        #[derive(serde::Deserialize)]
        struct Refusal {
            error: String,
            error_description: Option<String>,
        }
        let status = self.status.as_u16();
        match serde_json::from_slice(&self.body) {
            Ok(Refusal { error, error_description: Some(more) }) => {
                format!("HTTP {status}, {}", shortened(format!("{error}: {more}").as_bytes()))
            }
            Ok(Refusal { error, .. }) => format!("HTTP {status}, {}", shortened(error.as_bytes())),
            Err(_) => format!("HTTP {status}"),
        }
    }
}

/// The address that `text` is, of which `whose` speaks.
///
/// # Errors
/// It is none, or can be read along on the way.
pub(super) fn address(text: &str, whose: &str) -> Result<Uri, LoginError> {
    let url = address::parse(text)
        .map_err(|what| LoginError::new(format!("{whose} {what}: `{}`", shortened(text.as_bytes())), TELL))?;
    if address::is_open(&url) {
        let what = format!("{whose} is at {}, where everyone on the way can read along", address::origin(&url));
        return Err(LoginError::new(what, "it must have an address with `https`"));
    }
    Ok(url)
}

/// Asks for a document.
pub(super) async fn get(client: &Client, url: &Uri) -> Result<Answer, LoginError> {
    send(client, Method::GET, url, None, Bytes::new(), None).await
}

/// Posts `body` of type `kind`.
pub(super) async fn post(
    client: &Client,
    url: &Uri,
    kind: &'static str,
    body: Bytes,
    authorization: Option<HeaderValue>,
) -> Result<Answer, LoginError> {
    send(client, Method::POST, url, Some(kind), body, authorization).await
}

async fn send(
    client: &Client,
    method: Method,
    url: &Uri,
    kind: Option<&'static str>,
    body: Bytes,
    authorization: Option<HeaderValue>,
) -> Result<Answer, LoginError> {
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = method;
    *request.uri_mut() = url.clone();
    let headers = request.headers_mut();
    headers.insert(USER_AGENT, HeaderValue::from_static(concat!("evokore/", env!("CARGO_PKG_VERSION"))));
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    if let Some(kind) = kind {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    }
    if let Some(authorization) = authorization {
        headers.insert(AUTHORIZATION, authorization);
    }
    let work = async {
        let (parts, body) = client.send(request).await?.into_parts();
        Ok(Answer { status: parts.status, body: whole(body, LIMIT).await? })
    };
    let origin = address::origin(url);
    let failed = |what: String| LoginError::new(what, "try again later");
    match tokio::time::timeout(PATIENCE, work).await {
        Ok(answer) => answer
            .map_err(|failure: super::super::failure::Failure| failed(format!("{origin} {}", failure.first_line()))),
        Err(_) => Err(failed(format!("{origin} did not answer within {} s", PATIENCE.as_secs()))),
    }
}
