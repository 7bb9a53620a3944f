//! The way back from a browser: one port of this machine, until the browser has come.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::LoginError;
use super::discovery::Authority;
use super::form;
use super::secret::is_same;
use crate::child::http::client::shortened;

/// For the person to log in.
const PATIENCE: Duration = Duration::from_secs(300);
/// For a browser to say what it wants.
const REQUEST: Duration = Duration::from_secs(5);
/// Bytes of the head of a request.
const HEAD: usize = 16 << 10;
const PATH: &str = "/callback";

/// Where browsers come back to.
pub(super) struct WayBack {
    listener: TcpListener,
    /// The address for the authorization server.
    pub(super) url: String,
}

impl WayBack {
    /// On `port`, or any.
    pub(super) async fn open(port: Option<u16>) -> Result<WayBack, LoginError> {
        let failed = |error: std::io::Error| {
            let port = port.map_or_else(|| "no port".to_owned(), |port| format!("port {port} not"));
            let what = format!("of this machine {port} can be listened on: {error}");
            LoginError::new(what, "end what uses it, or choose another `redirectPort` in `oauth` of the server")
        };
        let listener = TcpListener::bind(("127.0.0.1", port.unwrap_or(0))).await.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        Ok(WayBack { listener, url: format!("http://127.0.0.1:{port}{PATH}") })
    }

    /// The code that the browser comes back with.
    pub(super) async fn code(&self, state: &str, authority: &Authority) -> Result<String, LoginError> {
        let work = async {
            loop {
                // What ends before it has said anything was no browser of ours.
                let Ok((mut stream, _)) = self.listener.accept().await else { continue };
                let Ok(Some(target)) = timeout(REQUEST, target(&mut stream)).await else { continue };
                let Some(query) = target.strip_prefix(PATH).and_then(|rest| rest.strip_prefix('?')) else {
                    answer(&mut stream, "404 Not Found", "Nothing is here.").await;
                    continue;
                };
                let code = code(query, state, authority);
                match &code {
                    Ok(_) => answer(&mut stream, "200 OK", "evokore is logged in. You can close this page.").await,
                    Err(_) => {
                        let text = "The login failed; evokore says why in the terminal.";
                        answer(&mut stream, "400 Bad Request", text).await;
                    }
                }
                return code;
            }
        };
        timeout(PATIENCE, work).await.unwrap_or_else(|_| {
            let what = format!("nobody logged in within {} s", PATIENCE.as_secs());
            Err(LoginError::new(what, "run it again"))
        })
    }
}

/// What the request on `stream` asks for; `None` for what is no GET.
async fn target(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if head.len() >= HEAD || stream.read_buf(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    let text = String::from_utf8_lossy(&head);
    let target = text.lines().next()?.strip_prefix("GET ")?.split(' ').next()?;
    Some(target.to_owned())
}

async fn answer(stream: &mut TcpStream, status: &str, text: &str) {
    let length = text.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\n\
         Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n{text}"
    );
    // A browser that has gone need not be told.
    let _ = timeout(REQUEST, async {
        stream.write_all(answer.as_bytes()).await?;
        stream.shutdown().await
    })
    .await;
}

/// The code in what a browser came back with. It counts only with our state (RFC 9700, 4.7) and from the server that was
/// asked (RFC 9207, 2.4).
fn code(query: &str, state: &str, authority: &Authority) -> Result<String, LoginError> {
    const AGAIN: &str = "run it again; if it happens again, someone may be trying to log you in as somebody else";
    let pairs = form::decode(query);
    let get = |name: &str| pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    if !get("state").is_some_and(|found| is_same(found, state)) {
        return Err(LoginError::new(
            "the browser came back from a login that is not this one (`state` differs)",
            AGAIN,
        ));
    }
    match get("iss") {
        Some(issuer) if issuer != authority.issuer => {
            let what = format!(
                "the browser came back from `{}` in place of `{}`",
                shortened(issuer.as_bytes()),
                authority.issuer
            );
            return Err(LoginError::new(what, AGAIN));
        }
        None if authority.authorization_response_iss_parameter_supported => {
            let what =
                format!("the browser came back without the name of `{}`, which always gives it", authority.issuer);
            return Err(LoginError::new(what, AGAIN));
        }
        _ => {}
    }
    if let Some(error) = get("error") {
        let more = get("error_description").map_or_else(String::new, |more| format!(": {more}"));
        let what = format!("the login was refused: {}", shortened(format!("{error}{more}").as_bytes()));
        return Err(LoginError::new(what, "run it again, as someone who may"));
    }
    let code = get("code").filter(|code| !code.is_empty());
    code.map(str::to_owned).ok_or_else(|| LoginError::new("the browser came back without a code", super::TELL))
}
