//! What a model can and cannot do with an approval token.

use super::*;
use crate::state::approvals::decide;

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

/// A call of `tool`, which is what it was.
fn bound<'a>(tool: &'a str, arguments: &'a str) -> Bound<'a> {
    Bound { server: 0, what: tool, arguments: Some(arguments), definition: None, needs_approval: true }
}

async fn asked(approvals: &Approvals, tool: &str, arguments: &str, token: Option<&str>) -> Result<(), String> {
    let consent = approvals.check(bound(tool, arguments), None, token).await.map_err(|outcome| text(&outcome))?;
    consent.spend().await;
    Ok(())
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
    let approvals = Approvals::new(Requests::at(Some(folder.clone())));
    let refusal = asked(&approvals, "t", r#"{"a":1,"b":2}"#, None).await.unwrap_err();
    let (token, id) = token_and_id(&refusal);

    let unapproved = asked(&approvals, "t", r#"{"a":1,"b":2}"#, Some(&token)).await.unwrap_err();
    assert!(unapproved.contains("nobody has approved"), "{unapproved}");

    decide(&folder, &id, Decision::Approved).unwrap();
    for (tool, arguments) in [("u", r#"{"a":1,"b":2}"#), ("t", r#"{"a":1,"b":3}"#)] {
        let other = asked(&approvals, tool, arguments, Some(&token)).await.unwrap_err();
        assert!(other.contains("not valid for this call"), "{other}");
    }
    let turned = Bound { definition: Some(b"{}"), ..bound("t", r#"{"a":1,"b":2}"#) };
    let other = text(&approvals.check(turned, None, Some(&token)).await.map(drop).unwrap_err());
    assert!(other.contains("not valid for this call"), "{other}");
    // The refused attempts have not spent it, and the order of keys does not matter.
    asked(&approvals, "t", r#"{"b":2,"a":1}"#, Some(&token)).await.unwrap();
    asked(&approvals, "t", r#"{"a":1,"b":2}"#, Some(&token)).await.unwrap_err();
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn a_token_outlives_a_call_that_a_later_gate_refused() {
    let folder = crate::state::approvals::scratch("held");
    let approvals = Approvals::new(Requests::at(Some(folder.clone())));
    let (token, id) = token_and_id(&asked(&approvals, "t", "{}", None).await.unwrap_err());
    decide(&folder, &id, Decision::Approved).unwrap();
    let consent = approvals.check(bound("t", "{}"), None, Some(&token)).await.unwrap();
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
    let approvals = Approvals::new(Requests::at(Some(folder.clone())));
    let (token, id) = token_and_id(&asked(&approvals, "t", "{}", None).await.unwrap_err());
    decide(&folder, &id, Decision::Denied).unwrap();
    let refusal = asked(&approvals, "t", "{}", Some(&token)).await.unwrap_err();
    assert!(refusal.contains("denied"), "{refusal}");
    assert!(decide(&folder, &id, Decision::Approved).is_err(), "the request is gone");
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn requests_are_bounded() {
    let folder = crate::state::approvals::scratch("bounded");
    let approvals = Approvals::new(Requests::at(Some(folder.clone())));
    for n in 0..MAX_PENDING + 10 {
        asked(&approvals, "t", &format!("{{\"n\":{n}}}"), None).await.unwrap_err();
    }
    assert_eq!(crate::state::approvals::list(&folder).unwrap().len(), MAX_PENDING);
    std::fs::remove_dir_all(folder).unwrap();
}
