//! Lists of tools: pages, bad entries, changes.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};

use super::scripted::{Theatre, listing, spec};

#[tokio::test(start_paused = true)]
async fn pages_are_followed() {
    let mut theatre = Theatre::open(vec![spec("a")]);
    let mut run = theatre.run().await;
    let id = run.child.expect("initialize").await;
    run.child.answer(&id, r#"{"protocolVersion":"2024-11-05"}"#).await;
    run.child.expect("notifications/initialized").await;
    for (page, next) in [(["t0", "t1"], "p 1"), (["t2", "t3"], "p\"2"), (["t4", "t5"], "")] {
        let message = run.child.next().await;
        let mut list: serde_json::Value = serde_json::from_str(&listing(&page)).unwrap();
        list["nextCursor"] = json!(next);
        run.child.answer(&message["id"], &list.to_string()).await;
    }
    assert_eq!(theatre.event().await, "0: t0 t1 t2 t3 t4 t5");
    let status = &theatre.children.status()[0];
    assert_eq!((status.registered_tools, status.notes.len(), status.protocol.as_str()), (6, 0, "2024-11-05"));
}

#[tokio::test(start_paused = true)]
async fn a_cursor_without_end_ends_the_walk() {
    let mut theatre = Theatre::open(vec![spec("a")]);
    let mut run = theatre.run().await;
    let id = run.child.expect("initialize").await;
    run.child.answer(&id, r#"{"protocolVersion":"2025-11-25"}"#).await;
    run.child.expect("notifications/initialized").await;
    for cursor in [None, Some("again")] {
        let message = run.child.next().await;
        assert_eq!(message["params"]["cursor"].as_str(), cursor);
        let result = r#"{"tools":[{"name":"x"},{"name":"y"}],"nextCursor":"again"}"#;
        run.child.answer(&message["id"], result).await;
    }
    assert_eq!(theatre.event().await, "0: x y");
    theatre.children.ready(0).await.unwrap();
    let status = &theatre.children.status()[0];
    assert_eq!(status.notes, ["gives the same cursor twice; the list ends there"]);
    assert!(status.skipped_tools.is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_used_is_told() {
    let mut theatre = Theatre::open(vec![spec("a")]);
    theatre.reject("bad");
    let mut run = theatre.run().await;
    let id = run.child.expect("initialize").await;
    run.child.answer(&id, r#"{"protocolVersion":"2025-11-25"}"#).await;
    run.child.expect("notifications/initialized").await;
    let id = run.child.expect("tools/list").await;
    run.child
        .answer(&id, r#"{"tools":[{"name":"good"},{"name":"bad"},{"title":"nameless"},{"name":"good","x":1}]}"#)
        .await;
    theatre.children.ready(0).await.unwrap();
    let status = &theatre.children.status()[0];
    let skipped: Vec<_> = status.skipped_tools.iter().map(|skip| format!("{}: {}", skip.name, skip.reason)).collect();
    assert_eq!(
        skipped,
        ["entry 3: it has no name", "good: an earlier tool of this server has the same name", "bad: unusable"]
    );
    assert_eq!(status.registered_tools, 1);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_cannot_be_had() {
    for (answer, tools, reason) in [
        (r#""error":{"code":-32601,"message":"unknown"}"#, Some(0), ""),
        (
            r#""error":{"code":-32000,"message":"no\u001b\nlist"}"#,
            None,
            "answered `tools/list` with error -32000: no  list",
        ),
        (r#""result":{"tool":[]}"#, None, "answered `tools/list` without a list: missing field `tools`"),
    ] {
        let mut theatre = Theatre::open(vec![spec("a")]);
        let mut run = theatre.run().await;
        let id = run.child.expect("initialize").await;
        run.child.answer(&id, r#"{"protocolVersion":"2025-11-25"}"#).await;
        run.child.expect("notifications/initialized").await;
        let id = run.child.expect("tools/list").await;
        run.child.say(format!(r#"{{"id":{id},{answer}}}"#)).await;
        sleep(Duration::from_millis(200)).await;
        let status = &theatre.children.status()[0];
        let found = status.reason.is_none().then_some(status.registered_tools);
        assert_eq!((found, status.reason.as_deref().unwrap_or_default()), (tools, reason));
    }
}

#[tokio::test(start_paused = true)]
async fn a_changed_list_is_read_within_a_second() {
    let mut theatre = Theatre::open(vec![spec("a")]);
    let mut run = theatre.run().await;
    run.child.boot(&["one"]).await;
    assert_eq!(theatre.event().await, "0: one");
    let start = Instant::now();
    run.child.say(r#"{"method":"notifications/tools/list_changed"}"#).await;
    run.child.list(&["one", "late"]).await;
    assert_eq!(theatre.event().await, "0: one late");
    assert!(start.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_storm_of_changes_costs_two_lists() {
    let mut theatre = Theatre::open(vec![spec("a")]);
    let mut run = theatre.run().await;
    run.child.boot(&["one"]).await;
    theatre.event().await;
    for _ in 0..100 {
        run.child.say(r#"{"method":"notifications/tools/list_changed"}"#).await;
    }
    let id = run.child.expect("tools/list").await;
    for _ in 0..100 {
        run.child.say(r#"{"method":"notifications/tools/list_changed"}"#).await;
    }
    run.child.answer(&id, &listing(&["two"])).await;
    run.child.list(&["three"]).await;
    let mut more = tokio::spawn(async move { run.child.line().await });
    assert!(tokio::time::timeout(Duration::from_secs(60), &mut more).await.is_err(), "a third list");
    assert_eq!(theatre.events(), ["0: two", "0: three"]);
}

#[tokio::test(start_paused = true)]
async fn an_equal_list_is_no_change() {
    let mut theatre = Theatre::open(vec![spec("a")]);
    let mut run = theatre.run().await;
    run.child.boot(&["one"]).await;
    theatre.event().await;
    run.child.say(r#"{"method":"notifications/tools/list_changed"}"#).await;
    run.child.list(&["one"]).await;
    theatre.children.refresh(0).unwrap();
    run.child.list(&["one"]).await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(theatre.events(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_child_that_changes_whenever_it_is_asked_is_asked_rarely() {
    let mut theatre = Theatre::open(vec![spec("a")]);
    let mut run = theatre.run().await;
    run.child.boot(&["one"]).await;
    theatre.event().await;
    let asked = tokio::spawn(async move {
        let mut asked = 0;
        let end = Instant::now() + Duration::from_secs(60);
        while Instant::now() < end {
            run.child.say(r#"{"method":"notifications/tools/list_changed"}"#).await;
            run.child.list(&["one"]).await;
            asked += 1;
        }
        asked
    });
    let asked = asked.await.unwrap();
    assert!((10..25).contains(&asked), "{asked} times in a minute");
}
