//! `evokore call`: one tool call through the same gates as a client's, from the command line.

use std::io::Read as _;

use evokore_catalog::name;
use serde_json::Value;
use serde_json::value::RawValue;

use super::arguments::CallArguments;
use super::live::Live;
use super::output::Output;
use super::process;
use crate::calls::outcome::Outcome;
use crate::calls::{self, CallContext, CallRequest};
use crate::catalog::{CATALOG, NativeTool, TOOL_BY_NAME};
use crate::error::{Exit, Failure};

/// Most bytes of arguments.
const MAX_ARGUMENTS: u64 = 64 << 20;

/// Runs the command.
///
/// # Errors
/// The arguments are no JSON object, nobody has the tool, or its server broke the protocol.
pub(crate) fn run(arguments: &CallArguments, out: Output) -> Result<Exit, Failure> {
    let given = given(arguments.arguments.as_deref())?;
    let live = Live::new(process::settings(None)?)?;
    let context = CallContext::alone(live.app.clone());
    let request =
        CallRequest { name: &arguments.tool, arguments: given.as_deref(), others: None, meta: None, token: None };
    let outcome = match reach(&arguments.tool) {
        Reach::Inside => live.without_servers(calls::call(&context, request)),
        // The call itself waits for the server it needs.
        Reach::OneServer => live.with_servers(calls::call(&context, request)),
        Reach::AllServers => live.with_servers(async {
            live.all_settled(|_| {}).await;
            calls::call(&context, request).await
        }),
    };
    match outcome {
        Outcome::Result(bytes) => {
            let result = parse(&bytes)?;
            let failed = result.get("isError") == Some(&Value::Bool(true));
            let gated = live.app.approvals.wanting() > 0;
            if arguments.json {
                out.json(&result)?;
            } else if !gated {
                out.print_foreign(&texts(&result))?;
            }
            if gated {
                // What the model is told is no use here: a request is void once the process that asks has ended.
                return Err(Failure::found(format!(
                    "`{}` needs approval, and this command cannot wait for it",
                    arguments.tool
                ))
                .hint(
                    "call it from a client and approve it with `evokore approvals`, or `allow` it in `permissions.yml`",
                ));
            }
            Ok(if failed { Exit::Found } else { Exit::Ok })
        }
        Outcome::Error { message, .. } if !TOOL_BY_NAME.contains_key(&arguments.tool) => {
            Err(Failure::usage(message).hint("`evokore tools` and `evokore search` tell what there is"))
        }
        Outcome::Error { message, .. } => Err(Failure::usage(message)),
        Outcome::RawError(bytes) => {
            let error: Value = serde_json::from_slice(&bytes).unwrap_or_default();
            let message = error.get("message").and_then(Value::as_str).unwrap_or("it gave no message");
            Err(Failure::runtime(format!("the server refused `{}`: {message}", arguments.tool)))
        }
    }
}

/// Which child servers a tool's answer depends on.
enum Reach {
    /// None.
    Inside,
    /// The one that has the tool.
    OneServer,
    /// All of them.
    AllServers,
}

fn reach(tool: &str) -> Reach {
    match NativeTool::ALL.into_iter().find(|native| native.name() == tool) {
        Some(NativeTool::DiscoverTools | NativeTool::DescribeTool | NativeTool::ProxyServerStatus) => Reach::AllServers,
        Some(NativeTool::CallTool) => Reach::OneServer,
        Some(_) => Reach::Inside,
        None => {
            let ids: Vec<&str> = CATALOG.servers.iter().map(|server| server.id).collect();
            if name::owner(tool, &ids).is_some() { Reach::OneServer } else { Reach::Inside }
        }
    }
}

/// The arguments as JSON: from the command line, or from stdin for `-`.
fn given(text: Option<&str>) -> Result<Option<Box<RawValue>>, Failure> {
    let text = match text {
        None => return Ok(None),
        Some("-") => {
            let mut text = String::new();
            std::io::stdin()
                .lock()
                .take(MAX_ARGUMENTS)
                .read_to_string(&mut text)
                .map_err(|error| Failure::usage(format!("cannot read the arguments from stdin: {error}")))?;
            text
        }
        Some(text) => text.to_owned(),
    };
    let wrong = |what: String| {
        Failure::usage(what).hint("give a JSON object, such as '{\"query\": \"release\"}'; in quotes, for the shell")
    };
    match serde_json::from_str::<Value>(&text) {
        Ok(Value::Object(_)) => {}
        Ok(_) => return Err(wrong("the arguments are JSON, but no object".to_owned())),
        Err(error) => return Err(wrong(format!("the arguments are no JSON: {error}"))),
    }
    RawValue::from_string(text).map(Some).map_err(|error| wrong(format!("the arguments are no JSON: {error}")))
}

fn parse(bytes: &[u8]) -> Result<Value, Failure> {
    serde_json::from_slice(bytes)
        .map_err(|error| Failure::runtime(format!("the tool answered with something that is no JSON: {error}")))
}

/// The texts of a result; what is no text is named by its kind.
fn texts(result: &Value) -> String {
    let mut text = String::new();
    for block in result.get("content").and_then(Value::as_array).into_iter().flatten() {
        match (block.get("text").and_then(Value::as_str), block.get("type").and_then(Value::as_str)) {
            (Some(part), _) => text.push_str(part),
            (None, Some(kind)) => text.push_str(&format!("[{kind}; `--json` shows it]")),
            (None, None) => {}
        }
        if !text.ends_with('\n') {
            text.push('\n');
        }
    }
    text
}
