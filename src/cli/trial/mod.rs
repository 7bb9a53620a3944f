//! `evokore try`: what a client would see, asked from the real server by a client of our own.

mod report;

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::arguments::TryArguments;
use super::client::Client;
use super::output::{Output, Progress};
use super::process;
use crate::env_vars;
use crate::error::{Exit, Failure};
use crate::listing::merged::Merged;
use crate::listing::projection;
use crate::settings::Settings;
use report::{Server, Shown};

/// How long the child servers are waited for.
const PATIENCE: Duration = Duration::from_secs(8);

/// Between two looks at the child servers.
const LOOK: Duration = Duration::from_millis(150);

/// The native tool that tells of the child servers.
const STATUS: &str = "proxy_server_status";
/// The native tool that searches.
const SEARCH: &str = "discover_tools";

/// What is searched for when nobody says.
const QUERY: &str = "which servers are connected";

/// Runs the command.
///
/// # Errors
/// The server cannot be started, or does not answer as it should.
pub(crate) fn run(arguments: &TryArguments, out: Output) -> Result<Exit, Failure> {
    let profile = arguments.profile.as_deref();
    let settings = process::settings(profile)?;
    let executable = std::env::current_exe()
        .map_err(|error| Failure::runtime(format!("cannot find the path of this executable: {error}")))?;
    let env: Vec<(&str, &str)> = profile.map(|profile| (env_vars::DISCOVERY_PROFILE, profile)).into_iter().collect();

    let mut client = Client::start(&executable, &env)?;
    let hello = client.initialize()?;
    let initialized = client.started.elapsed();
    let list = client.request("tools/list", &json!({}))?;
    let listed = client.started.elapsed();
    let shown = Shown::new(&hello.result, &list, initialized, listed);
    out.print(&report::opening(&settings, crate::cli::profile::source(&settings, profile), &shown, out))?;

    let servers = if may(&settings, STATUS) { wait_for_servers(&mut client)? } else { Vec::new() };
    out.print(&report::servers(&servers, out))?;

    let query = if arguments.query.is_empty() { QUERY.to_owned() } else { arguments.query.join(" ") };
    if may(&settings, SEARCH) {
        let found = client.call(SEARCH, &json!({ "query": query, "limit": 5 }))?;
        out.print(&report::search(&query, &found, out))?;
    }
    if let Some((tool, input)) = sample_call(&list.result) {
        let answer = client.call(tool, &input)?;
        out.print(&report::call(tool, &input, &answer, out))?;
    }
    let took = client.stop()?;
    out.print(&report::closing(&servers, took, out))?;
    Ok(Exit::Ok)
}

/// Whether the active role may call a native tool.
fn may(settings: &Settings, tool: &str) -> bool {
    Merged::default().find(tool).is_some_and(|tool| projection::is_permitted(settings, tool))
}

/// A native call that needs nothing and harms nothing: the first of these that the list shows.
fn sample_call(list: &Value) -> Option<(&'static str, Value)> {
    let shows = |name: &str| {
        list.get("tools")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .any(|tool| tool.get("name") == Some(&json!(name)))
    };
    [
        ("search_skills", json!({ "query": "get a release ready" })),
        ("resolve_workflow", json!({ "query": "get a release ready" })),
        ("describe_tool", json!({ "tools": ["discover_tools"] })),
    ]
    .into_iter()
    .find(|(name, _)| shows(name))
}

/// Asks for the child servers until none boots any more, or patience ends.
fn wait_for_servers(client: &mut Client) -> Result<Vec<Server>, Failure> {
    let asked = Instant::now();
    let mut progress = Progress::new();
    loop {
        let servers = Server::all(&client.call(STATUS, &json!({}))?.result);
        let booting: Vec<&str> =
            servers.iter().filter(|server| server.is_booting()).map(|server| server.id.as_str()).collect();
        if booting.is_empty() || asked.elapsed() >= PATIENCE {
            return Ok(servers);
        }
        progress.show(&format!("waiting for {} …", booting.join(", ")));
        std::thread::sleep(LOOK);
    }
}
