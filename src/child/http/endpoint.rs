//! Where a server is and what it is told with each request, and the one place that sends a request to it.

use std::fmt;
use std::sync::OnceLock;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, USER_AGENT};
use hyper::{Method, Request, Response, StatusCode, Uri};

use super::address::{self, origin};
use super::auth::{Access, NoAccess, lacking};
use super::client::Client;
use super::failure::Failure;
use super::frame::Echo;
use super::session::Ticket;
use crate::child::modern;

pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
/// Redirects that are followed, one after the other.
const MAX_REDIRECTS: usize = 5;

/// A server's address, with everything that each request to it carries.
pub(in crate::child) struct Endpoint {
    pub(super) url: Uri,
    pub(super) headers: HeaderMap,
    pub(super) client: Client,
    /// The token of a login, where `headers` do not say who asks.
    access: Option<Access>,
    /// Where a server of 2024-11-05 wants its messages, once it has said so.
    messages: OnceLock<Uri>,
}

impl fmt::Debug for Endpoint {
    /// Without headers: they are secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("url", &self.url).finish_non_exhaustive()
    }
}

/// One request.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ask<'a> {
    /// Says something; a request of 2026-07-28 in its headers, too.
    Post(&'a Bytes, Option<&'a Echo>),
    /// Asks for a stream of what the server has to say, after the event of this id.
    Listen(Option<&'a str>),
    /// Ends the session.
    Leave,
}

impl Endpoint {
    /// An endpoint at `url`.
    ///
    /// # Errors
    /// What is wrong, beginning with the key that is.
    pub(in crate::child) fn new(url: &str, headers: &[(String, String)], client: Client) -> Result<Endpoint, String> {
        let url = address::parse(url).map_err(|what| format!("its `url` {what}\nhint: correct it and rebuild"))?;
        if address::is_open(&url) {
            return Err(format!(
                "its `url` is {}, where everyone on the way can read along\nhint: write `https://`",
                origin(&url)
            ));
        }
        let mut own = HeaderMap::new();
        for (name, value) in headers {
            let bad = |what: &str| format!("`headers.{name}` {what}\nhint: correct it, or the variable that it names");
            let key = HeaderName::try_from(name.as_str()).map_err(|_| bad("is no name of a header"))?;
            let mut value =
                HeaderValue::from_str(value.trim()).map_err(|_| bad("holds a character that no header may have"))?;
            value.set_sensitive(true);
            own.append(key, value);
        }
        Ok(Endpoint { url, headers: own, client, access: None, messages: OnceLock::new() })
    }

    /// The same with the token of a login, unless its own headers say who asks.
    pub(super) fn with_access(mut self, access: Access) -> Endpoint {
        self.access = Some(access).filter(|_| !self.has_credentials());
        self
    }

    /// Sends a request. If the server does not take the token of a login, it is renewed and the request made again; if
    /// that is good for too little, likewise with the one of a later login.
    pub(super) async fn send(&self, ask: Ask<'_>, ticket: &Ticket) -> Result<Response<Incoming>, Failure> {
        let Some(access) = &self.access else { return self.send_as(None, ask, ticket).await };
        let login = |NoAccess(why): NoAccess| Failure::Login { quote: why, was_told: false };
        let token = access.header().await.map_err(login)?;
        let response = self.send_as(token.as_ref(), ask, ticket).await?;
        let other = if response.status() == StatusCode::UNAUTHORIZED {
            match access.instead(token.as_ref()).await {
                Ok(other) => Some(other),
                // The server's own words say more.
                Err(NoAccess(why)) if why.is_empty() => None,
                Err(why) => return Err(login(why)),
            }
        } else if lacking(response.status(), response.headers()).is_some() {
            access.anew(token.as_ref()).await
        } else {
            None
        };
        match other {
            Some(other) => self.send_as(Some(&other), ask, ticket).await,
            None => Ok(response),
        }
    }

    /// Why the server wants other scopes than it was shown, if that is what it says.
    pub(super) async fn lack(&self, status: StatusCode, headers: &HeaderMap, quote: String) -> Option<Failure> {
        let wanted = lacking(status, headers)?;
        let missing = match &self.access {
            Some(access) => access.wants(&wanted).await,
            None => None,
        };
        Some(Failure::Scope { wanted, missing, was_told: self.has_credentials(), quote })
    }

