//! What child servers offer besides tools, as a client asks for it.

use std::time::Duration;

use serde_json::{Value, json};

use super::lists::with_child;
use super::{Sandbox, Session, eventually, modern};

/// Longer than two windows: the child's lists are read again, and the client is told.
const SETTLED: Duration = Duration::from_millis(1200);

const OWN_PROMPTS: usize = 3;

/// A session whose child `fs` has a library that has been read, after its client has listed everything.
fn with_library(name: &str, variables: &[(&str, &str)]) -> Option<(Sandbox, Session)> {
    let (sandbox, mut session) = with_child(name, variables, &["library"])?;
    eventually("the library is read", || !seen(&mut session, "prompts/list").is_null());
    session.notes(SETTLED);
    Some((sandbox, session))
}

/// What the child has been asked by this method: how often, and the parameters of the last time.
fn seen(session: &mut Session, method: &str) -> Value {
    session.call("fs_seen", json!({}))["structuredContent"][method].clone()
}

fn of_the_child(list: &Value, member: &str) -> Vec<Value> {
    let entries = list[member].as_array().unwrap();
    let key = if member == "resourceTemplates" { "uriTemplate" } else { "uri" };
    let is_own = |entry: &&Value| {
        let address = entry[key].as_str().unwrap();
        address.starts_with("skill://") || (address.starts_with("evokore://") && !address.contains("/child/"))
    };
    let own = entries.iter().take_while(is_own).count();
    assert!(own > 0 && !entries[own..].iter().any(|entry| is_own(&entry)), "our own come first");
    entries[own..].to_vec()
}

/// The parameters as both eras write them.
fn both(params: Value) -> [Value; 2] {
    [params.clone(), modern(params)]
}

#[test]
fn lists_hold_the_child_s_entries_behind_our_own() {
    let Some((_sandbox, mut session)) = with_library("offers-lists", &[]) else { return };
    for params in both(json!({})) {
        let is_modern = params.get("_meta").is_some();
        let list = session.ask("resources/list", params.clone());
        assert_eq!((list["resultType"].is_string(), list["ttlMs"].is_u64()), (is_modern, is_modern));
        let expected = json!([
            {"uri": "evokore://child/fs/note://a", "name": "A", "odd": {"b": 1, "a": [9_007_199_254_740_993_u64]}},
            {"uri": "evokore://child/fs/file:///x y/ü.txt", "name": "file:///x y/ü.txt"},
            {"uri": "ui://panel/main", "name": "panel", "mimeType": "text/html;profile=mcp-app"},
        ]);
        assert_eq!(json!(of_the_child(&list, "resources")), expected);
        let list = session.ask("resources/templates/list", params.clone());
        let expected = json!([{"uriTemplate": "evokore://child/fs/note://by/{id}{?q}", "name": "by id", "odd": null}]);
        assert_eq!(json!(of_the_child(&list, "resourceTemplates")), expected);
        let list = session.ask("prompts/list", params);
        let prompts = &list["prompts"].as_array().unwrap()[OWN_PROMPTS..];
        let greet = json!({"name": "fs_greet", "arguments": [{"name": "who", "required": true}], "odd": true});
        assert_eq!((prompts.len(), &prompts[0]), (2, &greet));
        assert!(prompts[1]["name"].as_str().unwrap().starts_with("fs_two_words_"), "{list}");
    }
    let status = session.call("proxy_server_status", json!({"server_id": "fs"}));
    let status = &status["structuredContent"]["servers"][0];
    let counts = ["resourceCount", "resourceTemplateCount", "promptCount"].map(|key| status[key].as_u64());
    assert_eq!(counts, [Some(3), Some(1), Some(2)], "{status}");
    let overview = session.ask("resources/read", json!({"uri": "evokore://server/status"}));
    let overview: Value = serde_json::from_str(overview["contents"][0]["text"].as_str().unwrap()).unwrap();
    let fs = overview["childServers"].as_array().unwrap().iter().find(|server| server["id"] == "fs").unwrap();
    assert_eq!((&fs["resourceCount"], &fs["promptCount"]), (&json!(3), &json!(2)), "{fs}");
    let notes = status["notes"].to_string();
    assert!(notes.contains("`entry 2` is left out: it has no uri") && notes.contains("without its `name`"), "{notes}");
    assert_eq!(session.notes(Duration::from_millis(300)), Vec::<Value>::new(), "a listing causes no notification");
}

