//! Several child servers behind one client: how they join, whose tools stand where, and what one's death costs.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Sandbox, Session, eventually, modern, text};

const CHANGED: &str = "notifications/tools/list_changed";

/// Long enough for three interpreters to start on a busy machine.
const WINDOW: Duration = Duration::from_millis(1500);

/// A sandbox whose servers `fs`, `github` and `supabase` are test servers, each of which waits for a file of its name.
fn three(name: &str) -> Option<Sandbox> {
    let mut sandbox = Sandbox::new(name);
    if !sandbox.with_fs_server_that(&["more", "late=GATE"]) {
        return None;
    }
    let gate = "case \"$*\" in *filesystem*) gate=fs;; *github*) gate=github;; *) gate=supabase;; esac";
    let late = format!("\"late={}/$gate\"", sandbox.path("work").display());
    let script = sandbox.read("bin/npx").replace("'late=GATE'", &late).replace("exec ", &format!("{gate}\nexec "));
    sandbox.write("bin/npx", script);
    for variable in ["GITHUB_PERSONAL_ACCESS_TOKEN", "SUPABASE_ACCESS_TOKEN"] {
        sandbox.set(variable, "x");
    }
    sandbox.set("EVOKORE_TOOL_DISCOVERY_MODE", "legacy");
    Some(sandbox)
}

/// Lets these servers join, one after the other.
fn open(sandbox: &Sandbox, session: &mut Session, servers: &[&str]) {
    for server in servers {
        sandbox.write(&format!("work/{server}"), "");
        eventually("it is up", || {
            let status = session.call("proxy_server_status", json!({ "server_id": server }));
            status["structuredContent"]["servers"][0]["status"] == "connected"
        });
    }
}

fn changes(notes: &[Value]) -> usize {
    notes.iter().filter(|note| note["method"] == CHANGED).count()
}

#[test]
fn the_order_in_which_servers_join_does_not_show() {
    let mut lists = Vec::new();
    for (n, order) in [["fs", "github", "supabase"], ["supabase", "github", "fs"]].into_iter().enumerate() {
        let Some(sandbox) = three(&format!("servers-order-{n}")) else { return };
        let mut session = Session::greeted(&sandbox);
        open(&sandbox, &mut session, &order);
        lists.push(session.ask("tools/list", json!({})).to_string());
    }
    assert_eq!(lists[0], lists[1]);
    let at = |name: &str| lists[0].find(&format!("\"{name}\"")).unwrap_or_else(|| panic!("no {name}"));
    let order = ["discover_tools", "github_about", "github_echo", "fs_about", "fs_wait", "supabase_about"].map(at);
    assert!(order.is_sorted(), "natives first, then as configured, by name within a server: {order:?}");
}

#[test]
fn a_call_waits_for_no_other_server() {
    let Some(sandbox) = three("servers-early") else { return };
    sandbox.write("work/fs", "");
    let mut session = Session::greeted(&sandbox);
    let echo = session.call("fs_echo", json!({"early": "bird"}));
    assert!(text(&echo).contains("bird"), "{echo}");
    let status = session.call("proxy_server_status", json!({}));
    let booting = |server: &&Value| server["status"] == "booting";
    let servers = status["structuredContent"]["servers"].as_array().unwrap();
    assert_eq!(servers.iter().filter(booting).count(), 2, "{status}");
}

#[test]
fn servers_that_join_together_are_told_of_once() {
    let Some(mut sandbox) = three("servers-burst") else { return };
    sandbox.set("EVOKORE_TOOLS_LIST_CHANGED_DEBOUNCE_MS", &WINDOW.as_millis().to_string());
    let mut session = Session::greeted(&sandbox);
    eventually("all are started", || session.listed().len() >= 9);
    for server in ["fs", "github", "supabase"] {
        sandbox.write(&format!("work/{server}"), "");
    }
    for server in ["fs", "github", "supabase"] {
        let about = session.call(&format!("{server}_about"), json!({}));
        assert!(about["structuredContent"]["pid"].is_u64(), "{about}");
    }
    assert_eq!(changes(&session.told(CHANGED, WINDOW)), 1);
}

