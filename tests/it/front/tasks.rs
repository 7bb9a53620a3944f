//! Calls that become tasks, of children and clients of both eras.

use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::asks::asked;
use super::{Sandbox, Session, Streams, eventually, hello, modern, text};

const STATUS: &str = "notifications/tasks/status";

/// A session whose children `fs` and `github` have these habits besides tasks; its client has shaken hands, and takes
/// elicitations.
fn with_tasks(name: &str, habits: &[&str], variables: &[(&str, &str)]) -> Option<(Sandbox, Session)> {
    let mut sandbox = Sandbox::new(name);
    if !sandbox.with_fs_server_that(&[&["tasks"], habits].concat()) {
        return None;
    }
    sandbox.set("GITHUB_PERSONAL_ACCESS_TOKEN", "x");
    variables.iter().for_each(|(name, value)| sandbox.set(name, value));
    let mut session = Session::start(&sandbox, Streams::Pipes);
    let mut params = hello("2025-11-25");
    params["capabilities"] = json!({"elicitation": {}});
    session.ask("initialize", params);
    session.notify("notifications/initialized", json!({}));
    Some((sandbox, session))
}

/// Calls a tool as a task, and gives back the answer's result.
fn start(session: &mut Session, tool: &str, arguments: Value) -> Value {
    session.ask("tools/call", json!({"name": tool, "arguments": arguments, "task": {"ttl": 1500.5, "odd": 1}}))
}

/// What child `id` was asked about tasks.
fn heard(session: &mut Session, id: &str) -> Value {
    session.call(&format!("{id}_tasks"), json!({}))["structuredContent"]["heard"].clone()
}

/// The messages besides answers so far that tell of a task.
fn news(session: &mut Session) -> Vec<(Value, Value)> {
    let notes = session.notes(Duration::ZERO).into_iter().filter(|note| note["method"] == STATUS);
    notes.map(|note| (note["params"]["taskId"].clone(), note["params"]["status"].clone())).collect()
}

/// `params` of a client of 2026-07-28 that takes tasks.
fn declaring(params: Value) -> Value {
    let mut params = modern(params);
    let declared = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = declared;
    params
}

#[test]
fn a_task_is_asked_after_where_it_was_made() {
    let Some((_sandbox, mut session)) = with_tasks("tasks-owner", &[], &[]) else { return };
    session.ask("ping", json!({}));
    for id in ["fs", "github"] {
        let made = start(&mut session, &format!("{id}_slow"), json!({"of": id}));
        let exposed = format!("{id}:1");
        let related = json!({"taskId": exposed, "odd": 1});
        let stamp = "2026-07-28T10:00:00Z";
        let expected = json!({
            "task": {
                "odd": [1.5, 9_007_199_254_740_993_u64], "taskId": exposed, "status": "working", "createdAt": stamp,
                "lastUpdatedAt": stamp, "ttl": 1500.5, "pollInterval": 100,
            },
            "_meta": {
                "io.modelcontextprotocol/model-immediate-response": "wait",
                "io.modelcontextprotocol/related-task": related,
            },
        });
        assert_eq!(made, expected);
        let is_early = |note: &Value| note["params"]["taskId"] == exposed.as_str();
        assert!(!session.notes.iter().any(is_early), "the client is told which task it is before it hears news of it");
        assert_eq!(session.ask("tasks/get", json!({"taskId": exposed})), expected["task"]);
    }
    // The child tells of it with its next breath; the client hears of it after the answer that names it.
    let told = [("fs:1", "working"), ("github:1", "working")].map(|(id, status)| (json!(id), json!(status)));
    assert_eq!(news(&mut session), told);

    let waiting = session.request("tasks/result", json!({"taskId": "fs:1"}));
    // Nothing waits behind it.
    session.call("github_finish", json!({"id": "1"}));
    session.call("fs_about", json!({}));
    session.call("fs_finish", json!({"id": "1"}));
    let result = session.answer_to(waiting)["result"].clone();
    assert_eq!(result["structuredContent"]["arguments"], json!({"of": "fs"}));
    assert_eq!(result["_meta"]["io.modelcontextprotocol/related-task"], json!({"taskId": "fs:1", "odd": 1}));
    let told = [("github:1", "completed"), ("fs:1", "completed")].map(|(id, status)| (json!(id), json!(status)));
    assert_eq!(news(&mut session), told);
    let result = session.ask("tasks/result", json!({"taskId": "github:1"}));
    assert_eq!(result["structuredContent"]["arguments"], json!({"of": "github"}));
    assert_eq!(heard(&mut session, "fs")[1], json!(["tasks/result", {"taskId": "1"}]));

    let refused = session.answer("tasks/cancel", json!({"taskId": "fs:1"}));
    assert_eq!(refused["error"], json!({"code": -32602, "message": "it is over"}));
    start(&mut session, "fs_slow", json!({}));
    let cancelled = session.ask("tasks/cancel", json!({"taskId": "fs:2"}));
    assert_eq!((&cancelled["taskId"], &cancelled["status"]), (&json!("fs:2"), &json!("cancelled")));
}

