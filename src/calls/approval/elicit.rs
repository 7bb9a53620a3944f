//! Asking the person at the client (client/elicitation, form mode): the client program shows the question and answers
//! for them, so the model has no part in it.

use std::time::Duration;

use bytes::Bytes;
use evokore_catalog::members::Members;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::Proposal;
use crate::child::{ChildReply, Client, Question, Topic};
use crate::state::grants::Scope;

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The person allows the call; with a scope, also those like it.
    Allowed(Option<Scope>),
    /// The person does not want the call.
    Declined,
    /// Nobody decided: the question was closed or left alone, or the answer is none of those that were offered.
    Open,
}

/// The member of the form.
const ANSWER: &str = "answer";
/// What the person can choose. Clients show these words as they are.
const ONCE: &str = "Allow once";
const ARGUMENTS: &str = "Allow with these arguments, until the session ends";
const TOOL: &str = "Allow this tool, until the session ends";
const NO: &str = "Do not allow";

/// The key of the question in `inputRequests`.
const KEY: &str = "approval";

/// The question, if this client can be asked it: by a request, or else by the result of one of its own.
pub(super) fn question(client: &dyn Client, by_request: bool, proposal: &Proposal<'_>) -> Option<Question> {
    let question = Question { topic: Topic::Elicitation, params: Some(params(proposal)) };
    let refusal = if by_request { client.refusal(&question) } else { client.capabilities().refusal(&question) };
    refusal.is_none().then_some(question)
}

/// Asks, and waits no longer than `patience`.
pub(super) async fn ask(client: &dyn Client, question: Question, patience: Duration) -> Verdict {
    match timeout(patience, client.ask(question)).await {
        Ok(Some(ChildReply::Result(result))) => verdict(&result),
        _ => Verdict::Open,
    }
}

/// The `input_required` result that asks a client of 2026-07-28 (basic/patterns/mrtr), without its state.
pub(super) fn required(question: &Question) -> String {
    let params = question.params.as_deref().map(String::from_utf8_lossy).unwrap_or_default();
    let method = question.topic.method();
    format!(
        r#"{{"resultType":"input_required","inputRequests":{{"{KEY}":{{"method":"{method}","params":{params}}}}}}}"#
    )
}

/// Takes the answer out of the members of a request that comes back with it: what the person said, and the members that
/// are left for the child.
pub(super) fn answered(others: Option<&str>) -> (Verdict, Option<String>) {
    let Some(mut members) = others.and_then(|others| Members::parse(others).ok()) else { return (Verdict::Open, None) };
    let responses = members.last("inputResponses").and_then(|responses| Members::parse(responses.get()).ok());
    let answer = responses.as_ref().and_then(|responses| responses.last(KEY));
    let verdict = answer.map_or(Verdict::Open, |answer| verdict(answer.get().as_bytes()));
    members.0.retain(|(key, _)| key != "inputResponses");
    let left = (!members.0.is_empty()).then(|| members.to_json());
    (verdict, left)
}

/// The `params` of `elicitation/create`.
fn params(proposal: &Proposal<'_>) -> Bytes {
    let mut choices = vec![ONCE];
    // Whoever is asked because a tool is not what it was looks at each call.
    if proposal.reason.is_none() {
        choices.extend([ARGUMENTS, TOOL]);
    }
    choices.push(NO);
    json!({
        "mode": "form",
        "message": proposal.to_string(),
        "requestedSchema": {
            "type": "object",
            "properties": {ANSWER: {"type": "string", "title": "Allow this call?", "enum": choices}},
            "required": [ANSWER],
        },
    })
    .to_string()
    .into()
}

