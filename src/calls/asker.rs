//! The client of 2026-07-28 behind one call, as a child of the handshake era asks it: what is asked is kept until a
//! result of a request can carry it, and the answers come with the next request.

use std::fmt::Write as _;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use evokore_catalog::members::Members;
use serde_json::value::RawValue;
use tokio::sync::{Notify, oneshot};

use crate::child::{Answering, Capabilities, ChildReply, Client, Level, Presence, Question, Topic};

/// Asks one client for the sake of one call. Its lock is never held across an await.
#[derive(Debug)]
pub(super) struct Asker {
    state: Mutex<State>,
    /// Something is asked.
    asked: Notify,
}

#[derive(Debug)]
struct State {
    /// Who made the last request of the call.
    client: Arc<dyn Client>,
    presence: Presence,
    /// Questions so far.
    last: u64,
    open: Vec<Open>,
}

#[derive(Debug)]
struct Open {
    /// Names it in `inputRequests`.
    key: String,
    question: Question,
    answer: oneshot::Sender<Option<ChildReply>>,
}

/// What a client has answered, an object each; the keys are those of the questions that are open.
#[derive(Debug, Default)]
pub(super) struct Answers(Vec<(String, Bytes)>);

impl Asker {
    /// For a call whose request `client` has just made.
    pub(super) fn of(client: Arc<dyn Client>) -> Arc<Asker> {
        let state = State { client, presence: Presence::There, last: 0, open: Vec::new() };
        Arc::new(Asker { state: Mutex::new(state), asked: Notify::new() })
    }

    /// Waits until there is something to ask.
    pub(super) async fn asked(&self) {
        while !self.state().is_asking() {
            self.asked.notified().await;
        }
    }

    /// The request of the call is about to be answered with `inputRequests`: this object.
    pub(super) fn leave(&self) -> String {
        let mut state = self.state();
        state.presence = Presence::Away;
        state.open.retain(|open| !open.answer.is_closed());
        let mut requests = String::from("{");
        for Open { key, question, .. } in &state.open {
            let comma = if requests.len() > 1 { "," } else { "" };
            // Writing to a String cannot fail.
            let _ = write!(requests, r#"{comma}"{key}":{{"method":"{}""#, question.topic.method());
            if let Some(params) = &question.params {
                let _ = write!(requests, r#","params":{}"#, String::from_utf8_lossy(params));
            }
            requests.push('}');
        }
        requests + "}"
    }

    /// Reads the `inputResponses` among the members of a request that goes on with the call.
    ///
    /// # Errors
    /// What is wrong with them.
    pub(super) fn read(&self, others: Option<&str>) -> Result<Answers, String> {
        let others = Members::parse(others.unwrap_or("{}")).unwrap_or_default();
        let Some(given) = others.last("inputResponses") else { return Ok(Answers(Vec::new())) };
        let given = Members::parse(given.get()).map_err(|_| "`params.inputResponses` must be an object".to_owned())?;
        let mut answers = Vec::new();
        for Open { key, .. } in &self.state().open {
            match given.last(key).map(RawValue::get) {
                // Asked again.
                None => {}
                Some(answer) if answer.starts_with('{') => {
                    answers.push((key.clone(), Bytes::copy_from_slice(answer.as_bytes())));
                }
                Some(_) => return Err(format!("`params.inputResponses.{key}` must be the object that a result is")),
            }
        }
        Ok(Answers(answers))
    }

    /// The client is back with these answers. What they leave out is asked again.
    pub(super) fn resume(&self, client: Arc<dyn Client>, Answers(mut answers): Answers) {
        let mut state = self.state();
        state.client = client;
        state.presence = Presence::There;
        let mut left = Vec::new();
        for open in mem::take(&mut state.open) {
            match answers.iter_mut().find(|(key, _)| *key == open.key) {
                // Whoever asked may have given up.
                Some((_, answer)) => drop(open.answer.send(Some(ChildReply::Result(mem::take(answer))))),
                None => match state.client.capabilities().refusal(&open.question) {
                    Some(refusal) => drop(open.answer.send(Some(refusal))),
                    None => left.push(open),
                },
            }
        }
        state.open = left;
        drop(state);
        self.asked.notify_one();
    }

    /// Answers all that is open with a refusal, since the call cannot wait.
    pub(super) fn refuse(&self, refusal: &ChildReply) {
        let mut state = self.state();
        state.presence = Presence::There;
        for open in mem::take(&mut state.open) {
            let _ = open.answer.send(Some(refusal.clone()));
        }
    }

    /// The call is over; what is still open may be another's.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.presence = Presence::Gone;
        for open in mem::take(&mut state.open) {
            let _ = open.answer.send(None);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No code that could panic runs under the lock, so a poisoned one still holds a consistent state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_asking(&self) -> bool {
        self.open.iter().any(|open| !open.answer.is_closed())
    }

    fn there(&self) -> Option<Arc<dyn Client>> {
        (self.presence == Presence::There).then(|| self.client.clone())
    }
}

impl Client for Asker {
    fn capabilities(&self) -> Arc<Capabilities> {
        self.state().client.capabilities()
    }

    fn presence(&self) -> Presence {
        self.state().presence
    }

    /// The client has to come back first.
    fn limit(&self, _: Topic) -> Option<Duration> {
        None
    }

    fn level(&self) -> Option<Level> {
        self.state().client.level()
    }

    /// Between two requests of the call there is nothing that a message could belong to.
    fn log(&self, server: &'static str, params: &[u8]) -> bool {
        let client = self.state().there();
        client.is_none_or(|client| client.log(server, params))
    }

    fn ask(&self, question: Question) -> Answering {
        let mut state = self.state();
        if state.presence == Presence::Gone {
            return Box::pin(async { None });
        }
        let (answer, answered) = oneshot::channel();
        state.last += 1;
        let key = format!("question-{}", state.last);
        state.open.retain(|open| !open.answer.is_closed());
        state.open.push(Open { key, question, answer });
        drop(state);
        self.asked.notify_one();
        Box::pin(async { answered.await.ok().flatten() })
    }

    fn tell(&self, _: &'static str, _: Option<&[u8]>) {}
}