#[test]
fn reading_finds_the_child_by_either_address() {
    let Some((_sandbox, mut session)) = with_library("offers-read", &[]) else { return };
    for (asked, own) in [
        ("evokore://child/fs/note://a", "note://a"),
        ("note://a", "note://a"),
        ("ui://panel/main", "ui://panel/main"),
        ("evokore://child/fs/ui://panel/main", "ui://panel/main"),
        ("evokore://child/fs/note://by/7?q=1", "note://by/7?q=1"),
        ("note://by/7", "note://by/7"),
        ("evokore://child/fs/file:///x y/ü.txt", "file:///x y/ü.txt"),
        ("evokore://child/fs/note://unlisted", "note://unlisted"),
    ] {
        for params in both(json!({"uri": asked, "further": [1]})) {
            let read = session.ask("resources/read", params);
            assert_eq!(
                (&read["contents"][0]["uri"], &read["contents"][0]["odd"]),
                (&json!(asked), &json!(1)),
                "{read}"
            );
            assert_eq!(read["contents"][1], json!({"uri": format!("{own}/part"), "text": own}));
            let params = &read["odd"]["params"];
            assert_eq!((&params["uri"], &params["further"]), (&json!(own), &json!([1])), "{params}");
        }
    }
    for (asked, codes) in [
        ("note://nowhere", [-32002, -32602]),
        ("evokore://child/nobody/note://a", [-32002, -32602]),
        // The child's own error, as it came and as the newer revision numbers it.
        ("evokore://child/fs/note://gone", [-32002, -32602]),
    ] {
        for (params, code) in both(json!({ "uri": asked })).into_iter().zip(codes) {
            let error = session.answer("resources/read", params)["error"].clone();
            assert_eq!(error["code"], code, "{asked}: {error}");
        }
    }
    for params in [json!({}), json!({"uri": 5})] {
        assert_eq!(session.answer("resources/read", params)["error"]["code"], -32602);
    }
}

