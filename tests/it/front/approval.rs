//! A call that a person must agree to, from the refusal to the answer.

use serde_json::{Value, json};

use super::asks::asked;
use super::lists::with_child;
use super::{Sandbox, Session, Streams, eventually, hello, modern, text};

fn session(name: &str) -> Option<(Sandbox, Session)> {
    with_child(name, &[("EVOKORE_ROLE", "developer")], &["more"])
}

/// What a refusal says: the number for the person, the token for the caller.
pub(super) fn handed_out(refusal: &Value) -> (String, String) {
    assert_eq!(refusal["isError"], true, "{refusal}");
    let after = |start: &str, end: char| {
        let (_, rest) = text(refusal).split_once(start).unwrap_or_else(|| panic!("{refusal}"));
        rest.split(end).next().unwrap().to_owned()
    };
    (after("approvals approve ", '`'), after("\"_evokore_approval_token\": \"", '"'))
}

#[test]
fn an_approval_is_good_for_one_call_with_these_arguments() {
    let Some((sandbox, mut session)) = session("approval-once") else { return };
    let (id, token) = handed_out(&session.call("fs_echo", json!({"a": 1, "b": [2]})));
    let agreed = json!({"b": [2], "_evokore_approval_token": token, "a": 1});
    let early = session.call("fs_echo", agreed.clone());
    assert!(early["isError"] == true && text(&early).contains("nobody has approved"), "{early}");
    sandbox.run(&["approvals", "approve", &id]).content();
    let other = session.call("fs_echo", json!({"a": 2, "b": [2], "_evokore_approval_token": token}));
    assert!(other["isError"] == true && text(&other).contains("not valid"), "{other}");
    let echo = session.call("fs_echo", agreed.clone());
    assert_eq!(serde_json::from_str::<Value>(text(&echo)).unwrap(), json!({"a": 1, "b": [2]}), "without the token");
    let again = session.call("fs_echo", agreed);
    assert!(again["isError"] == true && text(&again).contains("not valid"), "{again}");
}

#[test]
fn a_way_around_asks_the_same_question() {
    let Some((sandbox, mut session)) = session("approval-through") else { return };
    for arguments in [json!({"name": "fs_echo", "arguments": {"a": 1}}), json!({"name": "fs_echo", "a": 1})] {
        let (id, token) = handed_out(&session.call("call_tool", arguments.clone()));
        sandbox.run(&["approvals", "approve", &id]).content();
        let mut agreed = arguments;
        let place = if agreed["arguments"].is_object() { &mut agreed["arguments"] } else { &mut agreed };
        place["_evokore_approval_token"] = token.into();
        assert_eq!(text(&session.call("call_tool", agreed)), "{\"a\": 1}");
    }
    // Beside `arguments` it is one, too.
    let (id, token) = handed_out(&session.call("call_tool", json!({"name": "fs_echo", "arguments": {"a": 1}})));
    sandbox.run(&["approvals", "approve", &id]).content();
    let beside = json!({"name": "fs_echo", "arguments": {"a": 1}, "_evokore_approval_token": token});
    assert_eq!(text(&session.call("call_tool", beside)), "{\"a\": 1}");
    // A client program may keep the token away from the arguments.
    let (id, token) = handed_out(&session.call("fs_echo", json!({"a": 1})));
    sandbox.run(&["approvals", "approve", &id]).content();
    let beside = json!({"name": "fs_echo", "arguments": {"a": 1}, "_meta": {"_evokore_approval_token": token}});
    assert_eq!(text(&session.ask("tools/call", beside.clone())), "{\"a\": 1}");
    assert_eq!(session.ask("tools/call", beside)["isError"], true);
}

#[test]
fn a_denial_is_final() {
    let Some((sandbox, mut session)) = session("approval-denied") else { return };
    let (id, token) = handed_out(&session.call("fs_echo", json!({})));
    sandbox.run(&["approvals", "deny", &id]).content();
    let denied = session.call("fs_echo", json!({"_evokore_approval_token": token}));
    assert!(denied["isError"] == true && text(&denied).contains("has denied"), "{denied}");
    assert_eq!(sandbox.run(&["approvals"]).content(), "nothing waits for approval\n");
}

