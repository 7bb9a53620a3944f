//! Why an endpoint gave no answer. Each text is the rest of a sentence about the server, with what to do.

use std::time::Duration;

use hyper::StatusCode;

use super::address::Origin;
use super::client::shortened;
use crate::child::error::{ChildError, Size, seconds};

/// What kept an endpoint from answering.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failure {
    /// There is no stream to it; the text says why and what to do.
    Unreachable(String),
    /// The connection ended before the answer did; the text says how.
    Broken(String),
    /// A status that is no answer, with the beginning of the body.
    Status { status: StatusCode, quote: String, after: Option<Duration> },
    /// 401: it wants to know who asks. Whether it was told.
    Login { quote: String, was_told: bool },
    /// 403: who asks may not do this, for want of scopes. Those it `wanted`; of them those that the login lacks, if
    /// there is one; whether it was shown credentials of the configuration.
    Scope { wanted: Vec<String>, missing: Option<Vec<String>>, was_told: bool, quote: String },
    /// It does not know the session any more.
    SessionGone,
    /// It asked to be left alone for so long.
    Resting(Duration),
    /// It refers to another origin.
    Elsewhere(Origin),
    /// It refers to nowhere, or in circles.
    Astray(String),
    /// 200 with something else than a message.
    NoMessage { status: StatusCode, quote: String },
    /// The answer is over the limit; so many bytes had come.
    TooLarge(usize),
}

impl Failure {
    /// The same in the words of a caller of server `id`.
    pub(super) fn into_error(self, id: &'static str, limit: usize) -> ChildError {
        if let Failure::TooLarge(size) = self {
            return ChildError::TooLarge { id, size: Size::SoFar(size as u64), limit: limit as u64 };
        }
        let wait = self.wait();
        ChildError::Http { id, what: self.text(id), wait, is_passing: wait.is_none() && self.is_passing() }
    }

    /// How long it wants to be left alone.
    pub(super) fn wait(&self) -> Option<Duration> {
        match self {
            Failure::Status { after, .. } => *after,
            Failure::Resting(after) => Some(*after),
            _ => None,
        }
    }

    /// Whether the same request may go through a moment later.
    pub(super) fn is_transient(&self) -> bool {
        match self {
            Failure::Broken(_) => true,
            Failure::Status { status, .. } => matches!(status.as_u16(), 408 | 500 | 502..=504),
            _ => false,
        }
    }

    /// What happened, without what to do.
    pub(super) fn first_line(&self) -> String {
        self.text("").lines().next().unwrap_or_default().to_owned()
    }

    /// Whether the way to the server failed, and not the request.
    fn is_passing(&self) -> bool {
        match self {
            Failure::Unreachable(_) | Failure::Broken(_) => true,
            Failure::Status { status, .. } => matches!(status.as_u16(), 502..=504),
            _ => false,
        }
    }

    fn text(&self, id: &str) -> String {
        match self {
            Failure::Unreachable(text) => text.clone(),
            Failure::Broken(how) => format!("{how}\nhint: it may have had the request; look before you ask again"),
            Failure::Status { status, quote, after } => {
                format!("{}{}\nhint: {}", said(*status), colon(quote), advice(*status, *after))
            }
            Failure::Login { quote, was_told: false } => format!(
                "needs login: run evokore login {id} (HTTP 401){}\nhint: or put a token into its `headers`",
                colon(quote)
            ),
            Failure::Login { quote, was_told: true } => format!(
                "does not accept its credentials (HTTP 401){}\nhint: renew the token that its `headers` name, or take it \
                 out and run `evokore login {id}`",
                colon(quote)
            ),
            Failure::Scope { wanted, missing, was_told, quote } => {
                let (what, hint) = lack(id, wanted, missing.as_deref(), *was_told);
                format!("{what} (HTTP 403){}\nhint: {hint}", colon(quote))
            }
            Failure::SessionGone => {
                "ends every session at once (HTTP 404 right after a new one)\nhint: tell whoever runs \
                 it; several instances behind one address may not share their sessions"
                    .to_owned()
            }
            Failure::Resting(after) => {
                format!("asked for a pause, which lasts {} more\nhint: call again then", whole(*after))
            }
            Failure::Elsewhere(origin) => format!(
                "redirects to {origin}, another origin, where its credentials do not belong\nhint: if that is its place now, \
                 write the new address as its `url`"
            ),
            Failure::Astray(what) => format!("{what}\nhint: check its `url`"),
            Failure::NoMessage { status, quote } if quote.is_empty() => {
                format!("answered with nothing ({status})\nhint: check that its `url` is that of an MCP endpoint")
            }
            Failure::NoMessage { status, quote } => format!(
                "answered with something else than a message of the protocol ({status}): {quote}\nhint: check that its `url` \
                 is that of an MCP endpoint"
            ),
            Failure::TooLarge(size) => format!("gave too large an answer: {size} bytes"),
        }
    }
}

