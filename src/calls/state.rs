//! What a client of 2026-07-28 keeps for us between two rounds of a request (`requestState`, basic/patterns/mrtr): the
//! child's own state, or the number of a call that waits here, in a seal that says which request it belongs to. The
//! client is not trusted with it.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use evokore_catalog::canonical::hex;
use evokore_catalog::members::Members;
use hmac::{Hmac, Mac as _};
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::Sha256;
use tokio::time::Instant;

use super::approval::{self, digest};
use super::outcome::Outcome;

/// How long a state is good: as long as a person may take to answer.
const LIFETIME: Duration = Duration::from_secs(600);
/// Approved calls that wait for their next round; beyond it the oldest needs a new approval.
const MAX_APPROVED: usize = 64;
/// Questions to persons that wait for their answers; beyond it the next one is not asked.
const MAX_ASKED: usize = 64;
/// Characters of the seal.
const SEAL: usize = 64;
/// Characters between the seal and the child's state: when it ends, its number, its kind.
const HEAD: usize = 16 + 32 + 1;

/// The request that a state belongs to.
#[derive(Debug, Clone, Copy)]
pub struct Bound<'a> {
    /// Index of the server.
    pub server: u16,
    /// The exposed name of a tool; for what is no `tools/call` the method, a blank, and what it asks for.
    pub what: &'a str,
    /// The `arguments`, an object.
    pub arguments: Option<&'a str>,
    /// The definition of the tool, where another one is another tool.
    pub definition: Option<&'a [u8]>,
    /// It needs the approval of a person; when a state is sealed for it, it has had that.
    pub needs_approval: bool,
}

/// What a state is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It holds the state of a child.
    Child,
    /// The same for a call that a person has approved.
    Approved,
    /// The client is asked for the approval of its person; the answer counts once.
    Asked,
    /// Its number is that of a call that waits here.
    Parked,
}

impl Kind {
    const ALL: [Kind; 4] = [Kind::Child, Kind::Approved, Kind::Asked, Kind::Parked];

    fn letter(self) -> char {
        match self {
            Kind::Child => 'c',
            Kind::Approved => 'a',
            Kind::Asked => 'q',
            Kind::Parked => 'p',
        }
    }
}

/// The number of a state, which is never given twice.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Number(Box<str>);

/// A state that was ours.
#[derive(Debug, Default)]
pub struct Opened<'a> {
    /// A person has approved the call.
    pub approval: Option<Approval<'a>>,
    /// The person at the client was asked for approval, and the request brings the answer: what that becomes.
    pub asked: Option<Approval<'a>>,
    /// The call that waits here for its answers.
    pub parked: Option<Number>,
    /// The members of the call with the child's state in place of ours, an object; `None` if there was no state.
    pub others: Option<String>,
}

/// The approval that a state carries, held by one call alone. Dropped unspent, because a later gate refused the call, it
/// leaves the state as good as it was.
#[derive(Debug)]
pub struct Approval<'a> {
    states: &'a States,
    number: Option<Number>,
    /// Where it is the answer to a question: how long that waits for it.
    asked_until: Option<Instant>,
}

impl Approval<'_> {
    /// The call is made: the state approves no other.
    pub fn spend(mut self) {
        self.number = None;
    }
}

impl Drop for Approval<'_> {
    fn drop(&mut self) {
        match (self.number.take(), self.asked_until) {
            (None, _) => {}
            (Some(number), None) => self.states.approve(number),
            // It had its place before.
            (Some(number), Some(until)) => self.states.asked().push((number, until)),
        }
    }
}

/// Seals states. One per process; states of another process are foreign.
#[derive(Debug)]
pub struct States {
    key: OnceLock<[u8; 32]>,
    born: Instant,
    /// The numbers of the states of approved calls, each good once.
    approved: Mutex<VecDeque<Number>>,
    /// The numbers of the questions to persons, each answered once, and until when they wait.
    asked: Mutex<Vec<(Number, Instant)>>,
}