#[test]
fn a_call_that_rests_spends_no_approval() {
    let Some((sandbox, mut session)) = with_child("approval-rest", &[("EVOKORE_ROLE", "developer")], &["crash"]) else {
        return;
    };
    let agree = |session: &mut Session| {
        let (id, token) = handed_out(&session.call("fs_echo", json!({})));
        sandbox.run(&["approvals", "approve", &id]).content();
        json!({ "_evokore_approval_token": token })
    };
    let (first, second) = (agree(&mut session), agree(&mut session));
    let failed = session.call("fs_echo", first);
    assert!(text(&failed).contains("exited with code 3"), "{failed}");
    for _ in 0..2 {
        let resting = session.call("fs_echo", second.clone());
        assert!(text(&resting).starts_with("[EVOKORE COOLDOWN]"), "{resting}");
    }
}

/// A client that can ask its person, with the child that the role may call only with approval.
fn with_person(name: &str) -> Option<(Sandbox, Session)> {
    let mut sandbox = Sandbox::new(name);
    if !sandbox.with_fs_server_that(&["more"]) {
        return None;
    }
    sandbox.set("EVOKORE_ROLE", "developer");
    let mut session = Session::start(&sandbox, Streams::Pipes);
    let mut params = hello("2025-11-25");
    params["capabilities"] = json!({"elicitation": {}});
    session.ask("initialize", params);
    session.notify("notifications/initialized", json!({}));
    Some((sandbox, session))
}

/// Calls, has the person say `answer` to what they are asked, and gives back the result and the question.
fn with_answer(session: &mut Session, arguments: &Value, answer: &Value) -> (Value, Value) {
    let id = session.request("tools/call", json!({"name": "fs_echo", "arguments": arguments}));
    let question = asked(session);
    assert_eq!(question["method"], "elicitation/create");
    session.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}));
    (session.answer_to(id)["result"].clone(), question["params"].clone())
}

fn choosing(words: &str) -> Value {
    json!({"action": "accept", "content": {"answer": words}})
}

