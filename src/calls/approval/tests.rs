//! What a model can and cannot do with an approval token.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::tickets::MAX_PENDING;
use super::*;
use crate::state::approvals::decide;

const ARGUMENTS: &str = r#"{"a":1,"b":2}"#;

fn text(outcome: &Outcome) -> String {
    let Outcome::Result(bytes) = outcome else { panic!("{outcome:?}") };
    let value: Value = serde_json::from_slice(bytes).unwrap();
    assert_eq!(value["isError"], true);
    value["content"][0]["text"].as_str().unwrap().to_owned()
}

fn token_and_id(refusal: &str) -> (String, String) {
    let token = refusal.split("\"").nth(3).unwrap().to_owned();
    let id = refusal.split("approve ").nth(1).unwrap()[..8].to_owned();
    (token, id)
}

/// Approvals whose requests and records lie in `folder`.
fn approvals(folder: &std::path::Path) -> Approvals {
    approvals_in(folder, ApprovalMode::Operator)
}

fn approvals_in(folder: &std::path::Path, mode: ApprovalMode) -> Approvals {
    let records = Records::at(Some(folder.join("grants")));
    Approvals::new(Requests::at(Some(folder.to_owned())), records, Audit::default(), mode)
}

/// A call of `tool`, which is what it was.
fn call<'a>(tool: &'a str, arguments: &'a str) -> Call<'a> {
    let arguments = Some(arguments);
    let bound = Bound { server: 0, what: tool, arguments, definition: None, needs_approval: true };
    Call {
        bound,
        caller: None,
        proposal: Proposal { tool, server: "s", arguments, role: None, client: None, reason: None },
    }
}

async fn tried(approvals: &Approvals, call: Call<'_>, token: Option<&str>) -> Result<(), String> {
    match approvals.standing(&call, token).await {
        Ok(Some(consent)) => consent.spend(&call).await,
        Ok(None) => return Err(text(&approvals.request(&call, token.is_some(), false).await)),
        Err(refusal) => return Err(text(&refusal)),
    }
    Ok(())
}

async fn asked(approvals: &Approvals, tool: &str, arguments: &str, token: Option<&str>) -> Result<(), String> {
    tried(approvals, call(tool, arguments), token).await
}

/// A client whose person gives this answer.
#[derive(Debug)]
struct Person(Value);

