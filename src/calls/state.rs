//! What a client of 2026-07-28 keeps for us between two rounds of a call (`requestState`, basic/patterns/mrtr): the
//! child's own state in a seal that says which call it belongs to. The client is not trusted with it.

use std::collections::VecDeque;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use evokore_catalog::members::Members;
use hmac::{Hmac, Mac as _};
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::Sha256;
use tokio::time::Instant;

use super::approval::{digest, hex};
use super::outcome::Outcome;

/// How long a state is good: as long as a person may take to answer.
const LIFETIME: Duration = Duration::from_secs(600);
/// Approved calls that wait for their next round; beyond it the oldest needs a new approval.
const MAX_APPROVED: usize = 64;
/// Characters of the seal.
const SEAL: usize = 64;
/// Characters between the seal and the child's state: when it ends, its number, whether the call is approved.
const HEAD: usize = 16 + 32 + 1;

/// The call that a state belongs to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bound<'a> {
    pub(super) server: u16,
    /// Exposed name.
    pub(super) tool: &'a str,
    pub(super) arguments: Option<&'a str>,
    /// The definition of the tool, where another one is another tool.
    pub(super) definition: Option<&'a [u8]>,
}

/// A state that was ours.
#[derive(Debug, Default)]
pub(super) struct Opened {
    /// A person has approved the call; said once for each state.
    pub(super) is_approved: bool,
    /// The members of the call with the child's state in place of ours, an object.
    pub(super) others: Option<String>,
}

/// Seals states. One per process; states of another process are foreign.
#[derive(Debug)]
pub struct States {
    key: OnceLock<[u8; 32]>,
    born: Instant,
    /// The numbers of the states of approved calls, each good once.
    approved: Mutex<VecDeque<String>>,
}

impl Default for States {
    fn default() -> States {
        States { key: OnceLock::new(), born: Instant::now(), approved: Mutex::default() }
    }
}

impl States {
    /// An `input_required` result with the child's state sealed; one without a state gets a seal all the same.
    ///
    /// # Errors
    /// An answer to the call: the result is malformed, or the system gives no random numbers.
    pub(super) fn seal(&self, bound: Bound<'_>, is_approved: bool, needs: &[u8]) -> Result<String, Outcome> {
        let malformed = || Outcome::error_text("the tool asks for input in a way that cannot be read");
        let mut members =
            std::str::from_utf8(needs).ok().and_then(|text| Members::parse(text).ok()).ok_or_else(malformed)?;
        let state = members.last("requestState").map_or("", RawValue::get);
        let ends = u64::try_from((self.born.elapsed() + LIFETIME).as_millis()).unwrap_or(u64::MAX);
        let number = hex(&random::<16>()?);
        let sealed = format!("{ends:016x}{number}{}{state}", u8::from(is_approved));
        let seal = hex(&self.mac(bound, &sealed)?.finalize().into_bytes());
        if is_approved {
            let mut approved = self.approved.lock().unwrap_or_else(PoisonError::into_inner);
            if approved.len() >= MAX_APPROVED {
                approved.pop_front();
            }
            approved.push_back(number);
        }
        let ours = RawValue::from_string(Value::from(seal + &sealed).to_string()).map_err(|_| malformed())?;
        members.0.retain(|(key, _)| key != "requestState");
        members.0.push(("requestState".into(), &ours));
        Ok(members.to_json())
    }

    /// Opens the state among the further members of a call, if there is one.
    ///
    /// # Errors
    /// The state is not ours, belongs to another call, or is too old.
    pub(super) fn open(&self, bound: Bound<'_>, others: Option<&RawValue>) -> Result<Opened, Outcome> {
        let Some(mut members) = others.and_then(|others| Members::parse(others.get()).ok()) else {
            return Ok(Opened::default());
        };
        let Some(given) = members.last("requestState") else { return Ok(Opened::default()) };
        let foreign = || {
            Outcome::invalid_params(
                "`params.requestState` does not belong to this call: send back the one of its last result, with the same arguments",
            )
        };
        let given: String = serde_json::from_str(given.get()).map_err(|_| foreign())?;
        let (seal, sealed) = given.split_at_checked(SEAL).ok_or_else(foreign)?;
        let seal = unhex(seal).ok_or_else(foreign)?;
        // Compares in constant time.
        self.mac(bound, sealed)?.verify_slice(&seal).map_err(|_| foreign())?;
        let (head, state) = sealed.split_at_checked(HEAD).ok_or_else(foreign)?;
        let ends = u64::from_str_radix(&head[..16], 16).map_err(|_| foreign())?;
        if self.born.elapsed() > Duration::from_millis(ends) {
            return Err(Outcome::invalid_params("`params.requestState` is too old: make the call anew, without it"));
        }
        let is_approved = head.ends_with('1') && self.take(&head[16..48]);
        let state = RawValue::from_string(state.to_owned()).ok();
        members.0.retain(|(key, _)| key != "requestState");
        if let Some(state) = &state {
            members.0.push(("requestState".into(), state));
        }
        Ok(Opened { is_approved, others: Some(members.to_json()) })
    }