impl Default for States {
    fn default() -> States {
        States { key: OnceLock::new(), born: Instant::now(), approved: Mutex::default(), asked: Mutex::default() }
    }
}

impl States {
    /// An `input_required` result with the child's state sealed; one without a state gets a seal all the same.
    ///
    /// # Errors
    /// The result is malformed, or the system gives no random numbers.
    pub fn seal(&self, bound: Bound<'_>, needs: &[u8]) -> Result<String, String> {
        let malformed = || "it does so in a way that cannot be read".to_owned();
        let mut members =
            std::str::from_utf8(needs).ok().and_then(|text| Members::parse(text).ok()).ok_or_else(malformed)?;
        let state = members.last("requestState").map_or("", RawValue::get);
        let kind = if bound.needs_approval { Kind::Approved } else { Kind::Child };
        let (number, sealed) = self.sealed(bound, kind, LIFETIME, state)?;
        if kind == Kind::Approved {
            self.approve(number);
        }
        let ours = RawValue::from_string(Value::from(sealed).to_string()).map_err(|_| malformed())?;
        members.0.retain(|(key, _)| key != "requestState");
        members.0.push(("requestState".into(), &ours));
        Ok(members.to_json())
    }

    /// `result`, an `input_required` result that asks for approval, with a state that the answer has to come with.
    ///
    /// # Errors
    /// The system gives no random numbers, or as many questions as may be are open.
    pub(super) fn seal_question(&self, bound: Bound<'_>, result: &str) -> Result<String, String> {
        let (number, sealed) = self.sealed(bound, Kind::Asked, approval::LIFETIME, "")?;
        let now = Instant::now();
        let mut asked = self.asked();
        asked.retain(|(_, until)| *until > now);
        if asked.len() >= MAX_ASKED {
            return Err(format!("{MAX_ASKED} questions wait for their answers already"));
        }
        asked.push((number, now + approval::LIFETIME));
        drop(asked);
        let open = result.strip_suffix('}').unwrap_or(result);
        Ok(format!(r#"{open},"requestState":"{sealed}"}}"#))
    }

    /// A number for a call that is going to wait here for `lifetime`, and the state that names it.
    ///
    /// # Errors
    /// The system gives no random numbers.
    pub fn ticket(&self, bound: Bound<'_>, lifetime: Duration) -> Result<(Number, String), String> {
        self.sealed(bound, Kind::Parked, lifetime, "")
    }

    fn sealed(
        &self,
        bound: Bound<'_>,
        kind: Kind,
        lifetime: Duration,
        state: &str,
    ) -> Result<(Number, String), String> {
        let ends = u64::try_from((self.born.elapsed() + lifetime).as_millis()).unwrap_or(u64::MAX);
        let number = hex(&random::<16>()?);
        let sealed = format!("{ends:016x}{number}{}{state}", kind.letter());
        let seal = hex(&self.mac(bound, &sealed)?.finalize().into_bytes());
        Ok((Number(number.into()), seal + &sealed))
    }

    /// Opens the state among the further members of a call, if there is one.
    ///
    /// # Errors
    /// The state is not ours, belongs to another call, or is too old.
    pub fn open(&self, bound: Bound<'_>, others: Option<&RawValue>) -> Result<Opened<'_>, Outcome> {
        let Some(mut members) = others.and_then(|others| Members::parse(others.get()).ok()) else {
            return Ok(Opened::default());
        };
        let Some(given) = members.last("requestState") else { return Ok(Opened::default()) };
        let foreign = || {
            Outcome::invalid_params(
                "`params.requestState` does not belong to this request: send back the one of its last result, with the \
                 same arguments; what was given out before evokore was started is void",
            )
        };
        let given: String = serde_json::from_str(given.get()).map_err(|_| foreign())?;
        let (seal, sealed) = given.split_at_checked(SEAL).ok_or_else(foreign)?;
        let seal = unhex(seal).ok_or_else(foreign)?;
        // Compares in constant time.
        self.mac(bound, sealed).map_err(|why| Outcome::error_text(&why))?.verify_slice(&seal).map_err(|_| foreign())?;
        let (head, state) = sealed.split_at_checked(HEAD).ok_or_else(foreign)?;
        let ends = u64::from_str_radix(&head[..16], 16).map_err(|_| foreign())?;
        if self.born.elapsed() > Duration::from_millis(ends) {
            return Err(Outcome::invalid_params("`params.requestState` is too old: make the request anew, without it"));
        }
        let kind = Kind::ALL.into_iter().find(|kind| head.ends_with(kind.letter())).ok_or_else(foreign)?;
        let number = Number(head[16..48].into());
        let state = RawValue::from_string(state.to_owned()).ok();
        members.0.retain(|(key, _)| key != "requestState");
        if let Some(state) = &state {
            members.0.push(("requestState".into(), state));
        }
        let others = Some(members.to_json());
        Ok(match kind {
            Kind::Child => Opened { others, ..Opened::default() },
            Kind::Approved => Opened { approval: self.take(number), others, ..Opened::default() },
            Kind::Asked => Opened { asked: self.take_asked(&number), others, ..Opened::default() },
            Kind::Parked => Opened { parked: Some(number), others, ..Opened::default() },
        })
    }

    /// The state of this number carries an approval. Beyond the limit the oldest does not any more.
    fn approve(&self, number: Number) {
        let mut approved = self.approved.lock().unwrap_or_else(PoisonError::into_inner);
        if approved.len() >= MAX_APPROVED {
            approved.pop_front();
        }
        approved.push_back(number);
    }

    /// Takes the approval of a state; `None` if it has none (any more), or another call holds it.
    fn take(&self, number: Number) -> Option<Approval<'_>> {
        let mut approved = self.approved.lock().unwrap_or_else(PoisonError::into_inner);
        let at = approved.iter().position(|known| *known == number)?;
        approved.remove(at);
        Some(Approval { states: self, number: Some(number), asked_until: None })
    }

    /// The same for the answer to a question.
    fn take_asked(&self, number: &Number) -> Option<Approval<'_>> {
        let mut asked = self.asked();
        let at = asked.iter().position(|(known, _)| known == number)?;
        let (number, until) = asked.swap_remove(at);
        Some(Approval { states: self, number: Some(number), asked_until: Some(until) })
    }

    fn asked(&self) -> MutexGuard<'_, Vec<(Number, Instant)>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn mac(&self, bound: Bound<'_>, sealed: &str) -> Result<Hmac<Sha256>, String> {
        let key = match self.key.get() {
            Some(key) => key,
            None => {
                let key = random::<32>()?;
                self.key.get_or_init(|| key)
            }
        };
        let mut mac = Hmac::<Sha256>::new_from_slice(key).map_err(|_| "a defect of evokore: no key".to_owned())?;
        mac.update(&bound.server.to_be_bytes());
        mac.update(&digest(bound));
        mac.update(sealed.as_bytes());
        Ok(mac)
    }
}