#[test]
fn the_person_at_the_client_is_asked() {
    let Some((sandbox, mut session)) = with_person("approval-person") else { return };
    let arguments = json!({"a": 1, "api_key": "hidden"});
    let (done, question) = with_answer(&mut session, &arguments, &choosing("Allow once"));
    assert_eq!(serde_json::from_str::<Value>(text(&done)).unwrap(), arguments, "the child gets all of it");
    let message = question["message"].as_str().unwrap();
    for part in ["`fs_echo`", "server `fs`", "\"a\":1", "Role: developer"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert!(!question.to_string().contains("hidden"), "{question}");
    let (denied, _) = with_answer(&mut session, &arguments, &json!({"action": "decline"}));
    assert!(denied["isError"] == true && text(&denied).contains("has denied"), "asked again for each call: {denied}");
    // Who does not decide there can do so in a terminal.
    let (open, _) = with_answer(&mut session, &json!({}), &json!({"action": "cancel"}));
    let (id, token) = handed_out(&open);
    sandbox.run(&["approvals", "approve", &id]).content();
    assert_eq!(text(&session.call("fs_echo", json!({"_evokore_approval_token": token}))), "{}");
}

#[test]
fn a_standing_approval_is_seen_and_taken_back_in_a_terminal() {
    let Some((sandbox, mut session)) = with_person("approval-standing") else { return };
    let (done, _) = with_answer(&mut session, &json!({}), &choosing("Allow this tool, until the session ends"));
    assert_eq!(text(&done), "{}");
    assert_eq!(text(&session.call("fs_echo", json!({"a": 1}))), "{\"a\": 1}", "nobody is asked");
    let told = sandbox.run(&["approvals", "--json"]).json();
    assert_eq!((&told["pending"], &told["granted"][0]["tool"]), (&json!([]), &json!("fs_echo")));
    let id = told["granted"][0]["id"].as_str().unwrap().to_owned();
    let text_of_it = sandbox.run(&["approvals"]).content();
    assert!(text_of_it.contains(&format!("{id}  fs_echo with any arguments")), "{text_of_it}");
    assert_eq!(
        sandbox.run(&["approvals", "revoke", &id]).content(),
        format!("revoked {id}: fs_echo with any arguments\n")
    );
    let (done, _) = with_answer(&mut session, &json!({"a": 1}), &choosing("Allow once"));
    assert_eq!(text(&done), "{\"a\": 1}");
    drop(session);
    eventually("the grant is gone with its process", || {
        sandbox.run(&["approvals"]).content() == "nothing waits for approval\n"
    });
}

#[test]
fn a_terminal_can_approve_for_the_session() {
    let Some((sandbox, mut session)) = session("approval-always") else { return };
    let (id, token) = handed_out(&session.call("fs_echo", json!({"a": 1})));
    sandbox.run(&["approvals", "approve", &id, "--always", "arguments"]).content();
    session.call("fs_echo", json!({"a": 1, "_evokore_approval_token": token}));
    assert_eq!(text(&session.call("fs_echo", json!({"a": 1}))), "{\"a\": 1}");
    handed_out(&session.call("fs_echo", json!({"a": 2})));
}

#[test]
fn a_client_of_2026_07_28_is_asked_by_the_result() {
    let Some((_sandbox, mut session)) = with_person("approval-rounds") else { return };
    let offering = |params: Value| {
        let mut params = modern(params);
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {}});
        params
    };
    let call = |arguments: Value| json!({"name": "fs_echo", "arguments": arguments});
    let again = |call: &Value, state: &Value, answer: Value| {
        let mut again = call.clone();
        again["requestState"] = state.clone();
        again["inputResponses"] = json!({ "approval": answer });
        offering(again)
    };
    let this = call(json!({"a": 1}));
    let needs = session.ask("tools/call", offering(this.clone()));
    assert_eq!(needs["resultType"], "input_required", "{needs}");
    assert_eq!(needs["inputRequests"]["approval"]["method"], "elicitation/create");
    let state = &needs["requestState"];
    let foreign = session.answer("tools/call", again(&call(json!({"a": 2})), state, choosing("Allow once")));
    assert_eq!(foreign["error"]["code"], -32602, "{foreign}");
    let unclear = session.ask("tools/call", again(&this, state, json!({"action": "accept"})));
    handed_out(&unclear);
    let done = session.ask("tools/call", again(&this, state, choosing("Allow once")));
    assert_eq!(text(&done), "{\"a\": 1}", "{done}");
    let replayed = session.ask("tools/call", again(&this, state, choosing("Allow once")));
    assert_eq!(replayed["resultType"], "input_required", "one use: {replayed}");
    let denied = session.ask("tools/call", again(&this, &replayed["requestState"], choosing("Do not allow")));
    assert!(text(&denied).contains("has denied"), "{denied}");
    let insisted = session.ask("tools/call", offering(this.clone()));
    assert!(text(&insisted).contains("has denied"), "nobody is asked again at once: {insisted}");
    // Whoever cannot be asked gets a token.
    handed_out(&session.ask("tools/call", modern(call(json!({"a": 3})))));
}

#[test]
fn a_native_tool_waits_for_a_person_too() {
    let Some((sandbox, mut session)) = session("approval-native") else { return };
    sandbox.write("work/.keep", "");
    let through = json!({"name": "refresh_skills", "arguments": {}});
    handed_out(&session.call("call_tool", through));
    let (id, token) = handed_out(&session.call("refresh_skills", json!({})));
    sandbox.run(&["approvals", "approve", &id]).content();
    let key = "_evokore_approval_token";
    let done = session.call("refresh_skills", json!({ key: token }));
    assert!(!text(&done).contains("approvals approve"), "{done}");
    handed_out(&session.call("refresh_skills", json!({ key: token })));
}

