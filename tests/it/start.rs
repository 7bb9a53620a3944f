//! The first answers, which come before the child servers are started.

use evokore::app::App;
use evokore::catalog::CATALOG;
use evokore::child::Children;
use evokore::server;
use evokore::settings::Settings;
use evokore::skills::Library;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

/// A modern client may keep a list for as long as it is told to, so one that is about to grow must not be kept.
#[tokio::test]
async fn a_list_from_before_the_start_is_not_to_be_kept() {
    let (settings, _) = Settings::resolve(&CATALOG, &|_| None).expect("the defaults");
    let app = App::new(settings, Library::default());
    let (client, served) = tokio::io::duplex(1 << 16);
    let (input, output) = tokio::io::split(served);
    let (answers, mut requests) = tokio::io::split(client);
    let serving =
        tokio::spawn(async move { server::serve(&app, Children::none, input, output, std::future::pending()).await });
    let request = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"#,
        r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
        r#""io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"#,
        r#""io.modelcontextprotocol/clientCapabilities":{}}}}"#,
        "\n"
    );
    requests.write_all(request.as_bytes()).await.expect("the server reads");
    let line = BufReader::new(answers).lines().next_line().await.expect("a line").expect("an answer");
    let answer: Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!(answer["result"]["ttlMs"], 0, "{line}");
    drop(requests);
    serving.abort();
}