pub(super) fn random<const N: usize>() -> Result<[u8; N], String> {
    let mut random = [0; N];
    getrandom::fill(&mut random).map_err(|error| format!("the system gives no random numbers: {error}"))?;
    Ok(random)
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    text.as_bytes().chunks(2).map(|pair| Some(digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUND: Bound<'_> = Bound {
        server: 1,
        what: "t",
        arguments: Some(r#"{"a":1,"b":2}"#),
        definition: Some(b"{}"),
        needs_approval: false,
    };
    const APPROVED: Bound<'_> = Bound { needs_approval: true, ..BOUND };

    fn sealed(states: &States, bound: Bound<'_>, needs: &str) -> String {
        let result: Value = serde_json::from_str(&states.seal(bound, needs.as_bytes()).unwrap()).unwrap();
        result["requestState"].as_str().unwrap().to_owned()
    }

    fn others(state: &str) -> Box<RawValue> {
        RawValue::from_string(serde_json::json!({"requestState": state, "x": 1}).to_string()).unwrap()
    }

    /// Opens a state; whether it carried an approval, which is spent, and the members for the child.
    fn open(states: &States, bound: Bound<'_>, state: &str) -> Result<(bool, Value), String> {
        match states.open(bound, Some(&others(state))) {
            Ok(opened) => {
                let is_approved = opened.approval.map(Approval::spend).is_some();
                Ok((is_approved, serde_json::from_str(&opened.others.unwrap()).unwrap()))
            }
            Err(Outcome::Error { code: -32602, message }) => Err(message),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_state_is_good_for_its_call_alone_and_for_a_while() {
        let states = States::default();
        let state = sealed(&states, BOUND, r#"{"requestState":"s\u00e9"}"#);
        let other_order = Bound { arguments: Some(r#"{"b": 2, "a": 1}"#), ..BOUND };
        for bound in [BOUND, other_order] {
            let expected = serde_json::json!({"x": 1, "requestState": "sé"});
            assert_eq!(open(&states, bound, &state), Ok((false, expected)));
        }
        let none = sealed(&states, BOUND, "{}");
        assert_eq!(open(&states, BOUND, &none), Ok((false, serde_json::json!({"x": 1}))));
        let mut forged = state.clone();
        forged.replace_range(SEAL + HEAD - 1..SEAL + HEAD, "a");
        for (bound, state) in [
            (Bound { server: 2, ..BOUND }, state.as_str()),
            (Bound { what: "u", ..BOUND }, &state),
            (Bound { definition: Some(b"{ }"), ..BOUND }, &state),
            (Bound { definition: None, ..BOUND }, &state),
            (Bound { arguments: Some(r#"{"a":1,"b":3}"#), ..BOUND }, &state),
            (BOUND, &forged),
            (BOUND, &state[..SEAL + HEAD]),
            (BOUND, &state[..9]),
            (BOUND, "s"),
            (BOUND, &sealed(&States::default(), BOUND, "{}")),
        ] {
            assert!(open(&states, bound, state).unwrap_err().contains("does not belong"), "{bound:?} {state}");
        }
        tokio::time::advance(LIFETIME + Duration::from_secs(1)).await;
        assert!(open(&states, BOUND, &state).unwrap_err().contains("too old"));
    }

    #[tokio::test]
    async fn an_answer_to_a_question_of_ours_counts_once() {
        let states = States::default();
        let result = states.seal_question(BOUND, r#"{"resultType":"input_required"}"#).unwrap();
        let state = serde_json::from_str::<Value>(&result).unwrap()["requestState"].as_str().unwrap().to_owned();
        let asked = |bound| states.open(bound, Some(&others(&state))).map(|opened| opened.asked);
        assert!(asked(Bound { arguments: None, ..BOUND }).is_err(), "for this call alone");
        drop(asked(BOUND).unwrap().unwrap());
        for _ in 1..MAX_ASKED {
            states.seal_question(BOUND, "{}").unwrap();
        }
        assert!(states.seal_question(BOUND, "{}").unwrap_err().contains("64 questions"), "the next one is not asked");
        asked(BOUND).unwrap().unwrap().spend();
        assert!(asked(BOUND).unwrap().is_none());
        states.seal_question(BOUND, "{}").unwrap();
    }

    #[tokio::test]
    async fn an_approval_goes_on_once() {
        let states = States::default();
        let state = sealed(&states, APPROVED, "{}");
        assert!(open(&states, BOUND, &state).unwrap().0);
        assert!(!open(&states, BOUND, &state).unwrap().0, "the second time a person is asked again");
        let unspent = sealed(&states, APPROVED, "{}");
        {
            let opened = states.open(BOUND, Some(&others(&unspent))).unwrap();
            assert!(opened.approval.is_some(), "a later gate may still refuse the call");
            assert!(!open(&states, BOUND, &unspent).unwrap().0, "another call does not share it");
        }
        assert!(open(&states, BOUND, &unspent).unwrap().0, "it was not spent");
        let first = sealed(&states, APPROVED, "{}");
        (0..MAX_APPROVED).for_each(|_| drop(sealed(&states, APPROVED, "{}")));
        assert!(!open(&states, BOUND, &first).unwrap().0, "bounded");
    }
}
