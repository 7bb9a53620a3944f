//! Many at once: boots that take turns, calls that wait for a place, noise. The clock is paused.

use std::time::Duration;

use evokore::child::{ChildCall, ChildError, Status};
use evokore::session::SessionId;
use evokore_catalog::server::{Limits, ServerSpec};
use tokio::time::{Instant, sleep, timeout};

use super::scripted::{Theatre, result, spec, to};

const SECOND: Duration = Duration::from_secs(1);

fn limited(limits: Limits) -> ServerSpec {
    ServerSpec { limits, ..spec("a") }
}

#[tokio::test(start_paused = true)]
async fn boots_take_turns_in_configured_order() {
    let specs = ["a", "b", "c", "d", "e"].map(spec).to_vec();
    let mut theatre = Theatre::set(specs, |settings| settings.concurrent_boots = 2);
    let (mut a, mut b) = (theatre.run().await, theatre.run().await);
    assert_eq!((a.id, b.id), ("a", "b"));
    assert!(timeout(SECOND, theatre.run()).await.is_err(), "the others wait");
    let status = &theatre.children.status()[2];
    assert_eq!(status.status, Status::Booting);
    expect_test::expect!["waits until fewer servers boot; `maxConcurrentBoots` of the configuration allows more"]
        .assert_eq(status.reason.as_deref().unwrap());

    b.child.boot(&["t"]).await;
    let c = theatre.run().await;
    assert_eq!(c.id, "c", "the turn of one that is up goes to the next");
    let call = theatre.call(1, "t");
    let id = b.child.expect("tools/call").await;
    b.child.answer(&id, "1").await;
    assert_eq!(call.await.unwrap(), result("1"), "one that is up need not wait for those that boot");

    c.exit.send("exited with code 1".to_owned()).unwrap();
    let mut d = theatre.run().await;
    assert_eq!(d.id, "d", "and so does that of one that fails");
    d.child.boot(&["t"]).await;
    let e = theatre.run().await;
    assert_eq!(e.id, "e", "one that starts again stands behind those that have not started");
    let late = Instant::now();
    assert_eq!(theatre.run().await.id, "c");
    assert!((28..=30).contains(&late.elapsed().as_secs()), "the turn of one that is late, too: {:?}", late.elapsed());
    a.child.boot(&["t"]).await;
    sleep(SECOND).await;
    theatre.children.ready(0).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn calls_beyond_the_limit_wait_and_sessions_take_turns() {
    let limits = Limits { max_in_flight: Some(1), call_timeout_ms: Some(10_000), ..Limits::ABSENT };
    let mut theatre = Theatre::open(vec![limited(limits)]);
    let mut run = theatre.run().await;
    run.child.boot(&["t"]).await;
    let (one, other) = (Some(SessionId::next()), Some(SessionId::next()));
    let mut calls = Vec::new();
    for (caller, tool) in [(one, "a1"), (one, "a2"), (one, "a3"), (other, "b1"), (other, "b2")] {
        let call = ChildCall { caller, ..to(tool) };
        let cancelled = call.cancelled.clone();
        calls.push((theatre.make(0, call), cancelled));
        tokio::task::yield_now().await;
    }
    calls[4].1.cancel();
    let (given_up, _) = calls.pop().unwrap();
    assert_eq!(given_up.await.unwrap(), Err(ChildError::Cancelled { id: "a" }), "while it waits");
    let mut order = Vec::new();
    for _ in 0..4 {
        // Each takes most of the limit, which begins when it is sent.
        let request = run.child.next().await;
        order.push(request["params"]["name"].as_str().unwrap().to_owned());
        assert!(timeout(2 * SECOND, run.child.line()).await.is_err(), "one at a time");
        run.child.answer(&request["id"], "1").await;
    }
    assert_eq!(order, ["a1", "a2", "b1", "a3"]);
    for (call, _) in calls {
        assert_eq!(call.await.unwrap(), result("1"));
    }
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_place_has_a_limit_and_costs_the_server_nothing() {
    let limits = Limits { max_in_flight: Some(1), call_timeout_ms: Some(10_000), ..Limits::ABSENT };
    let mut theatre = Theatre::open(vec![limited(limits), spec("b")]);
    let (mut run, mut other) = (theatre.run().await, theatre.run().await);
    run.child.boot(&["t"]).await;
    other.child.boot(&["t"]).await;
    let first = theatre.call(0, "t");
    let id = run.child.expect("tools/call").await;
    let token = &id;
    let second = theatre.call(0, "t");
    let call = theatre.call(1, "t");
    let id_b = other.child.expect("tools/call").await;
    other.child.answer(&id_b, "1").await;
    assert_eq!(call.await.unwrap(), result("1"), "a full server holds up no other");
    sleep(9 * SECOND).await;
    run.child
        .say(format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":1}}}}"#
        ))
        .await;
    expect_test::expect![[r#"
        child server `a` works on 1 calls already, and none was finished within 10 s
        hint: call again later; `maxInFlight` of its entry allows more at the same time"#]]
    .assert_eq(&second.await.unwrap().expect_err("no place").to_string());
    run.child.answer(&id, "1").await;
    assert_eq!(first.await.unwrap(), result("1"));
    assert_eq!(theatre.children.status()[0].error_count, 0);
}

#[tokio::test(start_paused = true)]
async fn a_list_has_a_limit_of_its_own() {
    let limits = Limits { list_timeout_ms: Some(2000), ..Limits::ABSENT };
    let mut theatre = Theatre::open(vec![limited(limits)]);
    let mut run = theatre.run().await;
    run.child.boot(&["t"]).await;
    assert_eq!(theatre.event().await, "0: t");
    run.child.say(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#).await;
    run.child.expect("tools/list").await;
    let start = Instant::now();
    run.child.expect("notifications/cancelled").await;
    assert_eq!(start.elapsed().as_secs(), 2);
    sleep(SECOND).await;
    let status = &theatre.children.status()[0];
    assert_eq!((status.status, status.registered_tools), (Status::Connected, 1), "the list so far stays");
    assert_eq!(status.notes, ["its last list could not be read: did not answer `tools/list` within 2 s"]);
}

#[tokio::test(start_paused = true)]
async fn noise_is_told_of_at_once_and_then_now_and_then() {
    let mut theatre = Theatre::open(vec![spec("a")]);
    let mut run = theatre.run().await;
    run.child.say("Server running on stdio").await;
    run.child.boot(&["t"]).await;
    let lines = |theatre: &Theatre| theatre.said().lines().filter(|line| line.contains("skipped")).count();
    sleep(SECOND).await;
    assert_eq!(lines(&theatre), 1, "{}", theatre.said());
    for _ in 0..50 {
        run.child.say("debug").await;
        sleep(SECOND).await;
    }
    assert_eq!(lines(&theatre), 1);
    sleep(60 * SECOND).await;
    assert_eq!(lines(&theatre), 2);
    sleep(600 * SECOND).await;
    assert_eq!(lines(&theatre), 2, "nothing new, nothing said");
    expect_test::expect![[r#"child server `a` writes on its stdout what is no message; 51 line(s) were skipped so far, the first is: Server running on stdio"#]]
        .assert_eq(theatre.said().lines().last().unwrap());
}
