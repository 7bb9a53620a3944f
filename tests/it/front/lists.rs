//! What a client is shown: profiles, modes, pages, deferred schemas, activation, roles.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Sandbox, Session, Streams};

const CHANGED: &str = "notifications/tools/list_changed";

/// Longer than the debounce window of changes.
const BURST: Duration = Duration::from_millis(600);

fn session_with(name: &str, variables: &[(&str, &str)]) -> (Sandbox, Session) {
    let mut sandbox = Sandbox::new(name);
    for (variable, value) in variables {
        sandbox.set(variable, value);
    }
    let session = Session::greeted(&sandbox);
    (sandbox, session)
}

fn changes(notes: &[Value]) -> usize {
    notes.iter().filter(|note| note["method"] == CHANGED).count()
}

#[test]
fn the_list_is_the_same_bytes_each_time() {
    let lists: Vec<String> = (0..3)
        .map(|n| {
            let sandbox = Sandbox::new(&format!("lists-same-{n}"));
            let mut session = Session::start(&sandbox, Streams::Sockets);
            session.raw("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n");
            session.lines.recv_timeout(super::LONG).unwrap()
        })
        .collect();
    assert!(lists.iter().all(|list| *list == lists[0]));
    assert!(!lists[0].contains("nextCursor"), "nobody asked for pages");
}