/// What is missing where scopes do not suffice, and what to do.
fn lack(id: &str, wanted: &[String], missing: Option<&[String]>, was_told: bool) -> (String, String) {
    let named = |scopes: &[String]| {
        let names: Vec<_> = scopes.iter().map(|scope| format!("`{scope}`")).collect();
        format!("the scope{} {}", if names.len() == 1 { "" } else { "s" }, names.join(", "))
    };
    match missing {
        _ if wanted.is_empty() => (
            "allows less with these credentials than this needs, and does not say which scopes it wants".to_owned(),
            format!("name them as `scopes` in `oauth` of its entry, then run `evokore login {id}`"),
        ),
        // It would be asked for again and again.
        Some([]) => (
            format!("does not allow this, although its login has {}", named(wanted)),
            "whoever is logged in may not do this; ask whoever runs it".to_owned(),
        ),
        Some(missing) => (
            format!("wants {}, which its login has not", named(missing)),
            format!("run `evokore login {id}`, which asks for that besides what the login has"),
        ),
        None if was_told => (
            format!("wants {}, which its credentials have not", named(wanted)),
            format!("give its `headers` a token that has it, or take that out and run `evokore login {id}`"),
        ),
        None => (format!("wants {}", named(wanted)), format!("run `evokore login {id}`")),
    }
}

fn said(status: StatusCode) -> String {
    let what = match status.as_u16() {
        403 => "refuses this",
        404 => "knows nothing at its `url`",
        408 => "gave up waiting for the request",
        429 => "gets too many requests",
        503 => "is not available",
        500..=599 => "failed",
        _ => "answered with an error",
    };
    let reason = status.canonical_reason().map_or_else(String::new, |reason| format!(" {reason}"));
    format!("{what} (HTTP {}{reason})", status.as_u16())
}

fn advice(status: StatusCode, after: Option<Duration>) -> String {
    if let Some(after) = after {
        return format!("it asks to wait {}; call again then", whole(after));
    }
    match status.as_u16() {
        403 => "its credentials do not suffice, or it is not meant for this machine",
        404 | 405 => "check its `url`; many end in `/mcp`",
        408 | 429 | 503 => "call again in some seconds",
        500..=599 => "the fault is on its side; look before you ask again, since it may have done something",
        _ => "the fault is in what it was asked, or it is no MCP endpoint",
    }
    .to_owned()
}

/// Whole seconds, rounded up: whoever waits that long has waited long enough.
fn whole(duration: Duration) -> String {
    seconds(Duration::from_secs(duration.as_millis().div_ceil(1000) as u64))
}

fn colon(quote: &str) -> String {
    if quote.is_empty() { String::new() } else { format!(": {quote}") }
}

/// The status of a body that was read to explain it.
pub(super) fn status(status: StatusCode, body: &[u8], after: Option<Duration>) -> Failure {
    Failure::Status { status, quote: shortened(body), after }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn want_of_scopes_says_what_to_do() {
        let scopes = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let mut table = String::new();
        for (wanted, missing, was_told) in [
            ("a b", Some("a b"), false),
            ("a b", Some("b"), false),
            ("a", Some(""), false),
            ("a", None, true),
            ("a", None, false),
            ("", Some(""), false),
        ] {
            let missing = missing.map(scopes);
            let failure = Failure::Scope { wanted: scopes(wanted), missing, was_told, quote: String::new() };
            table += &format!("{}\n\n", failure.text("far"));
        }
        expect_test::expect![[r#"
            wants the scopes `a`, `b`, which its login has not (HTTP 403)
            hint: run `evokore login far`, which asks for that besides what the login has

            wants the scope `b`, which its login has not (HTTP 403)
            hint: run `evokore login far`, which asks for that besides what the login has

            does not allow this, although its login has the scope `a` (HTTP 403)
            hint: whoever is logged in may not do this; ask whoever runs it

            wants the scope `a`, which its credentials have not (HTTP 403)
            hint: give its `headers` a token that has it, or take that out and run `evokore login far`

            wants the scope `a` (HTTP 403)
            hint: run `evokore login far`

            allows less with these credentials than this needs, and does not say which scopes it wants (HTTP 403)
            hint: name them as `scopes` in `oauth` of its entry, then run `evokore login far`

        "#]]
        .assert_eq(&table);
    }
}
