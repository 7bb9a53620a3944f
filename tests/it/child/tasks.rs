//! Tasks of a child that a test plays: what is needed of it as long as one lasts. The clock is paused.

use std::time::Duration;

use bytes::Bytes;
use evokore::child::{ChildCall, ChildError, ChildReply, Method, Taker};
use evokore_catalog::server::{Limits, ServerSpec};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use super::scripted::{Run, Theatre, result, spec, to};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);

/// A request about task `1`.
fn about(method: Method) -> ChildCall {
    ChildCall { method, others: Some(Bytes::from_static(br#"{"taskId":"1"}"#)), ..ChildCall::default() }
}

/// A call that asks for a task.
fn as_task() -> ChildCall {
    let others = Some(Bytes::from_static(br#"{"task":{}}"#));
    ChildCall { others, taker: Taker::Handshake, ..to("t") }
}

/// A server within these limits, up.
async fn up(limits: Limits) -> (Theatre, Run) {
    let mut theatre = Theatre::open(vec![ServerSpec { limits, ..spec("a") }]);
    let mut run = theatre.run().await;
    run.child.boot(&["t"]).await;
    theatre.event().await;
    (theatre, run)
}

/// Makes task `1`, which the child keeps for `ttl`.
async fn make(theatre: &Theatre, run: &mut Run, ttl: &str) {
    let call = theatre.make(0, as_task());
    let id = run.child.expect("tools/call").await;
    let made = format!(r#"{{"task":{{"taskId":"1","status":"working","ttl":{ttl}}}}}"#);
    run.child.answer(&id, &made).await;
    assert_eq!(call.await.expect("no panic"), Ok(ChildReply::Task(made.into())));
}

/// Has the child answer what has become of task `1`.
async fn get(theatre: &Theatre, run: &mut Run, status: &str) {
    let call = theatre.make(0, about(Method::GetTask));
    let id = run.child.expect("tasks/get").await;
    run.child.answer(&id, &format!(r#"{{"taskId":"1","status":"{status}","ttl":600000}}"#)).await;
    call.await.expect("no panic").expect("an answer");
}

/// After how many seconds the child's stdin is closed.
async fn falls_asleep(run: &mut Run) -> u64 {
    let start = Instant::now();
    assert_eq!(run.child.line().await, None);
    start.elapsed().as_secs()
}

#[tokio::test(start_paused = true)]
async fn a_server_does_not_sleep_while_it_works_on_a_task() {
    let limits = Limits { idle_timeout_ms: Some(60_000), ..Limits::ABSENT };
    for (ttl, seconds) in [("600000", 600), ("null", 3600), ("1000", 60), ("1e300", 3600), ("864000000", 86_400)] {
        let (theatre, mut run) = up(limits).await;
        make(&theatre, &mut run, ttl).await;
        assert_eq!(falls_asleep(&mut run).await, seconds, "{ttl}");
    }
    for status in ["completed", "failed", "cancelled"] {
        let (theatre, mut run) = up(limits).await;
        make(&theatre, &mut run, "null").await;
        sleep(300 * SECOND).await;
        get(&theatre, &mut run, "working").await;
        sleep(500 * SECOND).await;
        get(&theatre, &mut run, status).await;
        assert_eq!(falls_asleep(&mut run).await, 60, "{status}");
    }
    let (theatre, mut run) = up(limits).await;
    make(&theatre, &mut run, "null").await;
    let call = theatre.make(0, about(Method::TaskResult));
    let id = run.child.expect("tasks/result").await;
    sleep(2 * HOUR).await;
    run.child.answer(&id, "{}").await;
    assert_eq!(call.await.unwrap(), result("{}"));
    assert_eq!(falls_asleep(&mut run).await, 60);
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_result_may_wait_long_and_holds_up_nobody() {
    let (theatre, mut run) = up(Limits { max_in_flight: Some(1), ..Limits::ABSENT }).await;
    make(&theatre, &mut run, "null").await;
    let waiting = theatre.make(0, about(Method::TaskResult));
    let patient = run.child.expect("tasks/result").await;
    // We ourselves wait for no more than a call may take, and then the child hears of it.
    let ours = theatre.make(0, ChildCall { taker: Taker::Us, ..about(Method::TaskResult) });
    run.child.expect("tasks/result").await;
    let call = theatre.call(0, "t");
    let id = run.child.expect("tools/call").await;
    // A task can be asked after while the only place is taken.
    get(&theatre, &mut run, "working").await;
    run.child.answer(&id, "1").await;
    assert_eq!(call.await.unwrap(), result("1"));
    assert!(matches!(ours.await.unwrap(), Err(ChildError::TimedOut { after, .. }) if after == 600 * SECOND));
    run.child.expect("notifications/cancelled").await;
    sleep(20 * HOUR).await;
    run.child.answer(&patient, "2").await;
    assert_eq!(waiting.await.unwrap(), result("2"));
}

#[tokio::test(start_paused = true)]
async fn progress_goes_on_when_the_call_has_become_a_task() {
    let (theatre, mut run) = up(Limits::ABSENT).await;
    for last in ["tasks/get", "notifications/tasks/status", "exit"] {
        let (progress, mut heard) = mpsc::channel(8);
        let call = theatre.make(0, ChildCall { progress: Some(progress), ..as_task() });
        let id = run.child.expect("tools/call").await;
        let made = r#"{"task":{"taskId":"1","status":"working"}}"#;
        let report = |n: u64| {
            let params = json!({"progressToken": id, "progress": n});
            json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}).to_string()
        };
        // In one breath with the answer.
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{made}}}"#);
        run.child.say(format!("{answer}\n{}", report(1))).await;
        call.await.unwrap().unwrap();
        sleep(HOUR).await;
        run.child.say(report(2)).await;
        for n in 1..=2u64 {
            let params: serde_json::Value = serde_json::from_slice(&heard.recv().await.unwrap()).unwrap();
            assert_eq!(params["progress"], n);
        }
        match last {
            "tasks/get" => get(&theatre, &mut run, "completed").await,
            "exit" => run.child.say("").await,
            method => {
                let params = json!({"taskId": "1", "status": "failed"});
                run.child.say(json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()).await;
            }
        }
        if last == "exit" {
            run.exit.send("exited with code 1".to_owned()).unwrap();
            assert_eq!(heard.recv().await, None, "{last}");
            return;
        }
        run.child.say(report(3)).await;
        assert_eq!(heard.recv().await, None, "{last}");
    }
}