/// Reads an answer. Only a clear yes is one.
fn verdict(result: &[u8]) -> Verdict {
    let result: Value = serde_json::from_slice(result).unwrap_or_default();
    match (result["action"].as_str(), result["content"][ANSWER].as_str()) {
        (Some("accept"), Some(ONCE)) => Verdict::Allowed(None),
        (Some("accept"), Some(ARGUMENTS)) => Verdict::Allowed(Some(Scope::Arguments)),
        (Some("accept"), Some(TOOL)) => Verdict::Allowed(Some(Scope::Tool)),
        (Some("accept"), Some(NO)) | (Some("decline"), _) => Verdict::Declined,
        _ => Verdict::Open,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_yes_is_one() {
        for (answer, expected) in [
            (json!({"action": "accept", "content": {"answer": ONCE}}), Verdict::Allowed(None)),
            (json!({"action": "accept", "content": {"answer": ARGUMENTS}}), Verdict::Allowed(Some(Scope::Arguments))),
            (json!({"action": "accept", "content": {"answer": TOOL}}), Verdict::Allowed(Some(Scope::Tool))),
            (json!({"action": "accept", "content": {"answer": NO}}), Verdict::Declined),
            (json!({"action": "decline"}), Verdict::Declined),
            (json!({"action": "decline", "content": {"answer": ONCE}}), Verdict::Declined),
            (json!({"action": "cancel", "content": {"answer": ONCE}}), Verdict::Open),
            (json!({"action": "accept", "content": {"answer": "allow once"}}), Verdict::Open),
            (json!({"action": "accept", "content": {"answer": true}}), Verdict::Open),
            (json!({"action": "accept", "content": {}}), Verdict::Open),
            (json!({"action": "accept"}), Verdict::Open),
            (json!({"action": "Accept", "content": {"answer": ONCE}}), Verdict::Open),
            (json!(7), Verdict::Open),
        ] {
            assert_eq!(verdict(answer.to_string().as_bytes()), expected, "{answer}");
        }
        assert_eq!(verdict(b"{"), Verdict::Open);
    }

    #[test]
    fn the_answer_is_for_us_alone() {
        let answer = |answer: &str| format!(r#"{{"a":1.0,"inputResponses":{{"approval":{answer}}}}}"#);
        let (verdict, left) = answered(Some(&answer(r#"{"action":"decline"}"#)));
        assert_eq!((verdict, left.as_deref()), (Verdict::Declined, Some(r#"{"a":1.0}"#)));
        assert_eq!(answered(Some(&answer("7"))).0, Verdict::Open);
        assert_eq!(answered(Some(r#"{"inputResponses":[]}"#)), (Verdict::Open, None));
        assert_eq!(answered(None), (Verdict::Open, None));
    }

    #[test]
    fn the_question_shows_the_call_without_its_secrets() {
        let arguments = Some(r#"{"path":"a\u202e.txt","apiKey":"k"}"#);
        let mut proposal =
            Proposal { tool: "fs_write", server: "fs", arguments, role: Some("developer"), client: None, reason: None };
        let shown = |proposal: &Proposal<'_>| serde_json::from_slice::<Value>(&params(proposal)).unwrap();
        expect_test::expect![[r#"
            {
              "mode": "form",
              "message": "Allow a call of `fs_write` at the server `fs`?\nArguments: {\"path\":\"a\\u{202e}.txt\",\"apiKey\":\"***\"}\nRole: developer",
              "requestedSchema": {
                "type": "object",
                "properties": {
                  "answer": {
                    "type": "string",
                    "title": "Allow this call?",
                    "enum": [
                      "Allow once",
                      "Allow with these arguments, until the session ends",
                      "Allow this tool, until the session ends",
                      "Do not allow"
                    ]
                  }
                },
                "required": [
                  "answer"
                ]
              }
            }"#]].assert_eq(&format!("{:#}", shown(&proposal)));
        proposal.reason = Some("the tool is not what was locked");
        let changed = shown(&proposal);
        assert_eq!(changed["requestedSchema"]["properties"]["answer"]["enum"], json!([ONCE, NO]));
        assert!(changed["message"].as_str().unwrap().contains("because the tool is not what was locked"), "{changed}");
    }
}
