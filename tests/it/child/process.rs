//! Real processes: environment, pipes, crash and restart, process groups. Needs `python3` and `/proc`.

#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_methods, reason = "variables of the test run, which evokore itself never reads")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use evokore::child::{ChildCall, ChildError, ChildReply, ChildSettings, Children, Status};
use evokore_catalog::server::{ServerSpec, Transport};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::scripted::{no_sink, spec, to};

/// Long enough for a loaded machine.
const LONG: Duration = Duration::from_secs(30);

/// A folder of one test, and its child server.
struct Real {
    children: Children,
    folder: PathBuf,
    said: Arc<Mutex<Vec<String>>>,
}

/// Starts the test server with these habits; `None`, said loudly, where there is no Python.
fn start(habits: &'static [&'static str], settings: impl FnOnce(&mut ChildSettings)) -> Option<Real> {
    start_as(habits, |_| (), settings)
}

/// The same with another entry in the configuration.
fn start_as(
    habits: &'static [&'static str],
    entry: impl FnOnce(&mut ServerSpec),
    settings: impl FnOnce(&mut ChildSettings),
) -> Option<Real> {
    static FOLDERS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    if !has_python() {
        return None;
    }
    let number = FOLDERS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("evokore-child-{}-{number}", std::process::id()));
    std::fs::create_dir_all(folder.join("work")).expect("a folder");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/support/child.py");
    let args = std::iter::once(script).chain(habits.iter().copied()).collect::<Vec<_>>().leak();
    let transport = Transport::Stdio {
        command: "python3",
        args,
        env: &[("KEY", "${SECRET}"), ("STATE", "${FOLDER}/state")],
        cwd: Some("work"),
    };
    let mut spec = ServerSpec { transport, inherit_env: &["GIVEN"], ..spec("real") };
    entry(&mut spec);
    let specs = vec![spec].leak();
    let said = Arc::<Mutex<Vec<_>>>::default();
    let log = said.clone();
    let base = folder.clone();
    let lookup = move |name: &str| match name {
        "SECRET" | "OTHER_SECRET" | "OTHERS" | "EVOKORE_TOKEN" => Some("s3cret".to_owned()),
        "GIVEN" => Some("given".to_owned()),
        "FOLDER" => Some(base.to_string_lossy().into_owned()),
        _ => std::env::var(name).ok(),
    };
    let say = move |line: &str| log.lock().expect("no panic").push(line.to_owned());
    let mut own = ChildSettings::new(Arc::new(lookup), Arc::new(say));
    own.base.clone_from(&folder);
    own.names = Arc::new(|| ["OTHER_SECRET", "OTHERS", "EVOKORE_TOKEN"].map(str::to_owned).to_vec());
    settings(&mut own);
    Some(Real { children: Children::start(specs, own, no_sink()), folder, said })
}

pub(super) fn has_python() -> bool {
    let found = std::process::Command::new("python3").arg("--version").output().is_ok_and(|out| out.status.success());
    if !found {
        let ci = std::env::var("CI").is_ok_and(|value| value == "true");
        assert!(!ci, "python3 is missing, and in CI nothing may be skipped");
        let _ = writeln!(std::io::stderr(), "skipped: real child processes need `python3`, which is not installed");
    }
    found
}

impl Real {
    async fn call(&self, tool: &str, arguments: Value) -> Result<Value, ChildError> {
        let call = ChildCall { arguments: Some(Bytes::from(arguments.to_string())), ..to(tool) };
        match timeout(LONG, self.children.call(0, call)).await.expect("an answer")? {
            ChildReply::Result(bytes) => Ok(serde_json::from_slice(&bytes).expect("JSON")),
            ChildReply::InputRequired(bytes) | ChildReply::Task(bytes) | ChildReply::Error(bytes) => {
                panic!("{bytes:?}")
            }
        }
    }

