//! The life of servers: boot, late boot, crash, restart, waiting, shutdown. The clock is paused.

use std::time::Duration;

use evokore::child::{ChildError, LaunchError, Status};
use evokore_catalog::server::{Boot, Limits, ServerSpec};
use tokio::io::AsyncWriteExt as _;
use tokio::time::{Instant, sleep, timeout};

use super::scripted::{Theatre, result, spec};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn a_boot_from_start_to_status() {
    let mut theatre = Theatre::open(vec![spec("fs"), ServerSpec { disabled: true, ..spec("off") }]);
    let mut run = theatre.run().await;
    let hello = run.child.line().await.unwrap();
    assert_eq!(
        hello.replace(env!("CARGO_PKG_VERSION"), "VERSION"),
        concat!(
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"#,
            r#""clientInfo":{"name":"evokore-proxy-fs","version":"VERSION"}}}"#
        )
    );
    assert_eq!(theatre.children.status()[0].status, Status::Booting);
    run.child.answer(&1.into(), r#"{"protocolVersion":"2025-06-18","serverInfo":{"name":"n","version":"1"}}"#).await;
    run.child.expect("notifications/initialized").await;
    run.child.list(&["read", "write"]).await;
    assert_eq!(theatre.event().await, "0: read write");
    theatre.children.ready(0).await.unwrap();
    sleep(SECOND).await;
    expect_test::expect![[r#"
        child server `fs` is booting
        child server `fs` proxied 2 tool(s)
        Proxy bootstrap complete: 2 proxied tool(s) registered."#]]
    .assert_eq(&theatre.said());
    let mut status = theatre.children.status();
    assert!(status[0].last_ping.take().is_some_and(|ms| ms > 1_600_000_000_000));
    expect_test::expect![[r#"
        [
          {
            "id": "fs",
            "status": "connected",
            "connectionType": "stdio",
            "errorCount": 0,
            "lastPing": null,
            "registeredToolCount": 2,
            "restarts": 0,
            "server": "n 1",
            "protocol": "2025-06-18"
          },
          {
            "id": "off",
            "status": "disabled",
            "connectionType": "stdio",
            "errorCount": 0,
            "lastPing": null,
            "registeredToolCount": 0,
            "restarts": 0,
            "reason": "`disabled` is true in its entry"
          }
        ]"#]]
    .assert_eq(&serde_json::to_string_pretty(&status).unwrap());
    let off = theatre.children.ready(1).await.expect_err("disabled");
    assert_eq!(off, ChildError::Disabled { id: "off" });
    assert_eq!(theatre.children.ready(2).await, Err(ChildError::Unknown(2)));
}

#[tokio::test(start_paused = true)]
async fn a_slow_server_delays_nobody() {
    let mut theatre = Theatre::open(vec![spec("slow"), spec("fast")]);
    let (mut slow, mut fast) = (theatre.run().await, theatre.run().await);
    assert_eq!((slow.id, fast.id), ("slow", "fast"));
    fast.child.boot(&["t"]).await;
    assert_eq!(theatre.event().await, "1: t");
    let call = theatre.call(1, "t");
    let id = fast.child.expect("tools/call").await;
    fast.child.answer(&id, "1").await;
    assert_eq!(call.await.unwrap(), result("1"));
    assert!(!theatre.said().contains("complete"));
    sleep(20 * SECOND).await;
    slow.child.boot(&["u", "v"]).await;
    assert_eq!(theatre.event().await, "0: u v");
    sleep(SECOND).await;
    assert!(theatre.said().ends_with("Proxy bootstrap complete: 3 proxied tool(s) registered."), "{}", theatre.said());
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_a_boot_that_is_under_way() {
    let mut theatre = Theatre::open(vec![spec("a")]);
    let mut run = theatre.run().await;
    let call = theatre.call(0, "t");
    sleep(2 * SECOND).await;
    run.child.boot(&["t"]).await;
    let id = run.child.expect("tools/call").await;
    run.child.answer(&id, "1").await;
    assert_eq!(call.await.unwrap(), result("1"));
}

#[tokio::test(start_paused = true)]
async fn a_late_server_is_not_killed_and_joins() {
    let mut theatre = Theatre::open(vec![spec("a")]);
    let mut run = theatre.run().await;
    let start = Instant::now();
    let call = theatre.call(0, "t");
    let error = call.await.unwrap().expect_err("late");
    assert_eq!((&error, start.elapsed().as_secs()), (&ChildError::Starting { id: "a" }, 30));
    assert!(error.to_string().contains("still starting, retry"), "{error}");
    sleep(SECOND).await;
    let status = &theatre.children.status()[0];
    assert_eq!((status.status, status.error_count), (Status::Error, 1));
    expect_test::expect![[r#"
        has not answered within 30 s, and is left to go on, because a launcher such as npx or uvx may be downloading it; it joins when it answers. `bootTimeoutMs` of its entry or EVOKORE_CHILD_SERVER_BOOT_TIMEOUT_MS allows more"#]]
    .assert_eq(status.reason.as_deref().unwrap());
    expect_test::expect![[r#"
        child server `a` is booting
        child server `a` failed to boot within 30 s, and is left to go on, because a launcher such as npx or uvx may be downloading it; it joins when it answers. `bootTimeoutMs` of its entry or EVOKORE_CHILD_SERVER_BOOT_TIMEOUT_MS allows more
        Proxy bootstrap complete: 0 proxied tool(s) registered."#]]
    .assert_eq(&theatre.said());
    assert_eq!(theatre.call(0, "t").await.unwrap(), Err(ChildError::Starting { id: "a" }));
    sleep(60 * SECOND).await;
    assert_eq!(run.signals.lock().unwrap().len(), 0);
    run.child.boot(&["t"]).await;
    assert_eq!(theatre.event().await, "0: t");
    theatre.children.ready(0).await.unwrap();
    let status = &theatre.children.status()[0];
    assert_eq!((status.status, status.error_count, status.registered_tools), (Status::Connected, 0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_is_given_up_at_the_second_limit() {
    let mut theatre = Theatre::open(vec![ServerSpec {
        limits: Limits { boot_timeout_ms: Some(1000), ..Limits::ABSENT },
        ..spec("a")
    }]);
    let run = theatre.run().await;
    let start = Instant::now();
    let _again = theatre.run().await;
    assert!((4..=7).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
    assert_eq!(*run.signals.lock().unwrap(), ["TERM", "KILL", "KILL"]);
    assert!(
        theatre.said().contains("failed to boot: it was not ready after 4 s; `bootTimeoutMs` of its entry"),
        "{}",
        theatre.said()
    );
}

#[tokio::test(start_paused = true)]
async fn a_crash_fails_calls_at_once_and_the_server_comes_back() {
    let mut theatre = Theatre::open(vec![spec("a")]);
    let mut run = theatre.run().await;
    run.child.boot(&["t"]).await;
    assert_eq!(theatre.event().await, "0: t");
    let call = theatre.call(0, "t");
    run.child.expect("tools/call").await;
    run.stderr.write_all(b"Traceback:\n  \x1b[31mno such module\n").await.unwrap();
    let start = Instant::now();
    run.exit.send("exited with code 3".to_owned()).unwrap();
    drop((run.child, run.stderr));
    let error = call.await.unwrap().expect_err("a crash").to_string();
    expect_test::expect![[r#"
        child server `a` went away during the call: it exited with code 3; its stderr ends with: Traceback:
          [31mno such module
        hint: it starts again by itself; make another call, or the same one in a while"#]]
    .assert_eq(&error);
    assert!(start.elapsed() < Duration::from_millis(500), "{:?}", start.elapsed());
    assert_eq!(theatre.event().await, "0: gone");
    let status = &theatre.children.status()[0];
    assert_eq!((status.status, status.error_count, status.registered_tools), (Status::Disconnected, 1, 0));
    assert!(status.stderr_tail.starts_with("Traceback"));

    // The restart is near enough to wait for.
    let call = theatre.call(0, "t");
    let mut run = theatre.run().await;
    assert!(start.elapsed() < SECOND, "{:?}", start.elapsed());
    run.child.boot(&["t", "u"]).await;
    assert_eq!(theatre.event().await, "0: t u");
    let id = run.child.expect("tools/call").await;
    run.child.answer(&id, "1").await;
    assert_eq!(call.await.unwrap(), result("1"));
    let status = &theatre.children.status()[0];
    assert_eq!((status.status, status.error_count, status.restarts), (Status::Connected, 0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_closed_stdout_counts_as_the_end_and_the_rest_is_stopped() {
    let mut theatre = Theatre::open(vec![spec("a")]);
    let mut run = theatre.run().await;
    run.child.boot(&["t"]).await;
    theatre.event().await;
    drop(run.child);
    assert_eq!(theatre.event().await, "0: gone");
    sleep(SECOND).await;
    assert_eq!(*run.signals.lock().unwrap(), ["TERM", "KILL", "KILL"]);
    assert!(theatre.said().contains("child server `a` closed its std"), "{}", theatre.said());
}

#[tokio::test(start_paused = true)]
async fn a_crash_loop_ends_in_a_slow_retry_and_is_told_once() {
    let mut theatre = Theatre::open(vec![spec("a")]);
    let mut gaps = Vec::new();
    let mut last = Instant::now();
    for _ in 0..13 {
        let mut run = theatre.run().await;
        gaps.push(last.elapsed().as_secs_f64());
        last = Instant::now();
        run.stderr.write_all(b"fatal: no such module\n").await.unwrap();
        run.exit.send("exited with code 1".to_owned()).unwrap();
    }
    for (gap, expected) in gaps[1..].iter().zip([0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 300.0, 300.0])
    {
        assert!((0.7 * expected..1.3 * expected + 0.5).contains(gap), "{gap} s, expected about {expected} s");
    }
    sleep(10 * SECOND).await;
    let said = theatre.said();
    assert_eq!(said.matches("failed to boot: it exited with code 1; its stderr ends with: fatal").count(), 1, "{said}");
    assert_eq!(said.matches("Proxy bootstrap complete").count(), 1, "{said}");
    let status = &theatre.children.status()[0];
    assert_eq!(status.status, Status::Error);
    assert!(status.reason.as_deref().unwrap_or_default().ends_with("(13 failures in a row)"), "{:?}", status.reason);
    let error = theatre.call(0, "t").await.unwrap().expect_err("down").to_string();
    assert!(error.contains("is not running: it exited with code 1") && error.contains("it starts again in"), "{error}");
    // Someone who has mended it need not wait.
    theatre.children.refresh(0).unwrap();
    timeout(SECOND, theatre.run()).await.expect("started at once");
}

#[tokio::test(start_paused = true)]
async fn missing_variables() {
    let specs = || vec![ServerSpec { optional: true, ..spec("gh") }, spec("db")];
    let missing = LaunchError::Missing("`env.TOKEN` needs `TOKEN`, which is not set".to_owned());
    let theatre = Theatre::refusing(specs(), missing);
    sleep(SECOND).await;
    expect_test::expect![[r#"
        child server `gh` waits: `env.TOKEN` needs `TOKEN`, which is not set
        child server `db` failed to boot: `env.TOKEN` needs `TOKEN`, which is not set
        Proxy bootstrap complete: 0 proxied tool(s) registered."#]]
    .assert_eq(&theatre.said());
    let status = theatre.children.status();
    assert_eq!((status[0].status, status[0].error_count), (Status::Waiting, 0));
    assert_eq!((status[1].status, status[1].error_count), (Status::Error, 1));
    let errors: Vec<_> = [theatre.call(0, "t").await, theatre.call(1, "t").await]
        .into_iter()
        .map(|call| call.unwrap().expect_err("not up").to_string())
        .collect();
    expect_test::expect![[r#"
        child server `gh` waits: `env.TOKEN` needs `TOKEN`, which is not set
        hint: set it in the environment or in `.env`, then start evokore again
        child server `db` is not running: `env.TOKEN` needs `TOKEN`, which is not set"#]]
    .assert_eq(&errors.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn a_foreign_protocol_version_is_refused() {
    let mut theatre = Theatre::open(vec![spec("a")]);
    let mut run = theatre.run().await;
    let id = run.child.expect("initialize").await;
    run.child.answer(&id, r#"{"protocolVersion":"2026-07-28"}"#).await;
    sleep(SECOND / 4).await;
    let reason = theatre.children.status()[0].reason.clone().unwrap_or_default();
    assert_eq!(
        reason,
        "speaks protocol version `2026-07-28`; evokore speaks 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25 with child servers"
    );
}

#[tokio::test(start_paused = true)]
async fn a_lazy_server_starts_on_its_first_call() {
    let mut theatre = Theatre::open(vec![ServerSpec { boot: Boot::Lazy, ..spec("a") }]);
    sleep(SECOND).await;
    assert_eq!(theatre.said(), "Proxy bootstrap complete: 0 proxied tool(s) registered.");
    assert_eq!(theatre.children.status()[0].status, Status::Idle);
    let call = theatre.call(0, "t");
    let mut run = theatre.run().await;
    run.child.boot(&["t"]).await;
    let id = run.child.expect("tools/call").await;
    run.child.answer(&id, "1").await;
    assert_eq!(call.await.unwrap(), result("1"));
}

#[tokio::test(start_paused = true)]
async fn shutdown_is_polite_first_and_ends_in_time() {
    let mut theatre = Theatre::open(vec![spec("polite"), spec("deaf"), spec("booting")]);
    let (mut polite, mut deaf, booting) = (theatre.run().await, theatre.run().await, theatre.run().await);
    polite.child.boot(&["t"]).await;
    deaf.child.boot(&["t"]).await;
    let call = theatre.call(1, "t");
    deaf.child.expect("tools/call").await;
    let polite_signals = polite.signals.clone();
    tokio::spawn(async move {
        assert_eq!(polite.child.line().await, None);
        polite.exit.send("exited with code 0".to_owned()).unwrap();
    });
    let start = Instant::now();
    theatre.children.shutdown().await;
    assert!(start.elapsed() <= Duration::from_millis(800), "{:?}", start.elapsed());
    // The last KILL is the group's handle being dropped.
    assert_eq!(*polite_signals.lock().unwrap(), ["KILL"]);
    assert_eq!(*deaf.signals.lock().unwrap(), ["TERM", "KILL", "KILL"]);
    assert_eq!(*booting.signals.lock().unwrap(), ["TERM", "KILL", "KILL"]);
    let error = call.await.unwrap().expect_err("shut down").to_string();
    assert_eq!(error, "child server `deaf` is not running: evokore shuts down");
    assert!(theatre.call(0, "t").await.unwrap().is_err());
}

#[tokio::test(start_paused = true)]
async fn dropping_the_handle_stops_the_children() {
    let mut theatre = Theatre::open(vec![spec("a")]);
    let run = theatre.run().await;
    drop(theatre);
    sleep(SECOND).await;
    assert!(run.signals.lock().unwrap().contains(&"KILL"));
}

#[tokio::test(start_paused = true)]
async fn a_defect_of_ours_is_told_and_nobody_waits_for_it() {
    use std::sync::{Arc, Mutex};

    use evokore::child::{ChildSettings, Children, Launched, Launcher};

    struct Defect;
    impl Launcher for Defect {
        fn launch(&self, _spec: &ServerSpec) -> Result<Launched, LaunchError> {
            panic!("a defect, on purpose")
        }
    }
    let said = Arc::<Mutex<Vec<String>>>::default();
    let log = said.clone();
    let say = Arc::new(move |line: &str| log.lock().unwrap().push(line.to_owned()));
    let settings = ChildSettings::new(Arc::new(|_: &str| None), say);
    let children = Children::start_with(vec![spec("a")].leak(), settings, super::scripted::no_sink(), Arc::new(Defect));
    let error = children.ready(0).await.expect_err("no boot").to_string();
    assert_eq!(error, "child server `a` is not running: its task has failed\nhint: start evokore again");
    sleep(SECOND).await;
    assert_eq!(*said.lock().unwrap(), ["Background proxy bootstrap failed: the task of child server `a` died"]);
    assert_eq!(children.status()[0].status, Status::Error);
}
