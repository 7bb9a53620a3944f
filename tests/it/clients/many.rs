//! Many real child servers behind one evokore: each lists what it lists when asked directly, answers a call, and costs
//! the others nothing when it dies; nothing of it is left at the end.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::equipment::{Equipment, Sandbox};
use crate::front::{Session, Streams};

/// All servers boot within this on a loaded machine; each is given it, too, before it counts as late.
const BOOT: Duration = Duration::from_secs(150);
/// Servers that boot side by side in [`the_order_in_which_servers_boot_does_not_show`].
const WAVE: usize = 4;
/// How often everything is started, each time in another order.
const STARTS: usize = 3;

/// What a server is asked, and a part of what it answers. No call leaves the machine.
const CALLS: [(&str, &str, &str, Answer); 16] = [
    ("fs", "read_text_file", r#"{"path": "note.txt"}"#, Answer::Says("water the plants")),
    ("everything", "echo", r#"{"message": "hi"}"#, Answer::Says("Echo: hi")),
    ("git", "git_status", r#"{"repo_path": "."}"#, Answer::Says("note.txt")),
    ("airtable", "list_records", "{}", Answer::Refuses("baseId")),
    ("brave-search", "brave_web_search", "{}", Answer::Refuses("Invalid arguments")),
    ("duckduckgo", "fetch_content", r#"{"url": "http://127.0.0.1:1/"}"#, Answer::Says("127.0.0.1")),
    ("fetch", "fetch", r#"{"url": "http://127.0.0.1:1/"}"#, Answer::Refuses("127.0.0.1")),
    ("github", "get_issue", r#"{"owner": 1}"#, Answer::Refuses("Invalid input")),
    ("gitlab", "search_repositories", r#"{"search": "a"}"#, Answer::Refuses("ECONNREFUSED")),
    ("google-maps", "maps_distance_matrix", "{}", Answer::Refuses("Error")),
    ("memory", "read_graph", "{}", Answer::Says("entities")),
    ("postgres", "query", r#"{"sql": "select 1"}"#, Answer::Refuses("ECONNREFUSED")),
    (
        "sequential-thinking",
        "sequentialthinking",
        r#"{"thought": "so", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1}"#,
        Answer::Says("thoughtNumber"),
    ),
    ("slack", "slack_post_message", "{}", Answer::Says("Missing required arguments")),
    ("sqlite", "list_tables", "{}", Answer::Says("[")),
    ("time", "get_current_time", r#"{"timezone": "UTC"}"#, Answer::Says("UTC")),
];

#[derive(Debug, Clone, Copy)]
enum Answer {
    /// A result.
    Says(&'static str),
    /// A result with `isError`, or a JSON-RPC error.
    Refuses(&'static str),
}

impl Answer {
    /// What is wrong with the answer to a call, if anything.
    fn objection(self, answer: &Value) -> Option<String> {
        let failed = answer["result"]["isError"] == true;
        let error = &answer["error"];
        let is_fine = match self {
            Answer::Says(part) => {
                !failed && answer["result"]["content"].is_array() && answer["result"].to_string().contains(part)
            }
            Answer::Refuses(part) if error.is_object() => {
                error["code"].is_i64() && error["message"].as_str().is_some_and(|message| message.contains(part))
            }
            Answer::Refuses(part) => failed && answer["result"]["content"].to_string().contains(part),
        };
        (!is_fine).then(|| format!("expected {self:?}, but: {answer}"))
    }
}

/// A session in which every server has been started through `start`, a script that is told its server by its arguments.
fn session(equipment: &Equipment, sandbox: &Sandbox, script: &str) -> Session {
    let start = sandbox.path().join("start");
    fs::write(&start, script).expect("the script can be written");
    fs::set_permissions(&start, fs::Permissions::from_mode(0o755)).expect("it can be made executable");
    let mut command = equipment.server(sandbox);
    command
        .env("EVOKORE_IT_START", start)
        .env("EVOKORE_TOOL_DISCOVERY_MODE", "legacy")
        .env("EVOKORE_CHILD_SERVER_BOOT_TIMEOUT_MS", BOOT.as_millis().to_string());
    let mut session = Session::spawn(&mut command, Streams::Pipes);
    session.greet();
    session
}

/// The entry of each server in the status.
fn status(session: &mut Session) -> BTreeMap<String, Value> {
    let status = session.call("proxy_server_status", json!({}));
    let servers = status["structuredContent"]["servers"].as_array().expect("a list of servers").iter();
    servers.map(|server| (server["id"].as_str().expect("an id").to_owned(), server.clone())).collect()
}

/// Waits until these servers are up.
fn wait_for(session: &mut Session, ids: &[&str]) {
    let end = Instant::now() + BOOT;
    loop {
        let servers = status(session);
        if ids.iter().all(|id| servers[*id]["status"] == "connected") {
            return;
        }
        assert!(Instant::now() < end, "not all of {ids:?} come up: {servers:?}\n{}", session.said());
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The command and the environment of each server, as `tests/children` has them.
fn configured(equipment: &Equipment, sandbox: &Sandbox) -> BTreeMap<String, Command> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/children/mcp.config.json");
    let text = fs::read_to_string(path)
        .expect("the configuration can be read")
        .replace("${EVOKORE_IT_DIR}", &equipment.installed().to_string_lossy())
        .replace("${EVOKORE_IT_SANDBOX}", &sandbox.path().to_string_lossy());
    let configuration: Value = serde_json::from_str(&text).expect("it is JSON");
    let command = |entry: &Value| {
        let mut command = Command::new("env");
        command.args(entry["args"].as_array().expect("arguments").iter().filter_map(Value::as_str));
        command.current_dir(sandbox.path()).env("HOME", sandbox.path());
        for (name, value) in entry["env"].as_object().into_iter().flatten() {
            command.env(name, value.as_str().expect("a text"));
        }
        command
    };
    let servers = configuration["servers"].as_object().expect("servers").iter();
    let servers = servers.filter(|(_, entry)| entry["command"].is_string());
    servers.map(|(id, entry)| (id.clone(), command(entry))).collect()
}

/// The definitions of a server's tools, as it gives them itself.
fn own_list(command: &mut Command) -> Vec<Value> {
    let mut session = Session::spawn(command, Streams::Pipes);
    session.greet();
    let list = session.ask("tools/list", json!({}));
    assert_eq!(list.get("nextCursor"), None, "this test reads one page");
    list["tools"].as_array().expect("a list of tools").clone()
}

/// A process of this run whose command line contains `part`.
fn process(sandbox: &Sandbox, part: &str) -> Option<rustix::process::Pid> {
    let line = sandbox.processes().into_iter().find(|line| line.contains(part))?;
    rustix::process::Pid::from_raw(line.split(' ').next()?.parse().ok()?)
}

/// `postgres` asks its database for its resources, and there is none.
fn notes_are_due(id: &str, server: &Value) -> bool {
    let notes = server["notes"].as_array().expect("a list of notes");
    id == "postgres" && notes.len() == 1 && notes[0].as_str().is_some_and(|note| note.contains("ECONNREFUSED"))
}

const AT_ONCE: &str = "#!/bin/sh\nexec \"$@\"\n";

#[tokio::test]
async fn each_is_listed_as_it_is_answers_and_dies_alone() {
    let Some(equipment) = Equipment::ready() else { return };
    let sandbox = Sandbox::new("many");
    let mut session = session(&equipment, &sandbox, AT_ONCE);
    let ids = CALLS.map(|(id, ..)| id);
    wait_for(&mut session, &ids);
    let list = session.ask("tools/list", json!({}));
    let listed = list["tools"].as_array().expect("a list of tools");

    let mut problems = Vec::new();
    let mut servers = status(&mut session);
    assert_eq!(servers.remove("remote").expect("it is configured")["status"], "waiting", "it has no address");
    let mut configured = configured(&equipment, &sandbox);
    assert!(configured.keys().eq(servers.keys()) && servers.len() == ids.len(), "a call for every server: {servers:?}");
    for (id, server) in &servers {
        let own = own_list(configured.get_mut(id).expect("it is configured"));
        if server["registeredToolCount"] != own.len() || own.is_empty() {
            problems.push(format!("{id}: {} tools of its own, but: {server}", own.len()));
        }
        for mut tool in own {
            tool["name"] = format!("{id}_{}", tool["name"].as_str().expect("a name")).into();
            if !listed.contains(&tool) {
                problems.push(format!("{id}: not in the list as the server has it: {tool}"));
            }
        }
        let odd = ["skippedTools", "noiseLines", "strayMessages", "reason"];
        let has_notes = server.get("notes").is_some() && !notes_are_due(id, server);
        if odd.iter().any(|key| server.get(key).is_some()) || has_notes || server["restarts"] != 0 {
            problems.push(format!("{id}: {server}"));
        }
    }

    for (id, tool, arguments, expected) in CALLS {
        let mut arguments: Value = serde_json::from_str(arguments).expect("arguments are JSON");
        if let Some(repository) = arguments.get_mut("repo_path") {
            *repository = sandbox.path().to_string_lossy().into();
        }
        let answer = session.answer("tools/call", json!({"name": format!("{id}_{tool}"), "arguments": arguments}));
        problems.extend(expected.objection(&answer).map(|objection| format!("{id}: {objection}")));
    }

    let victim = process(&sandbox, "server-memory").expect("it runs");
    rustix::process::kill_process(victim, rustix::process::Signal::KILL).expect("it can be killed");
    let echo = session.answer("tools/call", json!({"name": "everything_echo", "arguments": {"message": "still"}}));
    problems.extend(Answer::Says("Echo: still").objection(&echo));
    let end = Instant::now() + BOOT;
    while status(&mut session)["memory"]["restarts"] == 0 && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(50));
    }
    wait_for(&mut session, &ids);
    for (id, server) in status(&mut session) {
        if server["restarts"] != u32::from(id == "memory") {
            problems.push(format!("{id}, after the death of `memory`: {server}"));
        }
    }
    if session.ask("tools/list", json!({})) != list {
        problems.push("the list is another one after the death of `memory`".to_owned());
    }

    let said = session.said();
    let (_, took) = session.close();
    if took > Duration::from_secs(1) {
        problems.push(format!("the end took {took:?}"));
    }
    problems.extend(sandbox.survivors().await.into_iter().map(|it| format!("still running after the end: {it}")));
    assert!(problems.is_empty(), "{}\n--- standard error\n{said}", problems.join("\n"));
}

#[tokio::test]
async fn the_order_in_which_servers_boot_does_not_show() {
    let Some(equipment) = Equipment::ready() else { return };
    let mut lists = Vec::new();
    for start in 0..STARTS {
        let sandbox = Sandbox::new(&format!("many-order-{start}"));
        // A server waits until a file lies there whose name is in its arguments.
        let gates = sandbox.path().join("gates");
        fs::create_dir(&gates).expect("the folder can be made");
        let script = format!(
            "#!/bin/sh\nwhile :; do for gate in '{0}'/*; do case \"$*\" in *\"${{gate##*/}}\"*) exec \"$@\";; esac; done\n\
             sleep 0.05; done\n",
            gates.display()
        );
        let mut session = session(&equipment, &sandbox, &script);
        let mut order = CALLS.map(|(id, ..)| id);
        order.rotate_left(start * 3);
        if start % 2 == 1 {
            order.reverse();
        }
        for wave in order.chunks(WAVE) {
            for id in wave {
                let name = match *id {
                    "fs" => "server-filesystem/",
                    "sequential-thinking"
                    | "everything"
                    | "brave-search"
                    | "github"
                    | "gitlab"
                    | "google-maps"
                    | "memory"
                    | "postgres"
                    | "slack" => id,
                    "airtable" | "duckduckgo" => &format!("{id}-mcp-server"),
                    _ => &format!("mcp-server-{id}"),
                };
                fs::write(gates.join(name.trim_end_matches('/')), "").expect("the gate can be opened");
            }
            wait_for(&mut session, wave);
        }
        lists.push(session.ask("tools/list", json!({})).to_string());
        session.close();
        assert_eq!(sandbox.survivors().await, Vec::<String>::new());
    }
    assert!(lists.iter().all(|list| *list == lists[0]), "the lists differ");
}
