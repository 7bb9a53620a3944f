//! Modes: what a way of working leaves of what the role may do.

use serde_json::{Value, json};

use super::lists::with_child;
use super::{Sandbox, Session, Streams, modern, text};

const TOOLS: [&str; 3] = ["tool=read_file", "tool=write_file", "tool=create_directory"];

fn session(name: &str, variables: &[(&str, &str)]) -> Option<(Sandbox, Session)> {
    let legacy = ("EVOKORE_TOOL_DISCOVERY_MODE", "legacy");
    let (sandbox, mut session) = with_child(name, &[variables, &[legacy]].concat(), &TOOLS)?;
    // In some modes the child cannot be asked whether it is up.
    super::eventually("the child is up", || {
        let status = session.call("proxy_server_status", json!({"server_id": "fs"}));
        status["structuredContent"]["servers"][0]["status"] == "connected"
    });
    Some((sandbox, session))
}

/// The native tools as `generated/` shows them: name, and whether it only reads.
fn natives() -> Vec<(String, bool)> {
    let text = std::fs::read_to_string(crate::cli::repository().join("generated/native-tools.json")).unwrap();
    let native: Value = serde_json::from_str(&text).unwrap();
    let of = |tool: &Value| (tool["name"].as_str().unwrap().to_owned(), tool["annotations"]["readOnlyHint"] == true);
    native["tools"].as_array().unwrap().iter().map(of).collect()
}

#[test]
fn the_default_mode_takes_nothing_away() {
    let Some((_sandbox, mut session)) = session("modes-dev", &[]) else { return };
    let listed = session.listed();
    let all = natives().into_iter().map(|(name, _)| name);
    for name in all.chain(["fs_read_file", "fs_write_file", "fs_echo"].map(str::to_owned)) {
        assert!(listed.contains(&name), "{name}");
    }
    assert_eq!(text(&session.call("fs_echo", json!({"path": ".env"}))), "{\"path\": \".env\"}");
}

#[test]
fn a_mode_without_writes_knows_only_what_reads() {
    for mode in ["research", "review", "security-audit"] {
        let name = format!("modes-{mode}");
        let Some((_sandbox, mut session)) = session(&name, &[("EVOKORE_STEERING_MODE", mode)]) else { return };
        let listed = session.listed();
        for (name, reads) in natives() {
            // What `call_tool` calls is judged by itself.
            assert_eq!(listed.contains(&name), reads || name == "call_tool", "{mode}: {name}");
        }
        // A live tool is what its lock says, and one without a lock is not believed. What is not as locked is for the
        // strictest mode nothing that was looked at.
        let read = usize::from(mode != "security-audit");
        assert_eq!(listed.iter().filter(|name| name.starts_with("fs_")).count(), read, "{mode}: {listed:?}");
        for denied in ["fs_write_file", "fs_create_directory", "fs_echo", "refresh_skills"] {
            let refusal = session.answer("tools/call", json!({"name": denied, "arguments": {}}));
            let said = refusal["error"]["message"].as_str().unwrap_or_else(|| panic!("{mode}: {refusal}"));
            assert!(said.starts_with(&format!("unknown tool `{denied}`")), "{mode}: {said}");
            let through = session.call("call_tool", json!({"name": denied, "arguments": {}}));
            assert!(through["isError"] == true && text(&through).contains("unknown tool"), "{mode}: {through}");
            let described = session.call("describe_tool", json!({"tools": [denied]}));
            assert_eq!(described["structuredContent"]["unknown"], json!([denied]), "{mode}");
            let found = session.call("discover_tools", json!({"query": denied}));
            assert!(!found.to_string().contains(&format!("\"name\":\"{denied}\"")), "{mode}: {found}");
        }
        if mode == "security-audit" {
            let withheld = session.call("fs_read_file", json!({}));
            assert!(withheld["isError"] == true && text(&withheld).contains("is withheld"), "{withheld}");
        } else {
            let through = session.call("call_tool", json!({"name": "fs_read_file", "arguments": {"path": ".env"}}));
            assert_eq!(through["structuredContent"]["tool"], "read_file", "{mode}: {through}");
        }
        // Words of a query are no paths.
        let found = session.call("discover_tools", json!({"query": "where are .env, id_rsa and credentials"}));
        assert_ne!(found["isError"], true, "{mode}: {found}");
    }
}

#[test]
fn a_mode_and_a_role_are_both_heeded() {
    let careful = [("EVOKORE_STEERING_MODE", "debug")];
    let Some((_sandbox, mut with_mode)) = session("modes-debug", &careful) else { return };
    let asked = with_mode.call("fs_write_file", json!({}));
    assert!(text(&asked).contains("approvals approve"), "it may overwrite: {asked}");
    let added = with_mode.call("fs_create_directory", json!({}));
    assert_eq!(added["structuredContent"]["tool"], "create_directory", "it only adds: {added}");
    let both = [("EVOKORE_STEERING_MODE", "debug"), ("EVOKORE_ROLE", "readonly")];
    let Some((_sandbox, mut with_both)) = session("modes-debug-readonly", &both) else { return };
    for denied in ["fs_write_file", "fs_create_directory"] {
        let refusal = with_both.answer("tools/call", json!({"name": denied, "arguments": {}}));
        assert_eq!(refusal["error"]["code"], -32602, "{refusal}");
    }
}

#[test]
fn a_list_in_a_mode_is_no_list_for_everybody() {
    let mut sandbox = Sandbox::new("modes-cache");
    for (mode, scope) in [("dev", "public"), ("review", "private")] {
        sandbox.set("EVOKORE_STEERING_MODE", mode);
        let mut session = Session::start(&sandbox, Streams::Pipes);
        super::eventually("no server starts any more", || session.ask("tools/list", modern(json!({})))["ttlMs"] != 0);
        assert_eq!(session.ask("tools/list", modern(json!({})))["cacheScope"], scope, "{mode}");
    }
}

#[test]
fn reading_what_a_server_offers_is_no_writing() {
    let variables = [("EVOKORE_STEERING_MODE", "research")];
    let Some((_sandbox, mut session)) = with_child("modes-offers", &variables, &["library"]) else { return };
    super::eventually("the child's resources are listed", || {
        session.ask("resources/list", json!({})).to_string().contains("evokore://child/fs/note://a")
    });
    let read = session.ask("resources/read", json!({"uri": "evokore://child/fs/note://a"}));
    assert_eq!(read["contents"][0]["odd"], 1, "{read}");
}