    /// Sends a request with `token`, and follows redirects that stay within the origin.
    async fn send_as(
        &self,
        token: Option<&HeaderValue>,
        ask: Ask<'_>,
        ticket: &Ticket,
    ) -> Result<Response<Incoming>, Failure> {
        let place = match ask {
            Ask::Post(..) => self.messages.get().unwrap_or(&self.url),
            Ask::Listen(_) | Ask::Leave => &self.url,
        };
        let mut url = place.clone();
        for _ in 0..=MAX_REDIRECTS {
            let mut request = self.request(ask, ticket, &url);
            if let Some(token) = token {
                request.headers_mut().insert(AUTHORIZATION, token.clone());
            }
            let response = self.client.send(request).await?;
            match response.status() {
                StatusCode::MOVED_PERMANENTLY
                | StatusCode::FOUND
                | StatusCode::TEMPORARY_REDIRECT
                | StatusCode::PERMANENT_REDIRECT => url = redirected(&url, &response)?,
                status if status.is_redirection() => {
                    return Err(Failure::Astray(format!("refers to another document (HTTP {})", status.as_u16())));
                }
                _ => return Ok(response),
            }
        }
        Err(Failure::Astray(format!("redirects more than {MAX_REDIRECTS} times")))
    }

    /// The server speaks HTTP+SSE of 2024-11-05 and wants its messages at `place`, as written on its stream.
    pub(super) fn post_to(&self, place: &str) -> Result<(), Failure> {
        let url = address::join(&self.url, place)
            .map_err(|_| Failure::Astray("names a place for messages that is no URL".to_owned()))?;
        if origin(&url) != origin(&self.url) {
            return Err(Failure::Astray(format!(
                "wants its messages at {}, another origin, where its credentials do not belong",
                origin(&url)
            )));
        }
        // Only the first `endpoint` of a connection counts.
        let _ = self.messages.set(url);
        Ok(())
    }

    /// Whether answers come on the one stream of 2024-11-05.
    pub(super) fn is_old(&self) -> bool {
        self.messages.get().is_some()
    }

    /// Whether requests say who asks.
    pub(super) fn has_credentials(&self) -> bool {
        self.headers.contains_key(AUTHORIZATION)
    }

    fn request(&self, ask: Ask<'_>, ticket: &Ticket, url: &Uri) -> Request<Full<Bytes>> {
        let (method, accept, body) = match ask {
            Ask::Post(frame, _) => (Method::POST, "application/json, text/event-stream", frame.clone()),
            Ask::Listen(_) => (Method::GET, "text/event-stream", Bytes::new()),
            Ask::Leave => (Method::DELETE, "*/*", Bytes::new()),
        };
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = url.clone();
        let headers = request.headers_mut();
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("evokore/", env!("CARGO_PKG_VERSION"))));
        headers.extend(self.headers.clone());
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        if let Ask::Post(..) = ask {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        if let Ask::Listen(Some(last)) = ask
            && let Ok(last) = HeaderValue::from_str(last)
        {
            headers.insert(LAST_EVENT, last);
        }
        if let Ask::Post(_, Some(echo)) = ask {
            headers.insert(VERSION, HeaderValue::from_static(modern::VERSION));
            headers.insert(METHOD, echo.method.clone());
            if let Some(name) = &echo.name {
                headers.insert(NAME, name.clone());
            }
            for (name, value) in &echo.params {
                headers.insert(name, value.clone());
            }
            return request;
        }
        for (name, value) in [(SESSION, &ticket.id), (VERSION, &ticket.version)] {
            if let Some(value) = value {
                headers.insert(name, value.clone());
            }
        }
        request
    }
}

fn redirected(url: &Uri, response: &Response<Incoming>) -> Result<Uri, Failure> {
    let to = response.headers().get(LOCATION).and_then(|to| to.to_str().ok());
    let to = to.ok_or_else(|| Failure::Astray("redirects to nowhere".to_owned()))?;
    let to = address::join(url, to).map_err(|_| Failure::Astray("redirects to what is no URL".to_owned()))?;
    if origin(&to) == origin(url) { Ok(to) } else { Err(Failure::Elsewhere(origin(&to))) }
}