impl Client for Person {
    fn capabilities(&self) -> std::sync::Arc<crate::child::Capabilities> {
        std::sync::Arc::new(crate::child::Capabilities::of(r#"{"elicitation":{}}"#))
    }
    fn level(&self) -> Option<crate::child::Level> {
        None
    }
    fn log(&self, _: &'static str, _: &[u8]) -> bool {
        true
    }
    fn ask(&self, _: Question) -> crate::child::Answering {
        let answer = self.0.to_string();
        Box::pin(async move { Some(crate::child::ChildReply::Result(answer.into())) })
    }
    fn tell(&self, _: &'static str, _: Option<&[u8]>) {}
}

async fn said<'a>(approvals: &'a Approvals, call: &Call<'_>, answer: Value) -> Result<Option<Consent<'a>>, Outcome> {
    let client = Person(json!({"action": "accept", "content": {"answer": answer}}));
    let question = question(&client, true, call).unwrap();
    approvals.ask_client(&client, question, call).await
}

#[test]
fn the_token_never_reaches_the_child() {
    for (text, token, rest) in [
        (r#"{"a": 1.10}"#, None, r#"{"a": 1.10}"#),
        (r#"{"a": 1.10,"_evokore_approval_token":"ab"}"#, Some("ab"), r#"{"a":1.10}"#),
        (r#"{"_evokore_approval\u005ftoken":"ab","_evokore_approval_token":"cd"}"#, Some("ab"), "{}"),
        (r#"{"note":"_evokore_approval_token"}"#, None, r#"{"note":"_evokore_approval_token"}"#),
    ] {
        let raw: Box<RawValue> = serde_json::from_str(text).unwrap();
        let (found, arguments) = take_token(Some(&raw));
        assert_eq!((found.as_deref(), arguments.as_deref()), (token, Some(rest)), "{text}");
    }
}

#[tokio::test]
async fn a_token_works_once_for_one_call_and_only_after_a_person_said_so() {
    let folder = crate::state::approvals::scratch("once");
    let approvals = approvals(&folder);
    let refusal = asked(&approvals, "t", r#"{"a":1,"b":2}"#, None).await.unwrap_err();
    let (token, id) = token_and_id(&refusal);

    let unapproved = asked(&approvals, "t", r#"{"a":1,"b":2}"#, Some(&token)).await.unwrap_err();
    assert!(unapproved.contains("nobody has approved"), "{unapproved}");

    decide(&folder, &id, Decision::Approved(None)).unwrap();
    for (tool, arguments) in [("u", r#"{"a":1,"b":2}"#), ("t", r#"{"a":1,"b":3}"#)] {
        let other = asked(&approvals, tool, arguments, Some(&token)).await.unwrap_err();
        assert!(other.contains("not valid for this call"), "{other}");
    }
    let (mut turned, mut foreign, mut promoted) = (call("t", ARGUMENTS), call("t", ARGUMENTS), call("t", ARGUMENTS));
    turned.bound.definition = Some(b"{}");
    foreign.caller = Some(crate::session::SessionId::next());
    promoted.proposal.role = Some("admin");
    for other in [turned, foreign, promoted] {
        let refusal = tried(&approvals, other, Some(&token)).await.unwrap_err();
        assert!(refusal.contains("not valid for this call"), "{other:?}: {refusal}");
    }
    // The refused attempts have not spent it, and the order of keys does not matter.
    asked(&approvals, "t", r#"{"b":2,"a":1}"#, Some(&token)).await.unwrap();
    asked(&approvals, "t", r#"{"a":1,"b":2}"#, Some(&token)).await.unwrap_err();
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn a_token_outlives_a_call_that_a_later_gate_refused() {
    let folder = crate::state::approvals::scratch("held");
    let approvals = approvals(&folder);
    let (token, id) = token_and_id(&asked(&approvals, "t", "{}", None).await.unwrap_err());
    decide(&folder, &id, Decision::Approved(None)).unwrap();
    let consent = approvals.standing(&call("t", "{}"), Some(&token)).await.unwrap();
    let second = asked(&approvals, "t", "{}", Some(&token)).await.unwrap_err();
    assert!(second.contains("not valid"), "one call at a time: {second}");
    drop(consent);
    asked(&approvals, "t", "{}", Some(&token)).await.unwrap();
    asked(&approvals, "t", "{}", Some(&token)).await.unwrap_err();
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn a_denied_call_stays_denied() {
    let folder = crate::state::approvals::scratch("denied");
    let approvals = approvals(&folder);
    let (token, id) = token_and_id(&asked(&approvals, "t", "{}", None).await.unwrap_err());
    decide(&folder, &id, Decision::Denied).unwrap();
    let refusal = asked(&approvals, "t", "{}", Some(&token)).await.unwrap_err();
    assert!(refusal.contains("denied"), "{refusal}");
    assert!(decide(&folder, &id, Decision::Approved(None)).is_err(), "the request is gone");
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn what_is_too_much_is_not_asked_and_pushes_nothing_out() {
    let folder = crate::state::approvals::scratch("bounded");
    let approvals = approvals(&folder);
    let waiting = || crate::state::approvals::list(&folder).unwrap().len();
    let (token, id) = token_and_id(&asked(&approvals, "t", "{}", None).await.unwrap_err());
    for n in 1..MAX_PENDING + 10 {
        let refusal = asked(&approvals, "t", &format!("{{\"n\":{n}}}"), None).await.unwrap_err();
        assert_eq!(refusal.contains("64 calls wait for one already"), n >= MAX_PENDING, "{n}: {refusal}");
        assert_eq!(refusal.contains(TOKEN_KEY), n < MAX_PENDING, "{n}: {refusal}");
    }
    assert_eq!(waiting(), MAX_PENDING);
    let person = Person(json!({"action": "accept", "content": {"answer": "Allow once"}}));
    let this = call("t", r#"{"n":"more"}"#);
    let question = question(&person, true, &this).unwrap();
    let refusal = text(&approvals.ask_client(&person, question.clone(), &this).await.map(drop).unwrap_err());
    assert!(refusal.contains("64 calls wait"), "at the client neither: {refusal}");
    // Another session has room of its own, and the first request is as good as it was.
    let mut other = this;
    other.caller = Some(crate::session::SessionId::next());
    assert!(tried(&approvals, other, None).await.unwrap_err().contains(TOKEN_KEY));
    decide(&folder, &id, Decision::Approved(None)).unwrap();
    asked(&approvals, "t", "{}", Some(&token)).await.unwrap();
    assert!(asked(&approvals, "t", r#"{"n":"more"}"#, None).await.unwrap_err().contains(TOKEN_KEY), "there is room");
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn persons_at_the_client_are_asked_so_much_at_once_and_no_more() {
    let folder = crate::state::approvals::scratch("places");
    let approvals = approvals(&folder);
    let places: Vec<_> = (0..MAX_PENDING).map(|_| approvals.tickets.place(None).unwrap()).collect();
    assert!(approvals.tickets.place(None).is_none());
    assert!(asked(&approvals, "t", "{}", None).await.unwrap_err().contains("64 calls wait"));
    drop(places);
    assert!(asked(&approvals, "t", "{}", None).await.unwrap_err().contains(TOKEN_KEY));
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn nobody_is_asked_twice_about_one_call() {
    let folder = crate::state::approvals::scratch("twice");
    let approvals = approvals(&folder);
    let waiting = || crate::state::approvals::list(&folder).unwrap().len();
    let first = asked(&approvals, "t", ARGUMENTS, None).await.unwrap_err();
    let second = asked(&approvals, "t", r#"{"b":2,"a":1}"#, None).await.unwrap_err();
    assert_eq!((&first, waiting()), (&second, 1));
    let (token, id) = token_and_id(&first);
    decide(&folder, &id, Decision::Approved(None)).unwrap();
    let (other, _) = token_and_id(&asked(&approvals, "t", ARGUMENTS, None).await.unwrap_err());
    assert_ne!(other, token, "who does not bring the token makes another call");
    asked(&approvals, "t", ARGUMENTS, Some(&token)).await.unwrap();
    // What was denied is, whether or not the call brings its token.
    let (_, id) = token_and_id(&asked(&approvals, "u", "{}", None).await.unwrap_err());
    decide(&folder, &id, Decision::Denied).unwrap();
    for _ in 0..2 {
        let refusal = asked(&approvals, "u", "{}", None).await.unwrap_err();
        assert!(refusal.contains("has denied"), "{refusal}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn a_standing_approval_counts_more_than_a_token_that_waits() {
    let folder = crate::state::approvals::scratch("undecided");
    let approvals = approvals(&folder);
    let this = call("t", ARGUMENTS);
    let (token, _) = token_and_id(&asked(&approvals, "t", ARGUMENTS, None).await.unwrap_err());
    let other = call("t", "{}");
    let always = said(&approvals, &other, json!("Allow this tool, until the session ends")).await.unwrap().unwrap();
    always.spend(&other).await;
    tried(&approvals, this, Some(&token)).await.unwrap();
    assert!(crate::state::approvals::list(&folder).unwrap().is_empty(), "nobody need decide on it any more");
    // A denial of this call counts more than the approval of all.
    let (token, id) = {
        for grant in crate::state::grants::list(&folder.join("grants")).unwrap() {
            crate::state::grants::revoke(&folder.join("grants"), &grant.id).unwrap();
        }
        token_and_id(&asked(&approvals, "t", ARGUMENTS, None).await.unwrap_err())
    };
    said(&approvals, &other, json!("Allow this tool, until the session ends"))
        .await
        .unwrap()
        .unwrap()
        .spend(&other)
        .await;
    decide(&folder, &id, Decision::Denied).unwrap();
    assert!(tried(&approvals, this, Some(&token)).await.unwrap_err().contains("has denied"));
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn the_word_of_a_person_is_good_for_one_call_and_comes_back_when_a_gate_is_closed() {
    let folder = crate::state::approvals::scratch("word");
    let approvals = approvals(&folder);
    let this = call("t", ARGUMENTS);
    said(&approvals, &this, json!("Allow once")).await.unwrap().unwrap().spend(&this).await;
    assert!(approvals.standing(&this, None).await.unwrap().is_none(), "it is spent");
    drop(said(&approvals, &this, json!("Allow once")).await.unwrap().unwrap());
    assert!(approvals.standing(&call("t", "{}"), None).await.unwrap().is_none(), "for other arguments");
    approvals.standing(&this, None).await.unwrap().unwrap().spend(&this).await;
    assert!(approvals.standing(&this, None).await.unwrap().is_none());
    let refusal = text(&said(&approvals, &this, json!("Do not allow")).await.map(drop).unwrap_err());
    assert!(refusal.contains("denied"), "{refusal}");
    assert!(said(&approvals, &this, json!("allow once")).await.unwrap().is_none(), "no answer that was offered");
}

#[tokio::test]
async fn a_standing_approval_covers_what_it_says_until_it_is_taken_back() {
    let folder = crate::state::approvals::scratch("standing");
    let approvals = approvals(&folder);
    let records = || crate::state::grants::list(&folder.join("grants")).unwrap();
    let covers = async |call: Call<'_>| approvals.standing(&call, None).await.unwrap().is_some();
    let this = call("t", ARGUMENTS);
    said(&approvals, &this, json!("Allow with these arguments, until the session ends"))
        .await
        .unwrap()
        .unwrap()
        .spend(&this)
        .await;
    assert!(covers(this).await && covers(this).await && !covers(call("t", "{}")).await);
    said(&approvals, &call("t", "{}"), json!("Allow this tool, until the session ends"))
        .await
        .unwrap()
        .unwrap()
        .spend(&call("t", "{}"))
        .await;
    assert!(covers(call("t", r#"{"c":3}"#)).await && !covers(call("u", "{}")).await);
    let mut other = call("t", "{}");
    other.caller = Some(crate::session::SessionId::next());
    assert!(!covers(other).await, "of another session");
    other = call("t", "{}");
    other.bound.definition = Some(b"{}");
    assert!(!covers(other).await, "the tool is another");
    let [narrow, wide] = records().try_into().unwrap_or_else(|records| panic!("{records:?}"));
    let (narrow, wide) = if narrow.arguments.is_some() { (narrow, wide) } else { (wide, narrow) };
    assert_eq!((narrow.arguments.as_deref(), wide.arguments), (Some(ARGUMENTS), None));
    crate::state::grants::revoke(&folder.join("grants"), &wide.id).unwrap();
    assert!(!covers(call("t", "{}")).await && covers(this).await);
    // A record that nobody was asked for grants nothing.
    Records::at(Some(folder.join("grants")))
        .add(crate::state::grants::Record::new("0badcafe", "u", None, None))
        .await
        .unwrap();
    assert!(!covers(call("u", "{}")).await);
    for n in 0..MAX_PENDING + 10 {
        let arguments = format!("{{\"n\":{n}}}");
        let this = call("v", &arguments);
        for _ in 0..2 {
            let consent = said(&approvals, &this, json!("Allow with these arguments, until the session ends")).await;
            consent.unwrap().unwrap().spend(&this).await;
        }
    }
    assert_eq!(records().len(), MAX_PENDING + 1, "bounded");
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn a_grant_comes_with_its_call_and_not_again() {
    let folder = crate::state::approvals::scratch("regrant");
    let approvals = approvals(&folder);
    let granted = || crate::state::grants::list(&folder.join("grants")).unwrap();
    let this = call("t", "{}");
    let (token, id) = token_and_id(&asked(&approvals, "t", "{}", None).await.unwrap_err());
    decide(&folder, &id, Decision::Approved(Some(Scope::Tool))).unwrap();
    for _ in 0..3 {
        drop(approvals.standing(&this, Some(&token)).await.unwrap().unwrap());
        assert!(granted().is_empty(), "a later gate has refused the call");
    }
    asked(&approvals, "t", "{}", Some(&token)).await.unwrap();
    let [grant] = granted().try_into().unwrap_or_else(|granted| panic!("{granted:?}"));
    crate::state::grants::revoke(&folder.join("grants"), &grant.id).unwrap();
    asked(&approvals, "t", "{}", Some(&token)).await.unwrap_err();
    assert!(granted().is_empty(), "what was taken back stays so");
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn of_a_tool_that_is_not_what_it_was_each_call_is_looked_at() {
    let folder = crate::state::approvals::scratch("changed");
    let approvals = approvals(&folder);
    let mut this = call("t", "{}");
    this.proposal.reason = Some("the tool is not what was locked");
    said(&approvals, &this, json!("Allow this tool, until the session ends"))
        .await
        .unwrap()
        .unwrap()
        .spend(&this)
        .await;
    assert!(approvals.standing(&this, None).await.unwrap().is_none());
}

#[tokio::test]
async fn in_token_mode_the_retry_is_enough_where_nobody_else_can_be_asked() {
    let folder = crate::state::approvals::scratch("mode");
    let approvals = approvals_in(&folder, ApprovalMode::Token);
    let refusal = asked(&approvals, "t", ARGUMENTS, None).await.unwrap_err();
    assert!(!refusal.contains("approvals approve"), "{refusal}");
    let token = refusal.split('"').nth(3).unwrap().to_owned();
    for (tool, arguments) in [("u", ARGUMENTS), ("t", "{}")] {
        asked(&approvals, tool, arguments, Some(&token)).await.unwrap_err();
    }
    drop(approvals.standing(&call("t", ARGUMENTS), Some(&token)).await.unwrap().unwrap());
    asked(&approvals, "t", ARGUMENTS, Some(&token)).await.unwrap();
    asked(&approvals, "t", ARGUMENTS, Some(&token)).await.unwrap_err();
    // A person can still deny one.
    let refusal = asked(&approvals, "d", "{}", None).await.unwrap_err();
    let id = refusal.split("approvals deny ").nth(1).unwrap()[..8].to_owned();
    decide(&folder, &id, Decision::Denied).unwrap();
    let token = refusal.split('"').nth(3).unwrap();
    assert!(asked(&approvals, "d", "{}", Some(token)).await.unwrap_err().contains("has denied"));
    // Who can ask their person does, and a tool that has changed is looked at by one.
    let mut changed = call("c", "{}");
    changed.proposal.reason = Some("the tool is not what was locked");
    for (call, has_person) in [(call("p", "{}"), true), (changed, false)] {
        let refusal = text(&approvals.request(&call, false, has_person).await);
        let (token, _) = token_and_id(&refusal);
        let refusal = tried(&approvals, call, Some(&token)).await.unwrap_err();
        assert!(refusal.contains("nobody has approved"), "{refusal}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}
