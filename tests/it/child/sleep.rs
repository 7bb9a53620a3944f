//! Servers that are stopped while nobody calls them. The clock is paused.

use std::time::Duration;

use evokore::child::{ChildError, Status};
use evokore_catalog::server::{Limits, ServerSpec};
use tokio::time::{Instant, sleep};

use super::scripted::{Run, Theatre, result, spec};

const SECOND: Duration = Duration::from_secs(1);

/// A server that may be idle for a minute, up.
async fn up() -> (Theatre, Run) {
    let limits = Limits { idle_timeout_ms: Some(60_000), ..Limits::ABSENT };
    let mut theatre = Theatre::open(vec![ServerSpec { limits, ..spec("a") }, spec("b")]);
    let (mut run, mut other) = (theatre.run().await, theatre.run().await);
    other.child.boot(&["u"]).await;
    run.child.boot(&["t"]).await;
    assert_eq!([theatre.event().await, theatre.event().await], ["1: u", "0: t"]);
    std::mem::forget(other);
    (theatre, run)
}

/// Waits until the child's stdin is closed, and ends it.
async fn fall_asleep(mut run: Run) {
    assert_eq!(run.child.line().await, None);
    run.exit.send("exited with code 0".to_owned()).expect("it runs");
    sleep(SECOND / 2).await;
    assert!(
        run.signals.lock().expect("no panic").iter().all(|signal| *signal == "KILL"),
        "it went by itself: {:?}",
        run.signals
    );
}

#[tokio::test(start_paused = true)]
async fn it_sleeps_keeps_its_tools_and_wakes_with_a_call() {
    let (mut theatre, mut run) = up().await;
    sleep(50 * SECOND).await;
    let call = theatre.call(0, "t");
    let id = run.child.expect("tools/call").await;
    // A call that takes longer than the limit keeps it awake.
    sleep(59 * SECOND).await;
    run.child.answer(&id, "1").await;
    assert_eq!(call.await.unwrap(), result("1"));
    let start = Instant::now();
    fall_asleep(run).await;
    assert_eq!(start.elapsed().as_secs(), 60);
    let status = &theatre.children.status()[0];
    assert_eq!((status.status, status.registered_tools, status.error_count), (Status::Idle, 1, 0));
    assert_eq!(status.reason.as_deref(), Some("was not called for 60 s; starts again on its next call"));
    assert_eq!(theatre.children.status()[1].status, Status::Connected, "only who may sleep does");
    assert_eq!(theatre.events(), [""; 0], "its tools stay listed");

    let call = theatre.call(0, "t");
    let mut run = theatre.run().await;
    run.child.boot(&["t"]).await;
    let id = run.child.expect("tools/call").await;
    run.child.answer(&id, "2").await;
    assert_eq!(call.await.unwrap(), result("2"));
    let status = &theatre.children.status()[0];
    assert_eq!((status.status, status.restarts), (Status::Connected, 0));
    fall_asleep(run).await;
    assert_eq!(theatre.children.status()[0].status, Status::Idle, "again and again");
}

#[tokio::test(start_paused = true)]
async fn a_call_while_it_falls_asleep_is_not_lost() {
    let (mut theatre, mut run) = up().await;
    assert_eq!(run.child.line().await, None);
    let call = theatre.call(0, "t");
    run.exit.send("exited with code 0".to_owned()).unwrap();
    let mut run = theatre.run().await;
    run.child.boot(&["t"]).await;
    let id = run.child.expect("tools/call").await;
    run.child.answer(&id, "1").await;
    assert_eq!(call.await.unwrap(), result("1"));
}

#[tokio::test(start_paused = true)]
async fn one_that_does_not_wake_is_not_listed_any_more() {
    let (mut theatre, run) = up().await;
    fall_asleep(run).await;
    let call = theatre.call(0, "t");
    let run = theatre.run().await;
    run.exit.send("exited with code 1".to_owned()).unwrap();
    assert_eq!(theatre.event().await, "0: gone");
    let status = &theatre.children.status()[0];
    assert_eq!((status.status, status.registered_tools), (Status::Error, 0));
    let mut run = theatre.run().await;
    run.child.boot(&["t"]).await;
    assert_eq!(theatre.event().await, "0: t");
    let id = run.child.expect("tools/call").await;
    run.child.answer(&id, "1").await;
    assert_eq!(call.await.unwrap(), result("1"), "the restart was near enough to wait for");
    assert_ne!(theatre.children.ready(0).await, Err(ChildError::Starting { id: "a" }));
}