#[test]
fn pages_hold_the_whole_list_once() {
    let (_sandbox, mut session) =
        session_with("lists-pages", &[("EVOKORE_TOOL_LIST_PAGINATION", "on"), ("EVOKORE_TOOL_LIST_PAGE_SIZE", "4")]);
    let (mut names, mut cursor, mut pages) = (Vec::new(), None::<String>, 0);
    loop {
        let params = cursor.as_ref().map_or(json!({}), |cursor| json!({ "cursor": cursor }));
        let page = session.ask("tools/list", params);
        names.extend(page["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()));
        pages += 1;
        match page["nextCursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => break,
        }
    }
    assert!(pages > 2);
    session.close();
    let (_sandbox, mut session) = session_with("lists-whole", &[]);
    assert_eq!(names, session.listed());
    // A cursor asks for pages; one of no list starts over, and loses nothing.
    let page = session.ask("tools/list", json!({"cursor": "of no list"}));
    assert_eq!(page["tools"].as_array().unwrap().len(), names.len());
}

#[test]
fn the_variable_chooses_the_profile() {
    for (profile, holds, lacks) in [("lean", "call_tool", "search_skills"), ("research", "search_skills", "call_tool")]
    {
        let (_sandbox, mut session) =
            session_with(&format!("lists-{profile}"), &[("EVOKORE_DISCOVERY_PROFILE", profile)]);
        let names = session.listed();
        assert!(names.iter().any(|name| name == holds) && !names.iter().any(|name| name == lacks), "{names:?}");
        assert!(names.iter().any(|name| name == "describe_tool"), "always visible: {names:?}");
    }
}

#[test]
fn an_unknown_profile_is_refused_and_only_warned_about_under_the_pin() {
    let mut sandbox = Sandbox::new("lists-unknown");
    sandbox.set("EVOKORE_DISCOVERY_PROFILE", "codign");
    let ran = sandbox.run(&["serve"]);
    assert_ne!(ran.code, 0);
    assert!(
        ran.stderr.contains("codign") && ran.stderr.contains("coding") && ran.stderr.contains("legacy-full"),
        "{ran:?}"
    );
    assert_eq!(ran.stdout, "");
    sandbox.set("EVOKORE_TOOL_DISCOVERY_MODE", "legacy");
    let mut session = Session::greeted(&sandbox);
    assert!(session.listed().len() >= 9);
    assert!(session.said().contains("codign"), "{}", session.said());
}

#[test]
fn deferred_schemas_are_placeholders_until_described() {
    let (_sandbox, mut session) = session_with("lists-deferred", &[("EVOKORE_TOOL_SCHEMA_MODE", "deferred")]);
    let list = session.ask("tools/list", json!({}));
    for tool in list["tools"].as_array().unwrap() {
        if tool["name"] == "describe_tool" {
            assert!(tool["inputSchema"]["properties"]["tools"].is_object(), "{tool}");
            continue;
        }
        let placeholder = json!({"type": "object", "properties": {}, "x-evokore-schema-deferred": true});
        assert_eq!(tool["inputSchema"], placeholder);
        assert_eq!(tool["_meta"]["schema_deferred"], true);
        assert!(tool["description"].is_string());
    }
    let told = session.call("describe_tool", json!({"tools": ["search_skills", "nobody"]}));
    assert_eq!(told["structuredContent"]["unknown"], json!(["nobody"]));
    assert!(told["structuredContent"]["schemas"][0]["inputSchema"]["properties"]["query"].is_object(), "{told}");
    assert_eq!(serde_json::from_str::<Value>(super::text(&told)).unwrap(), told["structuredContent"]);
}

#[test]
fn a_client_that_never_describes_gets_whole_schemas() {
    let (_sandbox, mut session) = session_with(
        "lists-probe",
        &[("EVOKORE_TOOL_SCHEMA_MODE", "deferred"), ("EVOKORE_TOOL_SCHEMA_FALLBACK_MS", "300")],
    );
    session.listed();
    let notes = session.told(CHANGED, BURST);
    assert_eq!(changes(&notes), 1, "{notes:?}");
    assert!(session.said().contains("describe_tool"), "{}", session.said());
    let list = session.ask("tools/list", json!({}));
    assert!(!list.to_string().contains("x-evokore-schema-deferred"));
}

#[test]
fn a_client_that_describes_keeps_its_placeholders() {
    let (_sandbox, mut session) = session_with(
        "lists-probe-passed",
        &[("EVOKORE_TOOL_SCHEMA_MODE", "deferred"), ("EVOKORE_TOOL_SCHEMA_FALLBACK_MS", "300")],
    );
    session.listed();
    session.call("describe_tool", json!({"tools": []}));
    assert_eq!(changes(&session.notes(Duration::from_millis(700))), 0);
    assert!(session.ask("tools/list", json!({})).to_string().contains("x-evokore-schema-deferred"));
}

/// A session whose child server is up, and whose list has settled.
pub(super) fn with_child(name: &str, variables: &[(&str, &str)], habits: &[&str]) -> Option<(Sandbox, Session)> {
    let mut sandbox = Sandbox::new(name);
    if !sandbox.with_fs_server_that(habits) {
        return None;
    }
    for (variable, value) in variables {
        sandbox.set(variable, value);
    }
    let mut session = Session::greeted(&sandbox);
    super::eventually("the child is up", || {
        let status = session.call("proxy_server_status", json!({"server_id": "fs"}));
        status["structuredContent"]["servers"][0]["status"] == "connected"
    });
    session.notes(BURST);
    Some((sandbox, session))
}

#[test]
fn found_tools_join_the_list_with_one_notification_a_burst() {
    let Some((_sandbox, mut session)) = with_child("lists-activate", &[], &["more"]) else { return };
    assert!(!session.listed().iter().any(|name| name.starts_with("fs_")));
    assert!(super::text(&session.call("fs_echo", json!({"a": 1}))).contains("\"a\": 1"), "hidden tools can be called");
    let ids = ["fs_echo", "fs_huge", "fs_about"].map(|name| {
        session.request("tools/call", json!({"name": "discover_tools", "arguments": {"query": name, "limit": 1}}))
    });
    for (id, name) in ids.into_iter().zip(["fs_echo", "fs_huge", "fs_about"]) {
        let found = session.answer_to(id)["result"]["structuredContent"].clone();
        assert_eq!((&found["matches"][0]["name"], &found["activated"]), (&json!(name), &json!(1)), "{found}");
        assert_eq!(found["matches"][0]["server"], "fs");
        assert_eq!(found["matches"][0]["listed"], true);
    }
    assert_eq!(changes(&session.told(CHANGED, BURST)), 1, "one for the burst");
    let listed = session.listed();
    let added: Vec<&str> = listed.iter().map(String::as_str).filter(|name| name.starts_with("fs_")).collect();
    assert_eq!(added, ["fs_about", "fs_echo", "fs_huge"]);
    session.call("discover_tools", json!({"query": "fs_echo", "limit": 1, "schemas": true}));
    assert_eq!(changes(&session.notes(BURST)), 0, "nothing new");
}

#[test]
fn a_stable_list_never_changes_and_its_tools_are_called_through_call_tool() {
    let Some((_sandbox, mut session)) = with_child("lists-stable", &[("EVOKORE_DISCOVERY_PROFILE", "lean")], &["more"])
    else {
        return;
    };
    let before = session.listed();
    let found = session.call("discover_tools", json!({"query": "fs_echo"}));
    assert_eq!(found["structuredContent"]["activated"], 0);
    for arguments in [json!({"name": "fs_echo", "arguments": {"path": "x"}}), json!({"name": "fs_echo", "path": "x"})] {
        let echo = session.call("call_tool", arguments.clone());
        assert_eq!(serde_json::from_str::<Value>(super::text(&echo)).unwrap(), json!({"path": "x"}), "{arguments}");
    }
    let unknown = session.call("call_tool", json!({"name": "fs_ehco"}));
    assert!(unknown["isError"] == true && super::text(&unknown).contains("did you mean `fs_echo`"), "{unknown}");
    assert_eq!(session.call("call_tool", json!({}))["isError"], true);
    assert_eq!(changes(&session.notes(BURST)), 0);
    assert_eq!(session.listed(), before);
}

#[test]
fn the_legacy_mode_lists_everything() {
    let Some((_sandbox, mut session)) =
        with_child("lists-legacy", &[("EVOKORE_TOOL_DISCOVERY_MODE", "legacy")], &["more"])
    else {
        return;
    };
    assert!(session.listed().iter().any(|name| name == "fs_echo"));
    // The child says fifty times that its list has changed.
    session.call("fs_grow", json!({}));
    let notes = session.told(CHANGED, BURST);
    assert!((1..=2).contains(&changes(&notes)), "{notes:?}");
    assert!(session.listed().iter().any(|name| name == "fs_grown0"));
}

#[test]
fn a_slow_child_joins_with_one_notification() {
    let mut sandbox = Sandbox::new("lists-late");
    let gate = sandbox.path("work/gate");
    if !sandbox.with_fs_server_that(&[&format!("late={}", gate.display())]) {
        return;
    }
    sandbox.set("EVOKORE_TOOL_DISCOVERY_MODE", "legacy");
    let mut session = Session::greeted(&sandbox);
    assert!(!session.listed().iter().any(|name| name == "fs_echo"));
    let found = session.call("discover_tools", json!({"query": "echo what I say"}));
    assert!(found["structuredContent"]["starting"].as_array().unwrap().contains(&json!("fs")), "{found}");
    assert!(super::text(&found).contains("Still starting: fs"), "{found}");
    std::fs::write(&gate, "").unwrap();
    session.wait_for_child();
    assert_eq!(changes(&session.told(CHANGED, BURST)), 1);
    assert!(session.listed().iter().any(|name| name == "fs_echo"));
}

#[test]
fn what_a_role_denies_is_not_there() {
    let Some((_sandbox, mut session)) =
        with_child("lists-denied", &[("EVOKORE_ROLE", "readonly"), ("EVOKORE_TOOL_DISCOVERY_MODE", "legacy")], &[])
    else {
        return;
    };
    // Not named by the role, which denies what it does not name; and a name that no tool has.
    let denied = session.answer("tools/call", json!({"name": "fs_echo", "arguments": {}}));
    let unknown = session.answer("tools/call", json!({"name": "fs_ehco", "arguments": {}}));
    assert_eq!(
        denied["error"].to_string().replace("fs_echo", "X"),
        unknown["error"].to_string().replace("fs_ehco", "X"),
        "a refusal does not reveal that there is such a tool"
    );
    assert!(!session.listed().iter().any(|name| name.starts_with("fs_")));
    let described = session.call("describe_tool", json!({"tools": ["fs_echo"]}));
    assert_eq!(described["structuredContent"]["unknown"], json!(["fs_echo"]));
    let found = session.call("discover_tools", json!({"query": "fs_echo"}));
    assert!(!found.to_string().contains("\"name\":\"fs_echo\""), "{found}");
}