#[test]
fn progress_of_a_task_goes_on_under_the_client_s_token() {
    let Some((_sandbox, mut session)) = with_tasks("tasks-progress", &[], &[]) else { return };
    let call =
        json!({"name": "fs_slow", "arguments": {"progress": true}, "task": {}, "_meta": {"progressToken": "mine"}});
    session.ask("tools/call", call);
    session.call("fs_finish", json!({"id": "1"}));
    let notes = session.notes(Duration::ZERO);
    let told =
        |member: &str| -> Vec<Value> { notes.iter().filter_map(|note| note["params"].get(member)).cloned().collect() };
    let told = (told("progressToken"), told("status"));
    assert_eq!(told, (vec!["mine".into()], vec!["working".into(), "completed".into()]));
}

#[test]
fn a_request_for_a_result_can_be_given_up_and_others_are_answered() {
    let Some((_sandbox, mut session)) = with_tasks("tasks-patience", &[], &[]) else { return };
    start(&mut session, "fs_slow", json!({}));
    let (given_up, waits) = (
        session.request("tasks/result", json!({"taskId": "fs:1"})),
        session.request("tasks/result", json!({"taskId": "fs:1"})),
    );
    session.notify("notifications/cancelled", json!({"requestId": given_up}));
    session.call("fs_finish", json!({"id": "1"}));
    assert_eq!(session.answer_to(waits)["result"]["content"], json!([]));
    let notes = session.notes(Duration::ZERO);
    assert!(notes.iter().all(|note| note["id"] != given_up), "{notes:?}");
}

#[test]
fn what_is_nobody_s_task_is_refused() {
    let Some((_sandbox, mut session)) = with_tasks("tasks-unknown", &[], &[]) else { return };
    start(&mut session, "fs_slow", json!({}));
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        for id in ["1", "nobody:1", "evokore:1", ":1", "", "fs/1"] {
            let error = session.answer(method, json!({"taskId": id}))["error"].clone();
            assert_eq!(error, json!({"code": -32602, "message": format!("no task `{id}`")}), "{method}");
        }
        let error = session.answer(method, json!({"taskId": "github:1"}))["error"].clone();
        assert_eq!(error, json!({"code": -32602, "message": "never heard of it", "data": 1.5}), "as it came: {method}");
        for params in [json!({}), json!({"taskId": 1})] {
            assert_eq!(session.answer(method, params)["error"]["code"], -32602, "{method}");
        }
    }
    assert_eq!(session.answer("tasks/update", json!({"taskId": "fs:1"}))["error"]["code"], -32601);
}

