//! What a full lock does: the whole list before any server is up, servers that start on their first call, and tools
//! that turn out to be something else than what was locked. Its configuration also has servers that other tests play.
//!
//! The locks are compiled in, so these tests need an executable of the configuration in `tests/pinned`. They build it
//! where the clients of the other tests are installed, as CI has them, or take the one that `EVOKORE_IT_PINNED_BIN` names.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests")]
#![expect(clippy::disallowed_methods, reason = "variables of the test run, which evokore itself never reads")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::front::{Session, Streams, eventually, modern, text};

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The executable, where it can be had.
pub(crate) fn binary() -> Option<&'static Path> {
    static BINARY: OnceLock<Option<PathBuf>> = OnceLock::new();
    let binary = BINARY.get_or_init(|| {
        if let Some(binary) = std::env::var_os("EVOKORE_IT_PINNED_BIN") {
            return Some(PathBuf::from(binary));
        }
        let installed =
            std::env::var_os("EVOKORE_IT_DIR").map_or_else(|| repository().join("target/it"), PathBuf::from);
        let ci = std::env::var("CI").is_ok_and(|value| value == "true");
        if !ci && !installed.join("children").is_dir() {
            return None;
        }
        let target = std::path::absolute(installed).unwrap().join("build-pinned");
        let output = Command::new(env!("CARGO"))
            .current_dir(repository())
            .args(["build", "--locked", "--quiet", "--bin", "evokore", "--target-dir"])
            .arg(&target)
            .env("EVOKORE_CONFIG_DIR", "tests/pinned")
            .env_remove("EVOKORE_PROFILE_SET")
            .output()
            .unwrap();
        assert!(output.status.success(), "it does not build:\n{}", String::from_utf8_lossy(&output.stderr));
        Some(target.join("debug/evokore"))
    });
    binary.as_deref()
}

/// One run of the server, with files of its own that say what its servers list.
struct Run {
    folder: PathBuf,
    session: Session,
}

impl Run {
    /// Starts it; `late` keeps the eager server silent until [`Run::wake`].
    fn start(name: &str, late: bool) -> Option<Run> {
        Run::with(name, late, "report")
    }

    /// The same with an answer to hostile content.
    fn with(name: &str, late: bool, on_hostile: &str) -> Option<Run> {
        let binary = binary()?;
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("pinned-{name}"));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        for id in ["lazy", "eager"] {
            let lock = std::fs::read_to_string(repository().join(format!("tests/pinned/locks/{id}.json"))).unwrap();
            let lock: Value = serde_json::from_str(&lock).unwrap();
            let tools: Vec<Value> =
                lock["tools"].as_array().unwrap().iter().map(|tool| tool["definition"].clone()).collect();
            write_list(&folder, id, &tools);
        }
        if !late {
            std::fs::write(folder.join("awake"), "").unwrap();
        }
        let mut command = Command::new(binary);
        command
            .arg("serve")
            .current_dir(&folder)
            .env("EVOKORE_CONFIG_DIR", repository().join("tests/pinned"))
            .env("EVOKORE_IT_LIST", folder.join("list"))
            .env("EVOKORE_IT_LATE", folder.join("awake"))
            .env("EVOKORE_HOSTILE_CONTENT", on_hostile)
            .env("EVOKORE_HOME", folder.join("home"))
            .env("HOME", &folder);
        let mut session = Session::spawn(&mut command, Streams::Pipes);
        session.greet();
        Some(Run { folder, session })
    }

    fn wake(&self) {
        std::fs::write(self.folder.join("awake"), "").unwrap();
    }

    /// Lets the list of `id` say another description of `echo`.
    fn turn(&self, id: &str) {
        let tools = [
            json!({"name": "echo", "description": "Turned.", "inputSchema": {"type": "object"}}),
            json!({"name": "grow", "description": "Says that its list has changed.", "inputSchema": {"type": "object"}}),
        ];
        write_list(&self.folder, id, &tools);
    }

    fn status(&mut self, id: &str) -> Value {
        let told = self.session.call("proxy_server_status", json!({ "server_id": id }));
        told["structuredContent"]["servers"][0].clone()
    }

    fn is(&mut self, id: &str, state: &str) {
        eventually(&format!("`{id}` is {state}"), || self.status(id)["status"] == state);
    }

    /// The requests for tools that `id` has heard.
    fn heard(&self, id: &str) -> usize {
        let heard = std::fs::read_to_string(self.folder.join(format!("list.{id}.heard"))).unwrap_or_default();
        heard.lines().filter(|line| line.contains("tools/call")).count()
    }

    /// The listed definitions of both servers, in either era.
    fn listed(&mut self, is_modern: bool) -> Vec<Value> {
        let params = if is_modern { modern(json!({})) } else { json!({}) };
        let list = self.session.ask("tools/list", params)["tools"].clone();
        let ours = |tool: &&Value| {
            let name = tool["name"].as_str().unwrap();
            name.starts_with("lazy_") || name.starts_with("eager_")
        };
        list.as_array().unwrap().iter().filter(ours).cloned().collect()
    }
}

fn write_list(folder: &Path, id: &str, tools: &[Value]) {
    std::fs::write(
        folder.join(format!("list.{id}")),
        format!("tools/list\t\"result\":{{\"tools\":{}}}\n", json!(tools)),
    )
    .unwrap();
}