#[test]
fn what_a_person_has_said_in_a_terminal_stays() {
    let Some((sandbox, mut session)) = session("approval-settled") else { return };
    let fails = |arguments: &[&str], part: &str| {
        let said = sandbox.run(arguments).failure();
        assert!(said.contains(part), "{arguments:?}: {said}");
    };
    let (id, token) = handed_out(&session.call("fs_echo", json!({"a": 1})));
    fails(&["approvals", "approve", &id, "--always", "foo"], "nown: arguments, tool");
    fails(&["approvals", "approve", &id, "--always"], "nown: arguments, tool");
    let always = sandbox.run(&["approvals", "approve", &id.to_uppercase(), "--always", "arguments"]).content();
    assert_eq!(
        always,
        format!(
            "approved {id}: fs_echo {{\"a\":1}}\ncalls of `fs_echo` with these arguments, until the session ends are allowed \
             once this one is made; `evokore approvals revoke` ends that\n"
        )
    );
    let plain = sandbox.run(&["approvals", "approve", &id, "--json"]).json();
    assert_eq!((&plain["decision"], &plain["always"]), (&json!("approved"), &json!("arguments")), "it is not dropped");
    fails(&["approvals", "deny", &id], "is approved already");
    let listed = sandbox.run(&["approvals"]).content();
    assert!(listed.contains("(approved already; client test; role developer)"), "{listed}");
    assert_eq!(sandbox.run(&["approvals", "--json"]).json()["pending"][0]["decision"], "approved");
    session.call("fs_echo", json!({"a": 1, "_evokore_approval_token": token}));
    assert_eq!(text(&session.call("fs_echo", json!({"a": 1}))), "{\"a\": 1}");
    let (id, token) = handed_out(&session.call("fs_echo", json!({"a": 2})));
    let denied = sandbox.run(&["approvals", "deny", &id]).content();
    assert_eq!(denied, format!("denied {id}: fs_echo {{\"a\":2}}\n"));
    fails(&["approvals", "approve", &id], "is denied already");
    let refusal = session.call("fs_echo", json!({"a": 2, "_evokore_approval_token": token}));
    assert!(text(&refusal).contains("has denied"), "{refusal}");
    fails(&["approvals", "approve", &id], "there is no request");
}

#[test]
fn the_log_is_settled_before_the_decision() {
    let Some((mut sandbox, mut session)) = session("approval-note") else { return };
    let (id, _) = handed_out(&session.call("fs_echo", json!({})));
    let decision = sandbox.path("home/.evokore/approvals").join(format!("{id}.decision"));
    sandbox.set("EVOKORE_AUDIT_LOG", "perhaps");
    sandbox.run(&["approvals", "approve", &id]).failure();
    assert!(!decision.exists(), "nothing is decided where it cannot be noted");
}

