//! How a server speaks, remembered from start to start. The clock is paused.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use evokore_catalog::server::{ServerSpec, Transport};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::scripted::{Child, Run, Theatre, spec};

/// A state folder, until it is dropped.
struct Home(PathBuf);

impl Home {
    fn new() -> Home {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("evokore-memory-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let home = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&home);
        Home(home)
    }

    /// A process that starts `spec`, and the server's end.
    async fn start(&self, spec: ServerSpec) -> (Theatre, Run) {
        let home = self.0.to_str().unwrap().to_owned();
        let lookup = move |name: &str| (name == "EVOKORE_HOME").then(|| home.clone());
        let mut theatre = Theatre::set(vec![spec], |settings| settings.lookup = Arc::new(lookup));
        let run = theatre.run().await;
        (theatre, run)
    }

    fn file(&self) -> PathBuf {
        self.0.join("eras.json")
    }

    /// Waits until so many servers are remembered.
    async fn holds(&self, count: usize) {
        let mut tries = 0;
        while remembered(&self.file()) != count {
            tries += 1;
            assert!(tries < 100_000, "{:?}", std::fs::read_to_string(self.file()));
            // What writes is a thread, which the clock waits for.
            sleep(Duration::from_millis(1)).await;
        }
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn remembered(file: &Path) -> usize {
    let text = std::fs::read(file).unwrap_or_default();
    serde_json::from_slice::<Value>(&text).ok().and_then(|it| Some(it["modern"].as_object()?.len())).unwrap_or_default()
}

/// Plays a server that knows no handshake and is asked for one.
async fn refuse(child: &mut Child, method: &str) {
    let id = child.expect(method).await;
    child.say(format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"unknown"}}}}"#)).await;
}

/// Plays a server of 2026-07-28 that is asked in its own way.
async fn boot(child: &mut Child) {
    let id = child.expect("server/discover").await;
    child.answer(&id, r#"{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}"#).await;
    child.list(&["t"]).await;
}

async fn learned(home: &Home) {
    let (mut theatre, mut run) = home.start(spec("a")).await;
    refuse(&mut run.child, "initialize").await;
    boot(&mut run.child).await;
    assert_eq!(theatre.event().await, "0: t");
    home.holds(1).await;
}

#[tokio::test(start_paused = true)]
async fn a_server_without_handshake_is_asked_for_one_once() {
    let home = Home::new();
    learned(&home).await;
    let (mut theatre, mut run) = home.start(spec("a")).await;
    boot(&mut run.child).await;
    assert_eq!(theatre.event().await, "0: t");

    // One that is started or called otherwise is another server.
    let transport = Transport::Stdio { command: "played", args: &["--other"], env: &[], cwd: None };
    for spec in [spec("b"), ServerSpec { transport, ..spec("a") }] {
        let (_theatre, mut run) = home.start(spec).await;
        run.child.boot(&["t"]).await;
    }
    assert_eq!(remembered(&home.file()), 1, "who shakes hands is not written down");
}

#[tokio::test(start_paused = true)]
async fn without_a_home_the_process_remembers() {
    let mut theatre = Theatre::open(vec![spec("a")]);
    let mut run = theatre.run().await;
    refuse(&mut run.child, "initialize").await;
    boot(&mut run.child).await;
    run.exit.send("exited with code 1".to_owned()).unwrap();
    boot(&mut theatre.run().await.child).await;
}

#[tokio::test(start_paused = true)]
async fn wrong_memory_costs_one_request() {
    for is_silent in [false, true] {
        let home = Home::new();
        learned(&home).await;
        let (mut theatre, mut run) = home.start(spec("a")).await;
        let start = Instant::now();
        if is_silent {
            run.child.expect("server/discover").await;
        } else {
            refuse(&mut run.child, "server/discover").await;
        }
        // Nothing comes in between that only a server of the other era knows.
        run.child.boot(&["t"]).await;
        assert_eq!(theatre.event().await, "0: t");
        assert_eq!(start.elapsed().as_secs(), if is_silent { 5 } else { 0 });
        home.holds(0).await;
        home.start(spec("a")).await.1.child.boot(&["t"]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_no_memory_is_set_aside_and_told() {
    let home = Home::new();
    std::fs::create_dir_all(&home.0).unwrap();
    std::fs::write(home.file(), "{").unwrap();
    let (theatre, mut run) = home.start(spec("a")).await;
    run.child.boot(&["t"]).await;
    let said = theatre.said();
    assert!(said.contains("eras.json`: it is not as evokore writes it, and lies at `"), "{said}");
    assert_eq!(std::fs::read_to_string(home.0.join("eras.json.bad")).unwrap(), "{");
}
