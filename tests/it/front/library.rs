//! Resources, prompts, completion and logging, as a client asks for them.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Sandbox, Session, modern};

fn names<'a>(list: &'a Value, key: &str) -> Vec<&'a str> {
    list.as_array().unwrap().iter().map(|entry| entry[key].as_str().unwrap()).collect()
}

#[test]
fn every_listed_resource_can_be_read() {
    let mut sandbox = Sandbox::new("library-resources");
    sandbox.set("GITHUB_PERSONAL_ACCESS_TOKEN", "s3cret-token");
    let mut session = Session::greeted(&sandbox);
    let (mut uris, mut params) = (Vec::new(), json!({}));
    loop {
        let page = session.ask("resources/list", params);
        uris.extend(names(&page["resources"], "uri").into_iter().map(str::to_owned));
        match page.get("nextCursor") {
            Some(cursor) => params = json!({ "cursor": cursor }),
            None => break,
        }
    }
    for uri in ["evokore://server/status", "evokore://server/config", "evokore://skills/categories"] {
        assert!(uris.iter().any(|known| known == uri), "{uri} in {uris:?}");
    }
    assert!(uris.iter().filter(|uri| uri.starts_with("skill://")).count() >= 24);
    for uri in &uris {
        let read = session.ask("resources/read", json!({ "uri": uri }));
        let contents = &read["contents"][0];
        assert_eq!(contents["uri"], *uri);
        let text = contents["text"].as_str().unwrap();
        assert!(!text.is_empty(), "{uri}");
        assert!(!text.contains("s3cret-token"), "{uri}");
        if contents["mimeType"] == "application/json" {
            serde_json::from_str::<Value>(text).unwrap();
        }
    }
    let templates = session.ask("resources/templates/list", json!({}));
    assert_eq!(names(&templates["resourceTemplates"], "uriTemplate"), ["skill://{category}/{name}"]);
}

#[test]
fn prompts_are_listed_completed_and_given() {
    let sandbox = Sandbox::new("library-prompts");
    let mut session = Session::greeted(&sandbox);
    let list = session.ask("prompts/list", json!({}));
    let mut listed = names(&list["prompts"], "name");
    listed.sort_unstable();
    assert_eq!(listed, ["resolve-workflow", "server-overview", "skill-help"]);
    for prompt in list["prompts"].as_array().unwrap() {
        let mut arguments = json!({});
        for argument in prompt["arguments"].as_array().into_iter().flatten() {
            let (name, prefix) = (argument["name"].as_str().unwrap(), "re");
            let complete = session.ask(
                "completion/complete",
                json!({"ref": {"type": "ref/prompt", "name": prompt["name"]}, "argument": {"name": name, "value": prefix}}),
            );
            let values = complete["completion"]["values"].as_array().unwrap();
            assert!(!values.is_empty() && values.len() <= 100, "{prompt}: {complete}");
            arguments[name] = values[0].clone();
        }
        let given = session.ask("prompts/get", json!({"name": prompt["name"], "arguments": arguments}));
        assert!(!given["messages"][0]["content"]["text"].as_str().unwrap().is_empty(), "{given}");
    }
    let complete = session.ask(
        "completion/complete",
        json!({"ref": {"type": "ref/resource", "uri": "skill://{category}/{name}"}, "argument": {"name": "name", "value": "rel"}}),
    );
    assert!(names_of(&complete).contains(&"release-readiness".to_owned()), "{complete}");
}

fn names_of(complete: &Value) -> Vec<String> {
    complete["completion"]["values"]
        .as_array()
        .unwrap()
        .iter()
        .map(|value| value.as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_log_level_can_be_set() {
    let sandbox = Sandbox::new("library-log");
    let mut session = Session::greeted(&sandbox);
    for level in ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] {
        assert_eq!(session.ask("logging/setLevel", json!({ "level": level })), json!({}));
    }
}

#[test]
fn refreshed_skills_are_told_of_and_can_be_read() {
    let sandbox = Sandbox::new("library-refresh");
    sandbox.write("conf/SKILLS/TESTING/new-thing/SKILL.md", "---\nname: new-thing\ndescription: new\n---\n# New\n");
    let mut session = Session::greeted(&sandbox);
    let id = session.request("subscriptions/listen", modern(json!({"notifications": {"resourcesListChanged": true}})));
    assert_eq!(session.next(super::LONG).unwrap()["method"], "notifications/subscriptions/acknowledged");
    let refreshed = session.call("refresh_skills", json!({}));
    assert_eq!(refreshed["structuredContent"]["added"], 1, "{refreshed}");
    let notes = session.told("notifications/resources/list_changed", Duration::from_millis(500));
    assert!(notes.iter().all(|note| note["method"] == "notifications/resources/list_changed"), "{notes:?}");
    let mut told: Vec<Option<u64>> =
        notes.iter().map(|note| note["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"].as_u64()).collect();
    told.sort_unstable();
    assert_eq!(told, [None, Some(id)], "the session and the subscriber, once each");
    let read = session.ask("resources/read", json!({"uri": "skill://TESTING/new-thing"}));
    assert!(read["contents"][0]["text"].as_str().unwrap().contains("# New"), "{read}");
    session.call("refresh_skills", json!({}));
    assert_eq!(session.notes(Duration::from_millis(300)), Vec::<Value>::new(), "nothing has changed");
}