fn names(tools: &[Value]) -> Vec<&str> {
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

const ALL: [&str; 5] = ["lazy_echo", "lazy_grow", "eager_echo", "eager_grow", "eager_lure"];

#[test]
fn the_whole_list_is_there_before_any_server_is() {
    let Some(mut run) = Run::start("before", true) else { return };
    let before = run.listed(false);
    assert_eq!(names(&before), ALL);
    assert_eq!(before[0]["inputSchema"]["properties"]["a"]["maximum"], 1.5);
    assert_eq!(run.listed(true), before, "both eras");
    let found = run.session.call("discover_tools", json!({"query": "verbatim arguments"}));
    assert_eq!(found["structuredContent"]["matches"][0]["description"], "Gives its arguments back, verbatim.");
    let described = run.session.call("describe_tool", json!({"tools": ["lazy_echo"]}));
    assert_eq!(described["structuredContent"]["schemas"][0], before[0]);
    assert_eq!((&run.status("lazy")["status"], &run.status("eager")["status"]), (&"idle".into(), &"booting".into()));

    // A call waits for its server; the list is the same when it is up, and nobody is told.
    let id = run.session.request("tools/call", json!({"name": "eager_echo", "arguments": {"a": 1}}));
    run.wake();
    assert_eq!(text(&run.session.answer_to(id)["result"]), "{\"a\": 1}");
    run.is("eager", "connected");
    assert_eq!(run.listed(false), before);
    assert_eq!(run.status("eager")["drift"], Value::Null);
}

#[test]
fn hostile_content_of_a_lock_is_withheld_before_its_server_is_up() {
    let Some(mut run) = Run::with("hostile", true, "block") else { return };
    for is_modern in [false, true] {
        assert_eq!(names(&run.listed(is_modern)), ALL[..4]);
    }
    let described = run.session.call("describe_tool", json!({"tools": ["eager_lure"]}));
    assert_eq!(described["structuredContent"]["unknown"], json!(["eager_lure"]));
    for name in ["eager_lure", "call_tool"] {
        let answer = run.session.call(name, json!({"name": "eager_lure"}));
        assert!(text(&answer).contains("`eager_lure` is withheld, because it has hostile content"), "{answer}");
    }
    run.wake();
    run.is("eager", "connected");
    assert_eq!(names(&run.listed(false)), ALL[..4]);
    assert_eq!(run.heard("eager"), 0);
}

#[test]
fn a_lazy_server_starts_with_its_first_call() {
    for is_modern in [false, true] {
        let Some(mut run) = Run::start(&format!("lazy-{is_modern}"), false) else { return };
        run.is("eager", "connected");
        assert_eq!((run.status("lazy")["status"].clone(), run.heard("lazy")), ("idle".into(), 0));
        let call = json!({"name": "lazy_echo", "arguments": {"a": 1}});
        let call = if is_modern { modern(call) } else { call };
        assert_eq!(text(&run.session.ask("tools/call", call)), "{\"a\": 1}");
        assert_eq!(run.status("lazy")["status"], "connected");
        assert_eq!(names(&run.listed(is_modern)), ALL);
        assert_eq!((run.status("lazy")["drift"].clone(), run.heard("lazy")), (Value::Null, 1));
    }
}

#[test]
fn a_server_that_has_turned_is_not_called_by_what_its_lock_says() {
    for is_modern in [false, true] {
        let Some(mut run) = Run::start(&format!("turned-{is_modern}"), false) else { return };
        run.turn("lazy");
        let call = json!({"name": "lazy_echo", "arguments": {"a": 1}});
        let call = if is_modern { modern(call) } else { call };
        let answer = run.session.ask("tools/call", call);
        assert!(text(&answer).contains("`lazy_echo` is withheld"), "{answer}");
        assert_eq!(run.heard("lazy"), 0, "it has not even been asked");
        assert_eq!(names(&run.listed(is_modern)), ALL[1..]);
        let drift = run.status("lazy")["drift"].clone();
        assert_eq!(drift["tools"][0]["name"], "echo");
        assert_eq!(
            drift["tools"][0]["members"],
            json!(["annotations", "description", "inputSchema.properties", "title"])
        );
    }
}

#[test]
fn a_tool_that_turns_after_the_boot_is_caught() {
    let Some(mut run) = Run::start("later", false) else { return };
    assert_eq!(text(&run.session.call("lazy_echo", json!({"a": 1}))), "{\"a\": 1}");
    for id in ["lazy", "eager"] {
        run.is(id, "connected");
        run.turn(id);
        run.session.call(&format!("{id}_grow"), json!({}));
        eventually("the new list is judged", || run.status(id)["drift"]["tools"][0]["change"] == "changed");
    }
    let answer = run.session.call("lazy_echo", json!({"a": 1}));
    assert!(text(&answer).contains("is withheld"), "{answer}");
    assert_eq!(text(&run.session.call("eager_echo", json!({"a": 1}))), "{\"a\": 1}", "`warn` serves it");
    assert_eq!(names(&run.listed(false)), ["lazy_grow", "eager_echo", "eager_grow"]);
    assert_eq!(run.status("eager")["drift"]["onDrift"], "warn");
    eventually("the client is told", || {
        run.session.said().matches("is not what was locked, of 2 tools: changed `echo`").count() == 2
    });
}
