//! Revisions of the protocol: the handshake, revision 2026-07-28, and both on one pair of streams.

use serde_json::{Value, json};

use super::{Sandbox, Session, Streams, hello, modern};

#[test]
fn every_version_is_negotiated_over_pipes_and_sockets() {
    let sandbox = Sandbox::new("eras-versions");
    for (asked, agreed) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        for streams in [Streams::Pipes, Streams::Sockets] {
            let mut session = Session::start(&sandbox, streams);
            let result = session.ask("initialize", hello(asked));
            assert_eq!(result["protocolVersion"], agreed, "{asked} over {streams:?}");
            assert_eq!(result["serverInfo"]["name"], "evokore");
            session.notify("notifications/initialized", json!({}));
            assert_eq!(session.ask("ping", json!({})), json!({}));
            assert!(session.listed().contains(&"discover_tools".to_owned()));
            session.close();
        }
    }
}

#[test]
fn a_modern_client_needs_no_handshake() {
    let sandbox = Sandbox::new("eras-modern");
    let mut session = Session::start(&sandbox, Streams::Sockets);
    let result = session.ask("server/discover", modern(json!({})));
    assert!(result["supportedVersions"].as_array().unwrap().contains(&"2026-07-28".into()));
    assert_eq!(result["resultType"], "complete");
    let list = session.ask("tools/list", modern(json!({})));
    assert_eq!(list["resultType"], "complete");
    assert!(list["ttlMs"].is_u64() && list["cacheScope"].is_string(), "{list}");
    let call = modern(json!({"name": "search_skills", "arguments": {"query": "review"}}));
    assert_eq!(session.ask("tools/call", call)["resultType"], "complete");
    let resources = session.ask("resources/list", modern(json!({})));
    assert_eq!(resources["resultType"], "complete");
}

#[test]
fn the_eras_share_a_pipe_in_any_order() {
    let sandbox = Sandbox::new("eras-mixed");
    let mut session = Session::start(&sandbox, Streams::Pipes);
    session.ask("server/discover", modern(json!({})));
    session.greet();
    session.ask("resources/list", json!({}));
    session.ask("prompts/list", modern(json!({})));
    let plain = session.ask("tools/list", json!({}));
    assert_eq!(plain.get("resultType"), None, "a handshake-era answer has no modern members");
    assert_eq!(session.ask("tools/list", modern(json!({})))["tools"], plain["tools"]);
    session.greet();
}

#[test]
fn requests_and_notifications_before_a_handshake_are_answered_or_dropped() {
    let sandbox = Sandbox::new("eras-early");
    let mut session = Session::start(&sandbox, Streams::Pipes);
    session.notify("notifications/initialized", json!({}));
    session.notify("notifications/cancelled", json!({"requestId": 5}));
    session.notify("notifications/of_no_kind", json!({}));
    assert!(!session.listed().is_empty());
    assert!(session.answer("no/such", json!({}))["error"]["code"] == -32601);
    session.ask("resources/list", json!({}));
    session.greet();
    session.ask("prompts/list", json!({}));
}

#[test]
fn unspoken_revisions_and_incomplete_metadata_are_refused_with_what_is_spoken() {
    let sandbox = Sandbox::new("eras-refused");
    let mut session = Session::start(&sandbox, Streams::Pipes);
    for method in ["server/discover", "tools/list", "tools/call", "resources/list"] {
        let mut params = modern(json!({"name": "search_skills"}));
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2031-01-01".into();
        let error = session.answer(method, params)["error"].clone();
        assert_eq!(error["code"], -32022, "{method}: {error}");
        assert!(error["data"]["supported"].as_array().is_some_and(|spoken| spoken.len() == 5), "{method}: {error}");
        let mut params = modern(json!({"name": "search_skills"}));
        params["_meta"].as_object_mut().unwrap().remove("io.modelcontextprotocol/clientCapabilities");
        let error = session.answer(method, params)["error"].clone();
        assert_eq!(error["code"], -32602, "{method}: {error}");
    }
    for params in [Value::Null, json!([]), json!({}), json!({"protocolVersion": 5})] {
        assert!(session.answer("initialize", params)["error"]["code"].is_i64());
    }
    session.greet();
}

#[test]
fn a_subscription_hears_of_changes_and_ends_with_an_answer() {
    let mut sandbox = Sandbox::new("eras-subscription");
    if !sandbox.with_fs_server_that(&["more"]) {
        return;
    }
    sandbox.set("EVOKORE_TOOL_DISCOVERY_MODE", "legacy");
    let mut session = Session::start(&sandbox, Streams::Pipes);
    let id = session.request("subscriptions/listen", modern(json!({"notifications": {"toolsListChanged": true}})));
    super::eventually("the list has the child's tools", || {
        let list = session.ask("tools/list", modern(json!({})));
        list["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "fs_echo")
    });
    let notes = session.told("notifications/tools/list_changed", std::time::Duration::from_millis(600));
    let methods: Vec<&str> = notes.iter().map(|note| note["method"].as_str().unwrap()).collect();
    assert_eq!(methods, ["notifications/subscriptions/acknowledged", "notifications/tools/list_changed"], "{notes:?}");
    assert!(notes.iter().all(|note| note["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == id));
    let (rest, _) = session.close();
    assert!(
        rest.iter().any(|message| message["id"] == id && message["result"]["resultType"] == "complete"),
        "{rest:?}"
    );
}
