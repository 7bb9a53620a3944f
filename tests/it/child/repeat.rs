//! What is done a second time when a child dies of it, and what is not. The clock is paused.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use evokore::child::{ChildCall, ChildError, ChildReply, Still};
use evokore_catalog::server::{Limits, ServerSpec};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use super::scripted::{Run, Theatre, result, spec, to};

const SECOND: Duration = Duration::from_secs(1);

fn harmless() -> ChildCall {
    ChildCall { repeatable: true, ..to("t") }
}

async fn up(theatre: &mut Theatre) -> Run {
    let mut run = theatre.run().await;
    run.child.boot(&["t"]).await;
    run
}

#[tokio::test(start_paused = true)]
async fn a_harmless_call_is_made_once_more_and_no_more() {
    let mut theatre = Theatre::open(vec![spec("a")]);
    let mut run = up(&mut theatre).await;
    let (progress, mut told) = mpsc::channel(8);
    let call = theatre.make(0, ChildCall { progress: Some(progress), ..harmless() });
    let id = run.child.expect("tools/call").await;
    let report = |id| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{id},"progress":1}}}}"#
        )
    };
    run.child.say(report(&id)).await;
    run.exit.send("exited with code 3".to_owned()).unwrap();
    let mut run = up(&mut theatre).await;
    let id = run.child.expect("tools/call").await;
    run.child.say(report(&id)).await;
    run.child.answer(&id, "1").await;
    assert_eq!(call.await.unwrap(), result("1"));
    let mut reports = 0;
    while told.recv().await.is_some() {
        reports += 1;
    }
    assert_eq!(reports, 1, "progress only grows");

    let call = theatre.make(0, harmless());
    run.child.expect("tools/call").await;
    run.exit.send("exited with code 3".to_owned()).unwrap();
    let mut run = up(&mut theatre).await;
    run.child.expect("tools/call").await;
    run.exit.send("exited with code 4".to_owned()).unwrap();
    let error = call.await.unwrap().expect_err("the second end counts");
    assert!(error.to_string().contains("exited with code 4"), "{error}");
    let mut run = up(&mut theatre).await;
    assert!(timeout(30 * SECOND, run.child.line()).await.is_err(), "nothing is called a third time");
}

#[tokio::test(start_paused = true)]
async fn any_other_call_fails_at_once() {
    let mut theatre = Theatre::open(vec![spec("a")]);
    let mut run = up(&mut theatre).await;
    let call = theatre.call(0, "t");
    run.child.expect("tools/call").await;
    let start = Instant::now();
    run.exit.send("exited with code 3".to_owned()).unwrap();
    assert!(matches!(call.await.unwrap(), Err(ChildError::Exited { .. })));
    assert!(start.elapsed() < SECOND / 2, "{:?}", start.elapsed());
    let mut run = up(&mut theatre).await;
    assert!(timeout(30 * SECOND, run.child.line()).await.is_err(), "it is not made again");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_not_back_in_time_is_not_waited_for() {
    let mut theatre = Theatre::open(vec![spec("a")]);
    let mut run = up(&mut theatre).await;
    let call = theatre.make(0, harmless());
    run.child.expect("tools/call").await;
    let start = Instant::now();
    run.exit.send("exited with code 3".to_owned()).unwrap();
    let _booting = theatre.run().await;
    let error = call.await.unwrap().expect_err("it boots for too long");
    assert!(error.to_string().contains("exited with code 3"), "{error}");
    assert!((5..7).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn neither_cancelled_nor_late_calls_are_made_again() {
    let limits = Limits { call_timeout_ms: Some(2000), ..Limits::ABSENT };
    let mut theatre = Theatre::open(vec![ServerSpec { limits, ..spec("a") }]);
    let mut run = up(&mut theatre).await;
    let call = theatre.make(0, harmless());
    run.child.expect("tools/call").await;
    assert!(matches!(call.await.unwrap(), Err(ChildError::TimedOut { .. })));
    run.child.expect("notifications/cancelled").await;

    let given_up = harmless();
    let call = theatre.make(0, given_up.clone());
    run.child.expect("tools/call").await;
    run.exit.send("exited with code 3".to_owned()).unwrap();
    drop(run.child);
    sleep(SECOND / 4).await;
    given_up.cancelled.cancel();
    assert_eq!(call.await.unwrap(), Err(ChildError::Cancelled { id: "a" }));
    let mut run = up(&mut theatre).await;
    assert!(timeout(30 * SECOND, run.child.line()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn errors_of_tools_and_of_the_protocol_are_answers() {
    let mut theatre = Theatre::open(vec![spec("a")]);
    let mut run = up(&mut theatre).await;
    for (answer, expected) in [
        (r#""result":{"isError":true,"content":[]}"#, r#"{"isError":true,"content":[]}"#),
        (r#""error":{"code":-32603,"message":"no"}"#, r#"{"code":-32603,"message":"no"}"#),
    ] {
        for _ in 0..20 {
            let call = theatre.make(0, harmless());
            let id = run.child.expect("tools/call").await;
            run.child.say(format!(r#"{{"jsonrpc":"2.0","id":{id},{answer}}}"#)).await;
            let (ChildReply::Result(bytes) | ChildReply::Error(bytes)) = call.await.unwrap().expect("an answer") else {
                panic!("no call needs to know more")
            };
            assert_eq!(bytes, expected);
        }
    }
    let status = &theatre.children.status()[0];
    assert_eq!((status.error_count, status.restarts), (0, 0), "the server is well");
}

#[tokio::test(start_paused = true)]
async fn what_a_call_was_judged_by_is_looked_at_each_time_it_is_sent() {
    let holds = Arc::new(AtomicBool::new(true));
    let judged = || {
        let holds = holds.clone();
        ChildCall { still: Some(Still::new(move || holds.load(Relaxed))), ..harmless() }
    };
    let changed = Err(ChildError::Changed { id: "a" });
    let mut theatre = Theatre::open(vec![spec("a")]);
    // One that waits for the boot.
    let waits = theatre.make(0, judged());
    let mut run = theatre.run().await;
    holds.store(false, Relaxed);
    run.child.boot(&["t"]).await;
    assert_eq!(waits.await.unwrap(), changed);
    assert!(timeout(30 * SECOND, run.child.line()).await.is_err(), "the server hears nothing of it");

    // One that would be made again.
    holds.store(true, Relaxed);
    let again = theatre.make(0, judged());
    run.child.expect("tools/call").await;
    holds.store(false, Relaxed);
    run.exit.send("exited with code 3".to_owned()).unwrap();
    let mut run = up(&mut theatre).await;
    assert_eq!(again.await.unwrap(), changed);
    assert!(timeout(30 * SECOND, run.child.line()).await.is_err());
}