    /// Takes the number of a state of an approved call; false if that has been done.
    fn take(&self, number: &str) -> bool {
        let mut approved = self.approved.lock().unwrap_or_else(PoisonError::into_inner);
        let before = approved.len();
        approved.retain(|known| known != number);
        approved.len() < before
    }

    fn mac(&self, bound: Bound<'_>, sealed: &str) -> Result<Hmac<Sha256>, Outcome> {
        let key = match self.key.get() {
            Some(key) => key,
            None => {
                let key = random::<32>()?;
                self.key.get_or_init(|| key)
            }
        };
        let mut mac =
            Hmac::<Sha256>::new_from_slice(key).map_err(|_| Outcome::error_text("a defect of evokore: no key"))?;
        mac.update(&bound.server.to_be_bytes());
        mac.update(&digest(bound));
        mac.update(sealed.as_bytes());
        Ok(mac)
    }
}

fn random<const N: usize>() -> Result<[u8; N], Outcome> {
    let mut random = [0; N];
    getrandom::fill(&mut random).map_err(|error| {
        Outcome::error_text(&format!("the tool asks for input, but the system gives no random numbers: {error}"))
    })?;
    Ok(random)
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    text.as_bytes().chunks(2).map(|pair| Some(digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUND: Bound<'_> =
        Bound { server: 1, tool: "t", arguments: Some(r#"{"a":1,"b":2}"#), definition: Some(b"{}") };

    fn sealed(states: &States, is_approved: bool, needs: &str) -> String {
        let result: Value = serde_json::from_str(&states.seal(BOUND, is_approved, needs.as_bytes()).unwrap()).unwrap();
        result["requestState"].as_str().unwrap().to_owned()
    }

    fn open(states: &States, bound: Bound<'_>, state: &str) -> Result<(bool, Value), String> {
        let others = RawValue::from_string(serde_json::json!({"requestState": state, "x": 1}).to_string()).unwrap();
        match states.open(bound, Some(&others)) {
            Ok(opened) => Ok((opened.is_approved, serde_json::from_str(&opened.others.unwrap()).unwrap())),
            Err(Outcome::Error { code: -32602, message }) => Err(message),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_state_is_good_for_its_call_alone_and_for_a_while() {
        let states = States::default();
        let state = sealed(&states, false, r#"{"requestState":"s\u00e9"}"#);
        let other_order = Bound { arguments: Some(r#"{"b": 2, "a": 1}"#), ..BOUND };
        for bound in [BOUND, other_order] {
            let expected = serde_json::json!({"x": 1, "requestState": "sé"});
            assert_eq!(open(&states, bound, &state), Ok((false, expected)));
        }
        let none = sealed(&states, false, "{}");
        assert_eq!(open(&states, BOUND, &none), Ok((false, serde_json::json!({"x": 1}))));
        let mut forged = state.clone();
        forged.replace_range(SEAL + HEAD - 1..SEAL + HEAD, "1");
        for (bound, state) in [
            (Bound { server: 2, ..BOUND }, state.as_str()),
            (Bound { tool: "u", ..BOUND }, &state),
            (Bound { definition: Some(b"{ }"), ..BOUND }, &state),
            (Bound { definition: None, ..BOUND }, &state),
            (Bound { arguments: Some(r#"{"a":1,"b":3}"#), ..BOUND }, &state),
            (BOUND, &forged),
            (BOUND, &state[..SEAL + HEAD]),
            (BOUND, &state[..9]),
            (BOUND, "s"),
            (BOUND, &sealed(&States::default(), false, "{}")),
        ] {
            assert!(open(&states, bound, state).unwrap_err().contains("does not belong"), "{bound:?} {state}");
        }
        tokio::time::advance(LIFETIME + Duration::from_secs(1)).await;
        assert!(open(&states, BOUND, &state).unwrap_err().contains("too old"));
    }

    #[tokio::test]
    async fn an_approval_goes_on_once() {
        let states = States::default();
        let state = sealed(&states, true, "{}");
        assert!(open(&states, BOUND, &state).unwrap().0);
        assert!(!open(&states, BOUND, &state).unwrap().0, "the second time a person is asked again");
        let first = sealed(&states, true, "{}");
        (0..MAX_APPROVED).for_each(|_| drop(sealed(&states, true, "{}")));
        assert!(!open(&states, BOUND, &first).unwrap().0, "bounded");
    }
}