#[test]
fn tasks_of_a_server_that_the_role_may_not_use_do_not_exist() {
    let variables = [("EVOKORE_ROLE", "readonly")];
    let Some((_sandbox, mut session)) = with_tasks("tasks-denied", &[], &variables) else { return };
    eventually("the server is up", || {
        let status = session.call("proxy_server_status", json!({"server_id": "fs"}));
        status["structuredContent"]["servers"][0]["status"] == "connected"
    });
    let error = session.answer("tools/call", json!({"name": "fs_slow", "arguments": {}, "task": {}}))["error"].clone();
    assert_eq!(error["code"], -32602, "{error}");
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        let error = session.answer(method, json!({"taskId": "fs:1"}))["error"].clone();
        assert_eq!(error, json!({"code": -32602, "message": "no task `fs:1`"}), "{method}");
    }
    assert_eq!(session.ask("tasks/list", json!({})), json!({"tasks": []}));
}

#[test]
fn a_question_of_a_task_reaches_the_client() {
    let Some((_sandbox, mut session)) = with_tasks("tasks-question", &[], &[]) else { return };
    start(&mut session, "fs_slow", json!({"ask": true}));
    let waiting = session.request("tasks/result", json!({"taskId": "fs:1"}));
    let question = asked(&mut session);
    let related = json!({"taskId": "fs:1", "odd": 1});
    assert_eq!(question["params"]["_meta"]["io.modelcontextprotocol/related-task"], related);
    // It belongs to the task: a call that begins and ends meanwhile takes nothing with it.
    session.call("fs_about", json!({}));
    let answer = json!({"action": "accept", "_meta": {"io.modelcontextprotocol/related-task": related, "b": 1.5}});
    session.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}));
    let result = session.answer_to(waiting)["result"].clone();
    let own = json!({"io.modelcontextprotocol/related-task": {"taskId": "1", "odd": 1}, "b": 1.5});
    assert_eq!(result["structuredContent"]["name"], json!({"action": "accept", "_meta": own}));
}

#[test]
fn the_list_holds_the_tasks_of_all_servers_that_are_up() {
    let Some((_sandbox, mut session)) = with_tasks("tasks-list", &[], &[]) else { return };
    for id in ["fs", "github"] {
        for _ in 0..2 {
            start(&mut session, &format!("{id}_slow"), json!({}));
        }
    }
    let ids = |list: &Value| -> Vec<Value> {
        list["tasks"].as_array().unwrap().iter().map(|task| task["taskId"].clone()).collect()
    };
    let first = session.ask("tasks/list", json!({}));
    assert_eq!(ids(&first), ["github:1", "fs:1"], "in configured order");
    assert_eq!(first["tasks"][0]["odd"], json!([1.5, 9_007_199_254_740_993_u64]));
    let second = session.ask("tasks/list", json!({"cursor": first["nextCursor"]}));
    assert_eq!((ids(&second), second.get("nextCursor")), (vec!["github:2".into(), "fs:2".into()], None));
    for cursor in [json!("1"), json!(1), json!(r#"[["fs","1"],["fs","1"]]"#)] {
        assert_eq!(session.answer("tasks/list", json!({"cursor": cursor}))["error"]["code"], -32602, "{cursor}");
    }

    let pid = session.call("github_about", json!({}))["structuredContent"]["pid"].to_string();
    assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    eventually("the list is without those of the server that went", || {
        ids(&session.ask("tasks/list", json!({}))) == ["fs:1"]
    });
    // It is started again, and says itself that it does not know them.
    eventually("the server is back", || {
        session.answer("tasks/get", json!({"taskId": "github:1"}))["error"]["message"] == "never heard of it"
    });
}

#[test]
fn a_client_that_does_not_ask_for_a_task_never_gets_one() {
    let Some((_sandbox, mut session)) = with_tasks("tasks-bridge", &[], &[]) else { return };
    assert_eq!(text(&session.call("fs_slow", json!({}))), "at once");
    for (tool, arguments) in [
        // Called as nothing else.
        ("fs_must", json!({"polls": 1})),
        // The child does it unasked.
        ("fs_slow", json!({"polls": 1, "unasked": true})),
        ("fs_must", json!({"polls": 1, "fails": true})),
        ("call_tool", json!({"name": "fs_must", "arguments": {"polls": 1}})),
    ] {
        for params in [json!({}), declaring(json!({})), modern(json!({}))] {
            let mut params = params;
            params["name"] = tool.into();
            params["arguments"] = arguments.clone();
            let result = session.ask("tools/call", params);
            assert_eq!(result["structuredContent"]["arguments"]["polls"], 1, "{tool}: {result}");
            assert_eq!(result["isError"], arguments["fails"] == true);
            assert_eq!(result.get("_meta"), None, "nothing tells of a task");
        }
    }
    let id = session.request("tools/call", json!({"name": "fs_must", "arguments": {"ask": true}}));
    let question = asked(&mut session);
    session.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}}));
    assert_eq!(session.answer_to(id)["result"]["structuredContent"]["name"], json!({"action": "decline"}));

    let id = session.request("tools/call", json!({"name": "fs_must", "arguments": {}}));
    let asked_for = |heard: &Value, method: &str| heard.as_array().unwrap().iter().any(|one| one[0] == method);
    eventually("the result is waited for", || {
        heard(&mut session, "fs").as_array().unwrap().iter().filter(|one| one[0] == "tasks/result").count() == 14
    });
    assert!(!asked_for(&heard(&mut session, "fs"), "tasks/cancel"));
    session.notify("notifications/cancelled", json!({"requestId": id}));
    eventually("the task is given up", || asked_for(&heard(&mut session, "fs"), "tasks/cancel"));
    assert_eq!(news(&mut session), []);
}

