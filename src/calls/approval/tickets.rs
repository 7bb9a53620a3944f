//! Calls that wait for a person. Each has a token for its caller, and a request that the person sees. Bounded: beyond the
//! limit the next one is refused, so that nobody can push out what a person is about to read.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use crate::child::Caller;
use evokore_catalog::canonical::hex;

/// Most calls of one session that wait at once.
pub(super) const MAX_PENDING: usize = 64;
/// Most calls that wait at once in all sessions.
const MAX_ALL: usize = 4 * MAX_PENDING;

/// What a caller carries: 16 random bytes in hexadecimal digits.
#[derive(Clone)]
struct Token {
    text: Box<str>,
    /// SHA-256 of it. Digests are compared, so the time that takes tells nothing about the token.
    digest: [u8; 32],
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// One call that waits.
#[derive(Debug, Clone)]
pub(super) struct Ticket {
    token: Token,
    /// Names the request: eight hexadecimal digits, from the digest of the token.
    pub(super) id: String,
    /// The call that it is for (`Call::digest`).
    pub(super) call: [u8; 32],
    caller: Caller,
    expires: Instant,
    /// The token alone lets the call be made, unless a person denies it.
    pub(super) is_enough: bool,
}

impl Ticket {
    /// One for `call` of `caller`, good for `lifetime` from now.
    pub(super) fn new(random: [u8; 16], call: [u8; 32], caller: Caller, lifetime: Duration) -> Ticket {
        let text = hex(&random);
        let digest = digest(&text);
        let token = Token { text: text.into(), digest };
        Ticket { token, id: hex(&digest[..4]), call, caller, expires: Instant::now() + lifetime, is_enough: false }
    }

    /// What the caller carries.
    pub(super) fn token(&self) -> &str {
        &self.token.text
    }

    /// How long it is still good.
    pub(super) fn left(&self) -> Duration {
        self.expires.saturating_duration_since(Instant::now())
    }
}

/// All that wait.
#[derive(Debug, Default)]
pub(super) struct Tickets(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    /// For somebody at a terminal, the oldest first.
    tickets: Vec<Ticket>,
    /// For the person at the client: whose calls they are.
    asked: Vec<Caller>,
}

impl Waiting {
    fn has_room(&self, caller: Caller) -> bool {
        let all = self.tickets.iter().map(|it| it.caller).chain(self.asked.iter().copied());
        all.clone().filter(|it| *it == caller).count() < MAX_PENDING && all.count() < MAX_ALL
    }
}

/// The place of a call that the person at the client is asked about.
#[derive(Debug)]
pub(super) struct Place<'a> {
    tickets: &'a Tickets,
    caller: Caller,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let asked = &mut self.tickets.all().asked;
        if let Some(at) = asked.iter().position(|it| *it == self.caller) {
            asked.swap_remove(at);
        }
    }
}

impl Tickets {
    /// The one with this token, if it is for `call`.
    pub(super) fn find(&self, token: &str, call: &[u8; 32]) -> Option<Ticket> {
        let token = digest(token);
        let now = Instant::now();
        self.all().tickets.iter().find(|it| it.token.digest == token && it.call == *call && it.expires > now).cloned()
    }

    /// The newest one for `call`.
    pub(super) fn of(&self, call: &[u8; 32]) -> Option<Ticket> {
        let now = Instant::now();
        self.all().tickets.iter().rfind(|it| it.call == *call && it.expires > now).cloned()
    }

    /// Adds one, unless its session has as many as it may.
    pub(super) fn add(&self, ticket: &Ticket) -> bool {
        let mut all = self.all();
        let has_room = all.has_room(ticket.caller);
        if has_room {
            all.tickets.push(ticket.clone());
        }
        has_room
    }

    /// A place for a call of `caller` while the person at the client is asked, unless its session has as many as it may.
    pub(super) fn place(&self, caller: Caller) -> Option<Place<'_>> {
        let mut all = self.all();
        all.has_room(caller).then(|| {
            all.asked.push(caller);
            Place { tickets: self, caller }
        })
    }

    /// Puts one back that was taken and not used. It had its place before, so there is one.
    pub(super) fn put_back(&self, ticket: Ticket) {
        self.all().tickets.push(ticket);
    }

    /// Takes one out; false if it is not there any more.
    pub(super) fn take(&self, id: &str) -> bool {
        let tickets = &mut self.all().tickets;
        let before = tickets.len();
        tickets.retain(|known| known.id != id);
        tickets.len() < before
    }

    /// Takes out those whose time is over; their ids.
    pub(super) fn take_ended(&self) -> Vec<String> {
        let now = Instant::now();
        let mut ended = Vec::new();
        self.all().tickets.retain(|it| {
            let is_good = it.expires > now;
            if !is_good {
                ended.push(it.id.clone());
            }
            is_good
        });
        ended
    }

    fn all(&self) -> MutexGuard<'_, Waiting> {
        // No code that could panic runs under the lock, so a poisoned one still holds a consistent state.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