    async fn about(&self) -> Value {
        self.call("about", json!({})).await.expect("an answer")["structuredContent"].clone()
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Whether a process runs; one that waits to be reaped does not.
fn is_alive(pid: &Value) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

async fn ends(pid: &Value) {
    let gone = async {
        while is_alive(pid) {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(LONG, gone).await.expect("the process ends");
}

#[tokio::test]
async fn a_child_sees_its_own_environment_and_nothing_else() {
    let Some(real) = start(&["~/x", "a&b", "${SECRET}"], |_| ()) else { return };
    let about = real.about().await;
    let env = about["env"].as_object().expect("an object");
    assert_eq!((&env["KEY"], &env["GIVEN"]), (&json!("s3cret"), &json!("given")));
    for name in ["OTHER_SECRET", "EVOKORE_TOKEN", "SECRET", "FOLDER", "CARGO_MANIFEST_DIR", "CARGO"] {
        assert!(!env.contains_key(name), "{name}");
    }
    assert_eq!(env.get("HOME").and_then(Value::as_str), std::env::var("HOME").ok().as_deref());
    assert!(Path::new(about["cwd"].as_str().unwrap_or_default()).ends_with("work"));
    let argv = about["argv"].as_array().expect("a list");
    let home = std::env::var("HOME").unwrap_or_default();
    assert_eq!(argv[1..], [json!(format!("{home}/x")), json!("a&b"), json!("s3cret")]);
    real.children.shutdown().await;
}

#[tokio::test]
async fn more_of_the_environment_is_asked_for_by_name_beginning_or_file() {
    let everything = "CARGO_MANIFEST_DIR";
    for (inherit, given, withheld) in [
        (&["OTHER_*"][..], &["OTHER_SECRET"][..], &["OTHERS", "EVOKORE_TOKEN", everything][..]),
        (&["E*", "EVOKORE_TOKEN"], &[], &["OTHER_SECRET", "EVOKORE_TOKEN", everything]),
        (&["*"], &[everything], &["OTHER_SECRET", "EVOKORE_TOKEN"]),
    ] {
        let entry = |spec: &mut ServerSpec| {
            spec.inherit_env = inherit;
            spec.env_file = Some("of-${GIVEN}.env");
        };
        let text = "\u{feff}# own\nexport ONLY='in the file'\nKEY=of the file\nno line\n";
        let settings = |own: &mut ChildSettings| std::fs::write(own.base.join("of-given.env"), text).expect("a file");
        let Some(real) = start_as(&[], entry, settings) else { return };
        let about = real.about().await;
        let env = about["env"].as_object().expect("an object");
        assert!(given.iter().all(|name| env.contains_key(*name)), "{inherit:?}: {env:?}");
        assert!(!withheld.iter().any(|name| env.contains_key(*name)), "{inherit:?}: {env:?}");
        assert_eq!((&env["ONLY"], &env["KEY"]), (&json!("in the file"), &json!("s3cret")), "its own `env` wins");
        let said = real.said.lock().expect("no panic").join("\n");
        assert!(said.contains("child server `real`: of-${GIVEN}.env:4: no `=` in the line"), "{said}");
        real.children.shutdown().await;
    }
}

#[tokio::test]
async fn a_file_of_variables_that_is_not_there_costs_that_server() {
    let entry = |spec: &mut ServerSpec| spec.env_file = Some("${SECRET}/gone.env");
    let Some(real) = start_as(&[], entry, |_| ()) else { return };
    let error = real.call("about", json!({})).await.expect_err("not started").to_string();
    let told = "its `envFile` `${SECRET}/gone.env` cannot be read";
    assert!(error.contains(told) && !error.contains("s3cret"), "{error}");
    std::fs::create_dir_all(real.folder.join("s3cret")).expect("a folder");
    std::fs::write(real.folder.join("s3cret/gone.env"), "NOW=1\n").expect("a file");
    // It starts again by itself.
    while real.call("about", json!({})).await.is_err() {
        sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(real.about().await["env"]["NOW"], "1");
    real.children.shutdown().await;
}

#[tokio::test]
async fn a_flood_on_stderr_blocks_nobody_and_its_end_is_kept() {
    let Some(real) = start(&["flood"], |_| ()) else { return };
    for n in 0..3 {
        let echo = real.call("echo", json!({"n": n})).await.expect("an answer");
        assert_eq!(echo["content"][0]["text"], format!("{{\"n\": {n}}}"));
    }
    real.children.shutdown().await;
    let status = &real.children.status()[0];
    assert!(status.stderr_tail.ends_with("flood is over"), "{}", status.stderr_tail);
}

#[tokio::test]
async fn characters_cut_by_the_pipe_arrive_whole() {
    let Some(real) = start(&["split"], |_| ()) else { return };
    let text = "≤ 日本 😀 \u{2028} end";
    let echo = real.call("echo", json!({"text": text})).await.expect("an answer");
    assert_eq!(echo["content"][0]["text"], json!({"text": text}).to_string().replace("\":", "\": "));
    real.children.shutdown().await;
}

#[tokio::test]
async fn large_answers_pass_and_too_large_ones_fail_at_once() {
    let Some(real) = start(&[], |settings| settings.max_result = 16 << 20) else { return };
    let large = real.call("huge", json!({"megabytes": 12})).await.expect("within the limit");
    assert_eq!(large["content"][0]["text"].as_str().map(str::len), Some(12_000_000));
    for megabytes in [17, 60] {
        let error = real.call("huge", json!({"megabytes": megabytes})).await.expect_err("over the limit");
        assert!(matches!(error, ChildError::TooLarge { limit: 16_777_216, .. }), "{error}");
    }
    let echo = real.call("echo", json!({})).await.expect("still usable");
    assert_eq!(echo["content"][0]["text"], "{}");
    real.children.shutdown().await;
}

#[tokio::test]
async fn a_crash_is_noticed_at_once_and_mended() {
    let Some(real) = start(&["crash", "once"], |_| ()) else { return };
    real.children.ready(0).await.expect("up");
    let start = Instant::now();
    let error = real.call("echo", json!({})).await.expect_err("a crash").to_string();
    let expected = "child server `real` went away during the call: it exited with code 3; its stderr ends with: \
                    fatal: out of luck\nhint: it starts again by itself; make another call, or the same one in a while";
    assert_eq!(error, expected);
    assert!(start.elapsed() < LONG, "{:?}", start.elapsed());
    real.call("echo", json!({})).await.expect("the next run answers");
    let status = &real.children.status()[0];
    assert_eq!((status.status, status.restarts, status.registered_tools), (Status::Connected, 1, 3));
    let said = real.said.lock().expect("no panic").join("\n");
    assert!(said.contains("child server `real` exited with code 3"), "{said}");
    real.children.shutdown().await;
}

#[tokio::test]
async fn a_child_that_stops_speaking_is_replaced() {
    let Some(real) = start(&["half"], |_| ()) else { return };
    let before = real.children.ready(0).await;
    assert_eq!(before, Ok(()));
    let error = real.call("echo", json!({})).await.expect_err("no answer").to_string();
    assert!(error.contains("went away during the call: it closed its stdout"), "{error}");
    real.children.ready(0).await.expect("the next run");
    assert_eq!(real.children.status()[0].restarts, 1);
    real.children.shutdown().await;
}

#[tokio::test]
async fn shutdown_leaves_neither_child_nor_grandchild() {
    for habits in [&["orphan"][..], &["orphan", "deaf"]] {
        let Some(real) = start(habits, |_| ()) else { return };
        let about = real.about().await;
        assert!(is_alive(&about["pid"]) && is_alive(&about["grandchild"]), "{about}");
        real.children.shutdown().await;
        ends(&about["pid"]).await;
        ends(&about["grandchild"]).await;
    }
}

#[tokio::test]
async fn a_crash_takes_the_grandchild_along() {
    let Some(real) = start(&["orphan"], |_| ()) else { return };
    let about = real.about().await;
    let pid = about["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok()).expect("a process id");
    std::process::Command::new("kill").args(["-9", &pid.to_string()]).status().expect("kill");
    ends(&about["pid"]).await;
    ends(&about["grandchild"]).await;
    real.children.ready(0).await.expect("the next run");
    assert_ne!(real.about().await["pid"], about["pid"]);
    real.children.shutdown().await;
}

#[test]
fn the_end_of_the_runtime_leaves_nothing_behind() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let about = runtime.block_on(async {
        let real = start(&["orphan", "deaf"], |_| ())?;
        let about = real.about().await;
        std::mem::forget(real.children.clone());
        Some(about)
    });
    drop(runtime);
    let Some(about) = about else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        ends(&about["pid"]).await;
        ends(&about["grandchild"]).await;
    });
}

#[tokio::test(start_paused = true)]
async fn what_does_not_start_says_why_in_the_words_of_the_configuration() {
    let cases: [(&'static str, Option<&'static str>, &str); 3] = [
        ("${SECRET}-no-such-program", None, "the program `${SECRET}-no-such-program` was not found"),
        ("/etc", None, "the program `/etc` may not be executed"),
        ("python3", Some("${SECRET}/gone"), "its `cwd` `${SECRET}/gone` is no folder"),
    ];
    for (command, cwd, expected) in cases {
        let transport = Transport::Stdio { command, args: &[], env: &[], cwd };
        let specs = vec![ServerSpec { transport, ..spec("bad") }].leak();
        let lookup = |name: &str| if name == "SECRET" { Some("s3cret".to_owned()) } else { std::env::var(name).ok() };
        let settings = ChildSettings::new(Arc::new(lookup), Arc::new(|_: &str| ()));
        let children = Children::start(specs, settings, no_sink());
        // The first restarts are near enough to wait for; a later one is not.
        let error = children.call(0, to("t")).await.expect_err("not started").to_string();
        assert!(error.contains(expected) && !error.contains("s3cret"), "{error}");
        children.shutdown().await;
    }
}