#[test]
fn tasks_of_2026_07_28_go_to_their_owner() {
    let Some((_sandbox, mut session)) = with_tasks("tasks-modern", &["modern"], &[]) else { return };
    let discovered = session.ask("server/discover", declaring(json!({})));
    assert_eq!(discovered["capabilities"]["extensions"], json!({"io.modelcontextprotocol/tasks": {}}));
    for id in ["fs", "github"] {
        let call = json!({"name": format!("{id}_slow"), "arguments": {"polls": 4, "ask": true}});
        let made = session.ask("tools/call", declaring(call));
        let exposed = format!("{id}:1");
        assert_eq!(made["odd"], json!([1.5, 9_007_199_254_740_993_u64]));
        assert_eq!((&made["resultType"], &made["taskId"]), (&json!("task"), &json!(exposed)));
        let refused = session.answer("tasks/get", declaring(json!({"taskId": exposed})))["error"].clone();
        let needed = json!({"elicitation": {"form": {}}});
        assert_eq!((&refused["code"], &refused["data"]["requiredCapabilities"]), (&json!(-32021), &needed));
        let mut asking = declaring(json!({"taskId": exposed}));
        asking["_meta"]["io.modelcontextprotocol/clientCapabilities"]["elicitation"] = json!({});
        let needs = session.ask("tasks/get", asking);
        assert_eq!((&needs["status"], &needs["taskId"]), (&json!("input_required"), &json!(exposed)));
        assert_eq!(needs["inputRequests"]["name"]["method"], "elicitation/create");
        let answers = json!({"name": {"action": "accept", "content": {"n": 1.5}}});
        let told = session.ask("tasks/update", declaring(json!({"taskId": exposed, "inputResponses": answers})));
        assert_eq!(told, json!({"resultType": "complete"}));
        assert_eq!(session.ask("tasks/get", declaring(json!({"taskId": exposed})))["status"], "working");
        let done = session.ask("tasks/get", declaring(json!({"taskId": exposed})));
        assert_eq!((&done["resultType"], &done["taskId"]), (&json!("complete"), &json!(exposed)));
        assert_eq!(done["result"]["structuredContent"]["name"], answers["name"]);
        let cancelled = session.ask("tasks/cancel", declaring(json!({"taskId": exposed})));
        assert_eq!(cancelled, json!({"resultType": "complete"}));
    }
    for (method, code) in [("tasks/list", -32601), ("tasks/result", -32601), ("tasks/get", -32602)] {
        let error = session.answer(method, declaring(json!({"taskId": "fs:9"})))["error"].clone();
        assert_eq!(error["code"], code, "{method}: {error}");
    }
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let error = session.answer(method, modern(json!({"taskId": "fs:1"})))["error"].clone();
        let needed = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
        assert_eq!((&error["code"], &error["data"]["requiredCapabilities"]), (&json!(-32021), &needed), "{method}");
    }
    let filter = json!({"notifications": {"taskIds": ["fs:1"]}});
    assert_eq!(session.answer("subscriptions/listen", modern(filter.clone()))["error"]["code"], -32021);
    // Who may ask for news is told that there are none.
    session.request("subscriptions/listen", declaring(filter));
    let told = session.next(super::LONG).unwrap();
    assert_eq!(told["params"]["notifications"], json!({}), "{told}");
}

