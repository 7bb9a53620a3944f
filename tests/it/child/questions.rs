//! Whom a child's question reaches when several calls are open, or the one that it was put to is over.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use evokore::child::{Answering, Capabilities, ChildCall, ChildReply, Client, Level, Presence, Question};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::scripted::{Child, connect, spawn, to};

/// A client that the test plays.
#[derive(Debug)]
struct Played {
    offers: &'static str,
    presence: Mutex<Presence>,
    asked: mpsc::UnboundedSender<oneshot::Sender<Option<ChildReply>>>,
}

impl Client for Played {
    fn capabilities(&self) -> Arc<Capabilities> {
        Arc::new(Capabilities::of(self.offers))
    }
    fn presence(&self) -> Presence {
        *self.presence.lock().unwrap()
    }
    fn level(&self) -> Option<Level> {
        None
    }
    fn log(&self, _: &'static str, _: &[u8]) -> bool {
        true
    }
    fn ask(&self, _: Question) -> Answering {
        let (answer, answered) = oneshot::channel();
        self.asked.send(answer).unwrap();
        Box::pin(async { answered.await.ok().flatten() })
    }
    fn tell(&self, _: &'static str, _: Option<&[u8]>) {}
}

type Asked = mpsc::UnboundedReceiver<oneshot::Sender<Option<ChildReply>>>;

fn client(offers: &'static str) -> (Arc<Played>, Asked) {
    let (asked, questions) = mpsc::unbounded_channel();
    (Arc::new(Played { offers, presence: Mutex::new(Presence::There), asked }), questions)
}

fn by(client: &Arc<Played>) -> ChildCall {
    ChildCall { client: Some(client.clone()), ..to("t") }
}

async fn ask(child: &mut Child, id: u64) {
    child.say(json!({"jsonrpc": "2.0", "id": id, "method": "sampling/createMessage", "params": {}}).to_string()).await;
}

fn yes() -> Option<ChildReply> {
    Some(ChildReply::Result(Bytes::from_static(br#"{"yes":1}"#)))
}

/// The child's next message, an answer to its question.
async fn answer(child: &mut Child, id: u64) -> Value {
    let message = child.next().await;
    assert_eq!(message["id"], id, "{message}");
    message
}

const ALL: &str = r#"{"sampling":{}}"#;

#[tokio::test(start_paused = true)]
async fn the_call_that_the_child_was_told_about_last_is_asked() {
    let (connection, mut child, _) = connect(1 << 20);
    let ((first, mut of_first), (second, mut of_second)) = (client(ALL), client(ALL));
    let (deaf, mut of_deaf) = client("{}");
    let _calls = (spawn(&connection, by(&first)), spawn(&connection, by(&second)), spawn(&connection, by(&deaf)));
    for _ in 0..3 {
        child.expect("tools/call").await;
    }
    // The newest offers no such thing.
    ask(&mut child, 1).await;
    of_second.recv().await.unwrap().send(yes()).unwrap();
    assert_eq!(answer(&mut child, 1).await["result"], json!({"yes": 1}));
    // One that is away is asked only if there is no other, and its answer makes it the likeliest.
    *second.presence.lock().unwrap() = Presence::Away;
    ask(&mut child, 2).await;
    of_first.recv().await.unwrap().send(yes()).unwrap();
    answer(&mut child, 2).await;
    *second.presence.lock().unwrap() = Presence::There;
    ask(&mut child, 3).await;
    of_first.recv().await.unwrap().send(yes()).unwrap();
    answer(&mut child, 3).await;
    assert!(of_deaf.try_recv().is_err() && of_second.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn a_question_outlives_the_call_that_it_was_put_to_by_mistake() {
    let (connection, mut child, _) = connect(1 << 20);
    let ((first, mut of_first), (second, mut of_second)) = (client(ALL), client(ALL));
    let _calls = (spawn(&connection, by(&first)), spawn(&connection, by(&second)));
    child.expect("tools/call").await;
    child.expect("tools/call").await;
    ask(&mut child, 1).await;
    let asked = of_second.recv().await.unwrap();
    *second.presence.lock().unwrap() = Presence::Gone;
    asked.send(None).unwrap();
    of_first.recv().await.unwrap().send(yes()).unwrap();
    assert_eq!(answer(&mut child, 1).await["result"], json!({"yes": 1}));
    // With nobody left, the child is told.
    ask(&mut child, 2).await;
    let asked = of_first.recv().await.unwrap();
    *first.presence.lock().unwrap() = Presence::Gone;
    asked.send(None).unwrap();
    assert_eq!(answer(&mut child, 2).await["error"]["code"], -32603);
    ask(&mut child, 3).await;
    assert_eq!(answer(&mut child, 3).await["error"]["code"], -32601);
}

#[tokio::test(start_paused = true)]
async fn the_limit_of_the_client_is_the_limit_of_the_question() {
    let (connection, mut child, _) = connect(1 << 20);
    let (client, mut asked) = client(r#"{"roots":{}}"#);
    let _call = spawn(&connection, by(&client));
    child.expect("tools/call").await;
    child.say(r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#).await;
    let open = asked.recv().await.unwrap();
    let start = tokio::time::Instant::now();
    assert!(answer(&mut child, 1).await["error"]["message"].as_str().unwrap().contains("5 s"));
    assert_eq!(start.elapsed(), Duration::from_secs(5));
    assert!(open.is_closed());
}
