//! How large a result may be.

use evokore_catalog::server::ServerSpec;

use super::scripted::{Theatre, result, spec};

#[tokio::test(start_paused = true)]
async fn a_result_may_be_as_large_as_its_entry_says() {
    let mut theatre = Theatre::open(vec![ServerSpec { max_result_bytes: Some(100), ..spec("a") }]);
    let mut run = theatre.run().await;
    run.child.boot(&["a-tool-whose-entry-in-the-list-is-longer-than-a-result-of-it-may-be"]).await;
    for (member, len, expected) in [
        ("result", 100, None),
        ("result", 101, Some(101)),
        ("error", 101, Some(101)),
        // A message longer than any may be, which is not kept to its end.
        ("result", 9 << 20, Some(0)),
        ("result", 100, None),
    ] {
        let call = theatre.call(0, "t");
        let id = run.child.expect("tools/call").await;
        let text = format!("\"{}\"", "h".repeat(len - 2));
        run.child.say(format!(r#"{{"id":{id},"{member}":{text}}}"#)).await;
        let outcome = call.await.unwrap();
        match expected {
            None => assert_eq!(outcome, result(&text)),
            Some(size) => {
                let error = outcome.unwrap_err().to_string();
                let start = "child server `a` gave too large an answer: ";
                assert!(error.starts_with(start) && error.contains("the limit is 100 bytes"), "{error}");
                assert!(error.contains("`maxResultBytes` of its entry"), "{error}");
                let told =
                    if size == 0 { "bytes had come when it was cut off".into() } else { format!("{size} bytes,") };
                assert!(error.contains(&told), "{error}");
            }
        }
    }
    assert_eq!(theatre.children.status()[0].restarts, 0);
}