#[test]
fn a_person_approves_the_call_that_makes_a_task() {
    let variables = [("EVOKORE_ROLE", "developer")];
    let Some((_sandbox, mut session)) = with_tasks("tasks-approved", &[], &variables) else { return };
    let id = session.request("tools/call", json!({"name": "fs_slow", "arguments": {}, "task": {}}));
    let question = asked(&mut session);
    let answer = json!({"action": "accept", "content": {"answer": "Allow once"}});
    session.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}));
    let made = session.answer_to(id)["result"].clone();
    assert_eq!(made["task"]["taskId"], "fs:1", "{made}");
    assert_eq!(session.ask("tasks/get", json!({"taskId": "fs:1"}))["status"], "working");
}

#[test]
fn tasks_of_2026_07_28_are_seen_to_their_end_for_those_who_take_none() {
    let Some((_sandbox, mut session)) = with_tasks("tasks-modern-bridge", &["modern"], &[]) else { return };
    assert_eq!(text(&session.call("fs_slow", json!({}))), "at once", "the child is not told of tasks");
    for (tool, unasked) in [("fs_must", false), ("fs_slow", true)] {
        for call in [json!({}), json!({"task": {}}), modern(json!({}))] {
            let mut call = call;
            call["name"] = tool.into();
            call["arguments"] = json!({"polls": 2, "unasked": unasked});
            let result = session.ask("tools/call", call);
            assert_eq!(result["structuredContent"]["arguments"]["polls"], 2, "{tool}: {result}");
        }
    }
    let ask = json!({"name": "fs_must", "arguments": {"polls": 3, "ask": true}});
    let id = session.request("tools/call", ask.clone());
    let question = asked(&mut session);
    session.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}}));
    let result = session.answer_to(id)["result"].clone();
    assert_eq!((&result["structuredContent"]["name"]["action"], result.get("resultType")), (&json!("decline"), None));
    let nobody = session.ask("tools/call", modern(ask));
    assert!(nobody["isError"] == true && text(&nobody).contains("nobody who takes requests"), "{nobody}");
    eventually("the task that asks in vain is given up", || {
        heard(&mut session, "fs").as_array().unwrap().iter().any(|one| one[0] == "tasks/cancel")
    });
    // Of the other revision's tasks one cannot be told.
    let refused = session.answer("tasks/get", json!({"taskId": "fs:1"}))["error"].clone();
    assert_eq!(refused["code"], -32602);
    assert!(refused["message"].as_str().unwrap().contains("2026-07-28, and you"), "{refused}");
    assert_eq!(session.ask("tasks/list", json!({})), json!({"tasks": []}));
}

#[test]
fn a_client_of_2026_07_28_is_not_told_of_tasks_of_the_handshake_era() {
    let Some((_sandbox, mut session)) = with_tasks("tasks-eras", &[], &[]) else { return };
    start(&mut session, "fs_slow", json!({}));
    let refused = session.answer("tasks/get", declaring(json!({"taskId": "fs:1"})))["error"].clone();
    assert_eq!(refused["code"], -32602);
    assert!(refused["message"].as_str().unwrap().contains("2025-11-25, and you"), "{refused}");
    assert_eq!(text(&session.ask("tools/call", declaring(json!({"name": "fs_slow"})))), "at once");
}