#[test]
fn a_list_that_does_not_change_is_no_news() {
    let Some(mut sandbox) = three("servers-no-news") else { return };
    sandbox.unset("EVOKORE_TOOL_DISCOVERY_MODE");
    let mut session = Session::greeted(&sandbox);
    let before = session.ask("tools/list", json!({}));
    open(&sandbox, &mut session, &["fs", "github", "supabase"]);
    assert_eq!(session.notes(Duration::from_millis(600)), Vec::<Value>::new());
    assert_eq!(session.ask("tools/list", json!({})), before);
    // What one session activates is not another's, nor a modern request's.
    session.call("discover_tools", json!({"query": "github_echo", "limit": 1}));
    assert_eq!(changes(&session.told(CHANGED, Duration::from_millis(600))), 1);
    assert!(session.listed().contains(&"github_echo".to_owned()));
    let modern_list = session.ask("tools/list", modern(json!({})));
    assert!(!modern_list.to_string().contains("github_echo"), "{modern_list}");
    let found = session.ask(
        "tools/call",
        modern(json!({"name": "discover_tools", "arguments": {"query": "supabase_echo", "limit": 1, "schemas": true}})),
    );
    let found = &found["structuredContent"];
    assert_eq!((&found["matches"][0]["name"], &found["activated"]), (&json!("supabase_echo"), &json!(0)), "{found}");
    assert_eq!(found["matches"][0]["inputSchema"], json!({"type": "object"}), "{found}");
    assert_eq!(changes(&session.notes(Duration::from_millis(600))), 0, "no session hears of it");
}

#[test]
fn call_tool_hands_progress_and_cancellation_through() {
    let Some(sandbox) = three("servers-through") else { return };
    let mut session = Session::greeted(&sandbox);
    open(&sandbox, &mut session, &["fs"]);
    session.notes(Duration::from_millis(600));
    let arguments = json!({"name": "fs_progress", "arguments": {}});
    let id = session
        .request("tools/call", json!({"name": "call_tool", "arguments": arguments, "_meta": {"progressToken": "t"}}));
    session.answer_to(id);
    let steps: Vec<Value> =
        session.notes(Duration::ZERO).iter().map(|note| note["params"]["progress"].clone()).collect();
    assert_eq!(steps, [0, 1, 2]);

    let file = sandbox.path("work/cancelled");
    let arguments = json!({"name": "fs_wait", "arguments": {"file": file}});
    let id = session.request("tools/call", json!({"name": "call_tool", "arguments": arguments}));
    session.ask("ping", json!({}));
    session.notify("notifications/cancelled", json!({ "requestId": id }));
    eventually("the child hears of it", || file.exists());
    let notes = session.notes(Duration::from_millis(200));
    assert!(!notes.iter().any(|message| message["id"] == id), "{notes:?}");
}

#[test]
fn a_death_answers_every_caller_and_costs_the_other_servers_nothing() {
    let mut sandbox = Sandbox::new("servers-death");
    if !sandbox.with_fs_server_that(&["HABITS"]) {
        return;
    }
    let habits = "case \"$*\" in *filesystem*) habits='crash orphan';; *) habits=more;; esac";
    let script = sandbox.read("bin/npx").replace("'HABITS'", "$habits").replace("exec ", &format!("{habits}\nexec "));
    sandbox.write("bin/npx", script);
    sandbox.set("GITHUB_PERSONAL_ACCESS_TOKEN", "x");
    let mut session = Session::greeted(&sandbox);
    let ids: Vec<u64> =
        (0..5).map(|n| session.request("tools/call", json!({"name": "fs_echo", "arguments": {"n": n}}))).collect();
    for id in ids {
        let answer = session.answer_to(id);
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert!(text(&answer["result"]).contains("fs"), "{answer}");
    }
    let echo = session.call("github_echo", json!({"still": "here"}));
    assert!(text(&echo).contains("here"), "{echo}");
    session.close();
    #[cfg(target_os = "linux")]
    eventually("the dead child's child is gone", || !is_anyone_in(&sandbox.path("")));
}

/// Whether a process works below this folder.
#[cfg(target_os = "linux")]
fn is_anyone_in(folder: &std::path::Path) -> bool {
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .any(|entry| std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder)))
}
