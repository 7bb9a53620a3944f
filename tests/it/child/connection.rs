//! One connection, with a child that the test plays.

use std::time::Duration;

use bytes::Bytes;
use evokore::child::{ChildCall, ChildError, ChildReply, Patience, Size};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::scripted::{connect, result, spawn, to};

const MIB: usize = 1 << 20;
const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn bytes_pass_untouched_both_ways() {
    let (connection, mut child, _) = connect(MIB);
    let call = ChildCall {
        tool: "naïve \"x\"".into(),
        arguments: Some(Bytes::from_static(br#"{"zeta":1.10,"alpha":9007199254740993,"__proto__":{"a" :1e400}}"#)),
        meta: Some(Bytes::from_static(br#"{"vendor.example/x":1.0}"#)),
        ..ChildCall::default()
    };
    let task = spawn(&connection, call);
    let expected = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"naïve \"x\"","#,
        r#""arguments":{"zeta":1.10,"alpha":9007199254740993,"__proto__":{"a" :1e400}},"#,
        r#""_meta":{"progressToken":1,"vendor.example/x":1.0}}}"#
    );
    assert_eq!(child.line().await.as_deref(), Some(expected));
    let answer = "{\"structuredContent\": {\"zeta\":1.10,\"constructor\":[9007199254740993]},\"content\":[{\"type\":\"new\u{2028}\"}],\"_meta\":{}}";
    child.say(format!(r#"{{"result":{answer},"jsonrpc":"2.0","id":1}}"#)).await;
    assert_eq!(task.await.unwrap(), result(answer));
}

#[tokio::test(start_paused = true)]
async fn errors_keep_code_message_and_data() {
    let (connection, mut child, _) = connect(MIB);
    let task = spawn(&connection, to("t"));
    let id = child.expect("tools/call").await;
    let error = r#"{"code":-32050,"message":"fake","data":{"why":1.50}}"#;
    child.say(format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#)).await;
    assert_eq!(task.await.unwrap(), Ok(ChildReply::Error(Bytes::from_static(error.as_bytes()))));
}

#[tokio::test(start_paused = true)]
async fn noise_is_skipped_and_counted() {
    let (connection, mut child, stats) = connect(MIB);
    let task = spawn(&connection, to("t"));
    let id = child.expect("tools/call").await;
    child.say("Starting server… ✓ \x1b[31mready\n\n{not json\r\n[INFO] handling 1").await;
    child.say(b"\xef\xbb\xbf\xff\xfe").await;
    child.answer(&id, "{}").await;
    assert_eq!(task.await.unwrap(), result("{}"));
    assert_eq!((stats.noise_lines(), stats.noise_sample().as_deref()), (4, Some("Starting server… ✓  [31mready")));
}

#[tokio::test(start_paused = true)]
async fn bytes_that_are_no_text_are_replaced() {
    let (connection, mut child, _) = connect(MIB);
    let task = spawn(&connection, to("t"));
    child.expect("tools/call").await;
    child.say(b"{\"id\":1,\"result\":{\"text\":\"caf\xe9\xff ok\"}}").await;
    assert_eq!(task.await.unwrap(), result("{\"text\":\"caf\u{fffd}\u{fffd} ok\"}"));
}

#[tokio::test(start_paused = true)]
async fn too_large_an_answer_fails_its_call_at_once_and_only_that() {
    let head = |id: &Value| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"text":""#);
    let tail = |id: &Value| format!(r#""}},"jsonrpc":"2.0","id":{id}}}"#);
    // Where the id stands, whether another call waits, whether the line must end before the call can fail.
    for (id_first, alone, at_end) in
        [(true, true, false), (true, false, false), (false, true, false), (false, false, true)]
    {
        let (connection, mut child, _) = connect(MIB);
        let other = (!alone).then(|| spawn(&connection, to("other")));
        let other_id = if alone { Value::Null } else { child.expect("tools/call").await };
        let large = spawn(&connection, to("large"));
        let id = child.expect("tools/call").await;
        let start = if id_first { head(&id) } else { r#"{"result":{"text":""#.to_owned() };
        child.write(start).await;
        for _ in 0..18 {
            child.write(vec![b'x'; 64 << 10]).await;
        }
        if at_end {
            child.say(tail(&id)).await;
        }
        let error = timeout(SECOND, large).await.expect("at once").unwrap().expect_err("too large");
        assert!(
            matches!(error, ChildError::TooLarge { limit, size: Size::SoFar(size) | Size::Whole(size), .. }
                if limit == MIB as u64 && size > limit),
            "{error}"
        );
        if !at_end {
            child.say(tail(&id)).await;
        }
        if let Some(other) = other {
            child.answer(&other_id, "7").await;
            assert_eq!(other.await.unwrap(), result("7"));
        }
        let next = spawn(&connection, to("next"));
        let id = child.expect("tools/call").await;
        child.answer(&id, "8").await;
        assert_eq!(next.await.unwrap(), result("8"));
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_up_to_the_limit_is_intact() {
    let (connection, mut child, _) = connect(MIB);
    let task = spawn(&connection, to("t"));
    child.expect("tools/call").await;
    let text = format!("\"{}\"", "h".repeat(MIB - 100));
    child.say(format!(r#"{{"id":1,"result":{text}}}"#)).await;
    assert_eq!(task.await.unwrap(), result(&text));
}

#[tokio::test(start_paused = true)]
async fn a_message_of_many_limits_costs_its_call_alone() {
    let (connection, mut child, _) = connect(1000);
    let task = spawn(&connection, to("t"));
    child.expect("tools/call").await;
    child.write(r#"{"id":1,"result":""#).await;
    for _ in 0..100 {
        child.write([b'y'; 1000]).await;
    }
    child.say("\"}").await;
    assert!(matches!(task.await.unwrap(), Err(ChildError::TooLarge { size: Size::SoFar(_), .. })));
    let next = spawn(&connection, to("next"));
    let id = child.expect("tools/call").await;
    child.answer(&id, "8").await;
    assert_eq!(next.await.unwrap(), result("8"));
}

#[tokio::test(start_paused = true)]
async fn a_line_without_end_fails_the_call_and_ends_the_connection() {
    let (connection, mut child, _) = connect(100_000);
    let (one, two) = (spawn(&connection, to("a")), spawn(&connection, to("b")));
    child.expect("tools/call").await;
    child.expect("tools/call").await;
    let flood = tokio::spawn(async move {
        for _ in 0..1000 {
            child.write([b'y'; 1000]).await;
        }
        child
    });
    for task in [one, two] {
        let error = timeout(SECOND, task).await.expect("at once").unwrap();
        assert!(matches!(error, Err(ChildError::TooLarge { .. })), "{error:?}");
    }
    let how = connection.ended().await;
    assert!(how.contains("does not end"), "{how}");
    drop(connection);
    flood.abort();
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_no_json_fails_its_call_at_once() {
    for line in [r#"{"id":1,"result":NaN}"#, r#"{"result":{"a":},"id":1}"#] {
        let (connection, mut child, _) = connect(MIB);
        let task = spawn(&connection, to("t"));
        child.expect("tools/call").await;
        child.say(line).await;
        let error = timeout(SECOND, task).await.expect("at once").unwrap().expect_err("no JSON").to_string();
        assert_eq!(error, "child server `s` sent an answer that is no valid JSON", "{line}");
    }
}

#[tokio::test(start_paused = true)]
async fn answers_find_their_calls_in_any_order_and_the_first_counts() {
    let (connection, mut child, stats) = connect(MIB);
    let tasks: Vec<_> = (0..20).map(|n| spawn(&connection, to(&format!("t{n}")))).collect();
    let mut asked = Vec::new();
    for _ in 0..20 {
        let message = child.next().await;
        asked.push((message["id"].clone(), message["params"]["name"].clone()));
    }
    for (id, name) in asked.iter().rev() {
        child.answer(id, &name.to_string()).await;
        child.answer(id, "\"second answer\"").await;
    }
    for (n, task) in tasks.into_iter().enumerate() {
        assert_eq!(task.await.unwrap(), result(&format!("\"t{n}\"")));
    }
    child.say(r#"{"id":999,"result":{}}"#).await;
    let last = spawn(&connection, to("last"));
    let id = child.expect("tools/call").await;
    child.answer(&id, "1").await;
    assert_eq!((last.await.unwrap(), stats.stray_messages()), (result("1"), 21));
}

#[tokio::test(start_paused = true)]
async fn progress_comes_in_order_and_before_the_result() {
    let (connection, mut child, stats) = connect(MIB);
    let (sender, mut progress) = mpsc::channel(3);
    let task = spawn(&connection, ChildCall { progress: Some(sender), ..to("t") });
    let silent = spawn(&connection, to("silent"));
    let message = child.next().await;
    let (id, token) = (message["id"].clone(), message["params"]["_meta"]["progressToken"].clone());
    let other = child.next().await["params"]["_meta"]["progressToken"].clone();
    let says = |token: &Value, n: u32| {
        format!(
            r#"{{"method":"notifications/progress","params":{{"progress":{n}.0,"progressToken":{token},"x":"y"}}}}"#
        )
    };
    for n in 0..5 {
        child.say(says(&other, n)).await;
        child.say(says(&token, n)).await;
    }
    child.answer(&id, "{}").await;
    child.say(says(&token, 6)).await;
    assert_eq!(task.await.unwrap(), result("{}"));
    let mut got = Vec::new();
    while let Some(params) = progress.recv().await {
        got.push(String::from_utf8(params.to_vec()).unwrap());
    }
    // The queue holds three; what does not fit is dropped, what comes after the result is not passed on.
    assert_eq!(got, [0, 1, 2].map(|n| format!(r#"{{"progress":{n}.0,"progressToken":{token},"x":"y"}}"#)));
    let id = other;
    child.answer(&id, "1").await;
    assert_eq!((silent.await.unwrap(), stats.stray_messages()), (result("1"), 1));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_is_taken_back_at_the_child() {
    let (connection, mut child, stats) = connect(MIB);
    let cancelled = CancellationToken::new();
    let task = spawn(&connection, ChildCall { cancelled: cancelled.clone(), ..to("t") });
    let id = child.expect("tools/call").await;
    cancelled.cancel();
    assert_eq!(task.await.unwrap(), Err(ChildError::Cancelled { id: "s" }));
    let note = child.next().await;
    assert_eq!(note["method"], "notifications/cancelled");
    assert_eq!(note["params"], json!({"requestId": id, "reason": "the caller cancelled the call"}));
    child.answer(&id, "\"late\"").await;

    // A caller that just goes away counts as cancelled.
    let task = spawn(&connection, to("t"));
    let id = child.expect("tools/call").await;
    task.abort();
    let note = child.next().await;
    assert_eq!(note["params"], json!({"requestId": id, "reason": "the caller is gone"}));
    assert_eq!(stats.stray_messages(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_without_answer_times_out_and_the_child_stays_usable() {
    let (connection, mut child, _) = connect(MIB);
    let start = Instant::now();
    let task = spawn(&connection, to("hang"));
    let id = child.expect("tools/call").await;
    let error = task.await.unwrap().expect_err("no answer");
    assert_eq!(start.elapsed().as_secs(), 60);
    expect_test::expect![[r#"
        child server `s` did not answer `hang` within 60 s
        hint: `callTimeoutMs` of its entry or EVOKORE_PROXY_REQUEST_TIMEOUT_MS allows more"#]]
    .assert_eq(&error.to_string());
    assert_eq!(child.next().await["params"]["requestId"], id);
    child.answer(&id, "\"late\"").await;
    let next = spawn(&connection, to("next"));
    let id = child.expect("tools/call").await;
    child.answer(&id, "1").await;
    assert_eq!(next.await.unwrap(), result("1"));
}

#[tokio::test(start_paused = true)]
async fn progress_stretches_the_limit_up_to_the_total() {
    for (messages, outcome) in [(7, "answer"), (50, "total"), (3, "idle")] {
        let (connection, mut child, _) = connect(MIB);
        let patience = Patience { idle: SECOND, total: 10 * SECOND };
        let start = Instant::now();
        let task = tokio::spawn(async move { connection.call(to("t"), patience).await });
        let id = child.expect("tools/call").await;
        for n in 0..messages {
            tokio::time::sleep(SECOND * 4 / 5).await;
            child
                .say(format!(
                    r#"{{"method":"notifications/progress","params":{{"progressToken":{id},"progress":{n}}}}}"#
                ))
                .await;
        }
        if outcome == "answer" {
            child.answer(&id, "1").await;
        }
        let found = match task.await.unwrap() {
            Ok(_) => "answer",
            Err(ChildError::TimedOut { after, .. }) if after == SECOND => "idle",
            Err(ChildError::TimedOut { .. }) => "total",
            Err(error) => panic!("{error}"),
        };
        let _ = start;
        assert_eq!(found, outcome, "{messages} messages");
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_call_holds_nothing_up() {
    let (connection, mut child, _) = connect(MIB);
    let slow = spawn(&connection, to("slow"));
    let slow_id = child.expect("tools/call").await;
    let quick = spawn(&connection, to("quick"));
    let id = child.expect("tools/call").await;
    child.answer(&id, "1").await;
    assert_eq!(quick.await.unwrap(), result("1"));
    assert!(!slow.is_finished());
    child.answer(&slow_id, "2").await;
    assert_eq!(slow.await.unwrap(), result("2"));
}

#[tokio::test(start_paused = true)]
async fn requests_of_the_child_are_answered_at_once() {
    let (connection, mut child, _) = connect(MIB);
    for id in ["0", "-7", "\"\"", "\"srv-1\"", "9007199254740993", "9007199254740994", "1.5"] {
        child.say(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)).await;
        assert_eq!(child.line().await.unwrap(), format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
    }
    for method in ["roots/list", "sampling/createMessage", "elicitation/create", "x"] {
        child.say(format!(r#"{{"jsonrpc":"2.0","id":"q","method":"{method}","params":{{}}}}"#)).await;
        let answer = child.next().await;
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!("q"), &json!(-32601)), "{method}");
    }
    // A child that asks and asks without reading does not stop the answers to our calls.
    let task = spawn(&connection, to("t"));
    for n in 0..5000 {
        child.say(format!(r#"{{"id":{n},"method":"ping"}}"#)).await;
    }
    child.say(r#"{"id":1,"result":1}"#).await;
    assert_eq!(task.await.unwrap(), result("1"));
}

#[tokio::test(start_paused = true)]
async fn waiting_calls_are_bounded() {
    let (connection, child, _) = connect(MIB);
    let tasks: Vec<_> = (0..1024).map(|_| spawn(&connection, to("t"))).collect();
    tokio::task::yield_now().await;
    let error = spawn(&connection, to("one too many")).await.unwrap().expect_err("full");
    assert_eq!(error, ChildError::Busy { id: "s", limit: 1024 });
    drop(child);
    for task in tasks {
        assert!(matches!(task.await.unwrap(), Err(ChildError::Exited { .. })));
    }
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_child_ends_every_call() {
    let (connection, mut child, _) = connect(MIB);
    let task = spawn(&connection, to("t"));
    child.expect("tools/call").await;
    child.write(r#"{"id":1,"resu"#).await;
    drop(child);
    let start = Instant::now();
    let error = task.await.unwrap().expect_err("the end");
    assert!(matches!(error, ChildError::Exited { .. }) && start.elapsed() <= 2 * SECOND, "{error}");
    assert!(spawn(&connection, to("t")).await.unwrap().is_err());
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(64))]
    #[test]
    fn whatever_a_child_says_the_answer_behind_it_arrives(
        garbage in proptest::collection::vec(proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200), 0..8),
        piece in 1usize..50,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            // Some of it is longer than the limit, some is cut by the pipe anywhere.
            let (connection, mut child, _) = connect(100);
            let mut said = garbage.join(&b'\n');
            said.extend(b"\n{\"id\":\"q\",\"method\":\"ping\"}\n");
            for part in said.chunks(piece) {
                child.write(part).await;
            }
            assert_eq!(child.next().await["id"], "q");
            let task = spawn(&connection, to("t"));
            let id = child.expect("tools/call").await;
            child.answer(&id, "1").await;
            assert_eq!(task.await.unwrap(), result("1"));
        });
    }
}