#[test]
fn prompts_and_completions_are_the_child_s() {
    let Some((_sandbox, mut session)) = with_library("offers-prompts", &[]) else { return };
    for params in both(json!({"name": "fs_greet", "arguments": {"who": "you"}})) {
        let given = session.ask("prompts/get", params);
        assert_eq!((&given["messages"][0]["content"]["text"], &given["odd"]), (&json!("hello you"), &json!(1)));
    }
    let two_words = session.ask("prompts/list", json!({}))["prompts"][OWN_PROMPTS + 1]["name"].clone();
    let refused = session.answer("prompts/get", json!({ "name": two_words }));
    assert_eq!(refused["error"], json!({"code": -32602, "message": "not now"}));
    let unknown = session.answer("prompts/get", json!({"name": "fs_nothing"}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    for (reference, own) in [
        (json!({"type": "ref/prompt", "name": "fs_greet", "title": "t"}), "greet"),
        (json!({"type": "ref/resource", "uri": "evokore://child/fs/note://by/{id}{?q}"}), "note://by/{id}{?q}"),
        (json!({"type": "ref/resource", "uri": "note://by/{id}{?q}"}), "note://by/{id}{?q}"),
    ] {
        for params in both(json!({"ref": reference, "argument": {"name": "id", "value": "a"}})) {
            let complete = session.ask("completion/complete", params);
            let values = &complete["completion"]["values"];
            assert_eq!((&values[1], &complete["odd"]), (&json!("a!"), &json!(1)), "{complete}");
            let mut expected = reference.clone();
            let key = if expected.get("name").is_some() { "name" } else { "uri" };
            expected[key] = own.into();
            assert_eq!(serde_json::from_str::<Value>(values[0].as_str().unwrap()).unwrap(), expected);
        }
    }
    let nobody = json!({"ref": {"type": "ref/prompt", "name": "nobody"}, "argument": {"name": "x", "value": ""}});
    assert_eq!(session.ask("completion/complete", nobody)["completion"]["values"], json!([]));
    assert_eq!(session.answer("completion/complete", json!({}))["error"]["code"], -32602);
}

#[test]
fn a_storm_of_changes_is_told_of_once_or_twice() {
    let Some((_sandbox, mut session)) = with_library("offers-storm", &[]) else { return };
    let before: Vec<u64> = asked(&mut session);
    session.call("fs_publish", json!({}));
    let notes = session.told("notifications/prompts/list_changed", SETTLED);
    for list in ["resources", "prompts"] {
        let method = format!("notifications/{list}/list_changed");
        let told = notes.iter().filter(|note| note["method"] == method).count();
        assert!((1..=2).contains(&told), "{list}: {notes:?}");
    }
    assert!(notes.iter().all(|note| note["method"] != "notifications/tools/list_changed"), "{notes:?}");
    let after = asked(&mut session);
    for (before, after) in before.iter().zip(&after) {
        // The list of resources has two pages.
        assert!((1..=4).contains(&(after - before)), "{before} to {after}");
    }
    let list = session.ask("resources/list", json!({}));
    assert!(list.to_string().contains("evokore://child/fs/note://new/p0"), "{list}");
    assert!(session.ask("prompts/list", json!({})).to_string().contains("\"fs_p0\""));
    assert_eq!(session.notes(SETTLED), Vec::<Value>::new());
}

/// How often each list has been asked for.
fn asked(session: &mut Session) -> Vec<u64> {
    ["resources/list", "prompts/list", "tools/list"].map(|list| seen(session, list)["times"].as_u64().unwrap())[..2]
        .to_vec()
}

#[test]
fn updates_reach_those_who_subscribed_under_their_address() {
    let Some((_sandbox, mut session)) = with_library("offers-updates", &[]) else { return };
    let exposed = "evokore://child/fs/note://a";
    let touch = |session: &mut Session, uri: &str, expected: &[&str]| {
        session.call("fs_touch", json!({ "uri": uri }));
        let mut notes = Vec::new();
        if !expected.is_empty() {
            notes = session.told("notifications/resources/updated", Duration::from_millis(200));
        }
        notes.extend(session.notes(Duration::from_millis(300)));
        let updates = notes.iter().filter(|note| note["method"] == "notifications/resources/updated");
        let mut told: Vec<&str> = updates.map(|note| note["params"]["uri"].as_str().unwrap()).collect();
        told.sort_unstable();
        told.dedup();
        assert_eq!(told, expected, "{uri}");
    };
    touch(&mut session, "note://a", &[]);
    assert_eq!(session.ask("resources/subscribe", json!({ "uri": exposed })), json!({}));
    assert_eq!(seen(&mut session, "resources/subscribe")["params"]["uri"], "note://a");
    touch(&mut session, "note://a", &[exposed]);
    touch(&mut session, "note://a/part", &[&format!("{exposed}/part")]);
    touch(&mut session, "note://ab", &[]);
    session.ask("resources/subscribe", json!({"uri": "note://a"}));
    touch(&mut session, "note://a", &[exposed, "note://a"]);
    session.ask("resources/unsubscribe", json!({ "uri": exposed }));
    assert_eq!(seen(&mut session, "resources/unsubscribe"), Value::Null, "one is left");
    touch(&mut session, "note://a", &["note://a"]);
    session.ask("resources/unsubscribe", json!({"uri": "note://a"}));
    assert_eq!(seen(&mut session, "resources/unsubscribe")["times"], 1);
    touch(&mut session, "note://a", &[]);
    assert_eq!(session.answer("resources/subscribe", json!({"uri": "no://thing"}))["error"]["code"], -32002);
    assert_eq!(session.ask("resources/subscribe", json!({"uri": "evokore://server/status"})), json!({}));
    assert_eq!(session.answer("resources/subscribe", modern(json!({ "uri": exposed })))["error"]["code"], -32601);

    let filter = json!({"notifications": {"resourceSubscriptions": [exposed, "no://thing"]}});
    let id = session.request("subscriptions/listen", modern(filter));
    eventually("the child hears of it", || seen(&mut session, "resources/subscribe")["times"] == 3);
    session.notes(Duration::ZERO);
    session.call("fs_touch", json!({"uri": "note://a"}));
    let notes = session.told("notifications/resources/updated", Duration::from_millis(200));
    for note in &notes {
        assert_eq!(note["params"]["uri"], exposed, "{note}");
        assert_eq!(note["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id, "{note}");
    }
    session.notify("notifications/cancelled", json!({ "requestId": id }));
    eventually("the child hears of the end", || seen(&mut session, "resources/unsubscribe")["times"] == 2);
}

#[test]
fn what_a_role_may_use_no_tool_of_is_not_there() {
    let variables = [("EVOKORE_ROLE", "readonly")];
    let Some((_sandbox, mut session)) = with_child("offers-denied", &variables, &["library"]) else { return };
    session.notes(SETTLED);
    for (method, member) in [
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
        ("prompts/list", "prompts"),
    ] {
        let list = session.ask(method, json!({}));
        assert!(!list[member].as_array().unwrap().is_empty());
        assert!(!list.to_string().contains("note://") && !list.to_string().contains("fs_"), "{list}");
    }
    let refusal = |session: &mut Session, uri: &str| {
        session.answer("resources/read", json!({ "uri": uri }))["error"].to_string().replace(uri, "X")
    };
    let unknown = refusal(&mut session, "note://nowhere");
    for uri in ["note://a", "ui://panel/main", "evokore://child/fs/note://a"] {
        assert_eq!(refusal(&mut session, uri), unknown, "{uri}");
    }
    assert_eq!(session.answer("prompts/get", json!({"name": "fs_greet"}))["error"]["code"], -32602);
    assert_eq!(session.notes(Duration::from_millis(300)), Vec::<Value>::new());
}

#[test]
fn a_server_without_a_library_is_asked_for_none() {
    let Some((_sandbox, mut session)) = with_child("offers-none", &[], &["more"]) else { return };
    let error = session.answer("resources/read", json!({"uri": "evokore://child/fs/note://a"}))["error"].clone();
    assert_eq!(error["code"], -32002, "{error}");
    let error = session.answer("resources/subscribe", json!({"uri": "evokore://child/fs/note://a"}))["error"].clone();
    assert_eq!(error["message"], "child server `fs` offers no subscriptions");
    assert_eq!(session.ask("prompts/list", json!({}))["prompts"].as_array().unwrap().len(), OWN_PROMPTS);
    let status = session.call("proxy_server_status", json!({"server_id": "fs"}));
    assert_eq!(status["structuredContent"]["servers"][0].get("resourceCount"), None, "{status}");
}

#[test]
fn a_server_that_is_down_keeps_its_list_and_answers_with_its_name() {
    let mut sandbox = Sandbox::new("offers-down");
    if !sandbox.with_fs_server_that(&["library", "crash", "once"]) {
        return;
    }
    let state = sandbox.path("work/state").display().to_string();
    let script = sandbox.read("bin/npx").replace("exec ", &format!("export STATE='{state}'\nexec "));
    sandbox.write("bin/npx", script);
    let mut session = Session::greeted(&sandbox);
    eventually("the library is there", || session.ask("resources/list", json!({})).to_string().contains("note://a"));
    session.ask("resources/subscribe", json!({"uri": "note://a"}));
    assert_eq!(session.call("fs_about", json!({}))["isError"], true);
    assert!(session.ask("resources/list", json!({})).to_string().contains("note://a"), "while it is down");
    eventually("it is back", || session.answer("resources/read", json!({"uri": "note://a"})).get("result").is_some());
    eventually("it is subscribed to again", || seen(&mut session, "resources/subscribe")["times"] == 1);
}