#[test]
fn what_dead_processes_have_left_is_swept() {
    let mut sandbox = Sandbox::new("approval-sweep");
    sandbox.set("EVOKORE_ROLE", "developer");
    let old = json!({"id": "00000001", "tool": "t", "arguments": "{}", "createdAt": 1, "expiresAt": 9_999_999_999_u64, "pid": i32::MAX});
    for (file, content) in [
        ("approvals/00000001.json", old.to_string()),
        ("approvals/00000001.decision", "approved\n".to_owned()),
        ("approvals/00000002.decision", "approved\n".to_owned()),
        ("approvals/.00000003.json.2147483647.tmp", "{".to_owned()),
        ("approvals/note.txt", "a person's own".to_owned()),
        ("grants/00000004.json", json!({"id": "00000004", "tool": "t", "createdAt": 1, "pid": i32::MAX}).to_string()),
    ] {
        sandbox.write(&format!("home/.evokore/{file}"), content);
    }
    let unfinished = sandbox.path("home/.evokore/approvals/.00000003.json.2147483647.tmp");
    let an_hour_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    std::fs::File::options().write(true).open(unfinished).unwrap().set_modified(an_hour_ago).unwrap();
    let session = Session::greeted(&sandbox);
    let left = |folder: &str| -> Vec<_> {
        let entries = std::fs::read_dir(sandbox.path("home/.evokore").join(folder)).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    eventually("the sweep", || left("approvals") == ["note.txt"] && left("grants").is_empty());
    drop(session);
}

#[test]
fn a_folder_of_others_takes_no_requests() {
    let Some((sandbox, mut session)) = session("approval-others") else { return };
    let folder = sandbox.path("home/.evokore/approvals");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let refusal = session.call("fs_echo", json!({}));
    assert!(text(&refusal).contains("others can write there"), "{refusal}");
    assert!(!text(&refusal).contains("_evokore_approval_token"), "{refusal}");
}

#[test]
fn the_argument_for_a_token_stands_with_tools_that_need_approval_alone() {
    let variables = [("EVOKORE_ROLE", "developer"), ("EVOKORE_TOOL_DISCOVERY_MODE", "legacy")];
    let habits = ["tool=read_file", "tool=write_file"];
    let Some((_sandbox, mut session)) = with_child("approval-told", &variables, &habits) else { return };
    let key = "_evokore_approval_token";
    let property = |tool: &Value| tool["inputSchema"]["properties"].get(key).cloned();
    let described = session.call("describe_tool", json!({"tools": ["fs_read_file", "fs_write_file"]}));
    let found = session.call("discover_tools", json!({"query": "fs_write_file", "schemas": true}));
    let list = session.ask("tools/list", json!({}))["tools"].as_array().unwrap().clone();
    let access = ["fs_read_file", "fs_write_file", "refresh_skills", "discover_tools"];
    for (name, needs) in access.into_iter().zip([false, true, true, false]) {
        let tool = list.iter().find(|tool| tool["name"] == name).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(property(tool).is_some(), needs, "{tool}");
        assert_eq!(tool.to_string().contains(key), needs, "no extra bytes: {tool}");
    }
    let schemas = described["structuredContent"]["schemas"].as_array().unwrap();
    assert_eq!(schemas.iter().map(|tool| property(tool).is_some()).collect::<Vec<_>>(), [false, true]);
    let matches = found["structuredContent"]["matches"].as_array().unwrap();
    let write = matches.iter().find(|tool| tool["name"] == "fs_write_file").unwrap();
    assert!(property(write).is_some(), "{write}");
}

/// What `evokore approvals watch` prints until `part` is there; it does not end by itself.
fn watched(sandbox: &Sandbox, part: &str) -> String {
    use std::io::Read as _;
    let mut watch = sandbox.command(&["approvals", "watch"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut from = watch.stdout.take().unwrap();
    let (mut said, mut some) = (Vec::new(), [0; 4096]);
    while !String::from_utf8_lossy(&said).contains(part) {
        let n = from.read(&mut some).unwrap();
        assert!(n > 0, "it ends: {}", String::from_utf8_lossy(&said));
        said.extend_from_slice(&some[..n]);
    }
    watch.kill().unwrap();
    watch.wait().unwrap();
    String::from_utf8(said).unwrap()
}

#[test]
fn whoever_watches_sees_all_that_is_asked() {
    let Some((sandbox, mut session)) = session("approval-watch") else { return };
    let (id, _) =
        handed_out(&session.call("fs_echo", json!({"a": "x".repeat(500), "token": "hidden", "z": "the end"})));
    let said = watched(&sandbox, "the end");
    let head = said.lines().find(|line| line.starts_with(&id)).unwrap_or_else(|| panic!("{said}"));
    assert!(head.ends_with("  fs_echo at `fs`  (client test; role developer)"), "{head}");
    assert!(!said.contains("hidden") && said.contains(&"x".repeat(500)), "{said}");
}

#[test]
fn a_decision_that_cannot_be_noted_is_told() {
    let variables = [("EVOKORE_ROLE", "developer"), ("EVOKORE_AUDIT_LOG", "false")];
    let Some((mut sandbox, mut session)) = with_child("approval-unnoted", &variables, &["more"]) else { return };
    let (id, token) = handed_out(&session.call("fs_echo", json!({})));
    sandbox.unset("EVOKORE_AUDIT_LOG");
    sandbox.write("home/.evokore/audit", "in the way");
    let ran = sandbox.run(&["approvals", "approve", &id]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("audit") && ran.stderr.contains("cannot be written"), "{ran:?}");
    assert_eq!(text(&session.call("fs_echo", json!({"_evokore_approval_token": token}))), "{}");
}
