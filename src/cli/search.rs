//! `evokore search`: what `discover_tools` would find.

use evokore_catalog::server::{LockKind, ServerSpec};
use serde_json::{Value, json};

use super::arguments::SearchArguments;
use super::live::Live;
use super::output::{Align, Output, columns, one_line};
use super::process;
use crate::catalog::CATALOG;
use crate::discovery::{self, EXACT};
use crate::error::{Exit, Failure};
use crate::listing::projection;

/// One tool that was found.
struct Found {
    name: String,
    server: &'static str,
    /// Relative to the best, 0 to 1.
    score: f64,
    description: String,
    listed: bool,
}

/// Runs the command.
///
/// # Errors
/// A variable means nothing.
pub(crate) fn run(arguments: &SearchArguments, out: Output) -> Result<Exit, Failure> {
    let query = arguments.query.join(" ");
    let live = Live::new(process::settings(None)?)?;
    let look = || find(&live, &query, usize::from(arguments.limit));
    let (found, unmatched) = if arguments.live {
        live.with_servers(async {
            live.all_settled(|_| {}).await;
            look()
        })
    } else {
        look()
    };
    if arguments.json {
        out.json(&as_json(&query, &found, &unmatched))?;
    } else {
        out.print(&as_text(&query, &found, &unmatched, arguments.live))?;
    }
    Ok(Exit::Ok)
}

fn find(live: &Live, query: &str, limit: usize) -> (Vec<Found>, Vec<String>) {
    let settings = &live.app.settings;
    let merged = live.app.merged();
    let answer = discovery::search(settings, &merged, query, limit);
    let best = answer.found.iter().map(|found| found.score).filter(|score| *score < EXACT).fold(f32::EPSILON, f32::max);
    let found = answer.found.iter().map(|found| Found {
        name: found.tool.name().to_owned(),
        server: found.tool.server_id(),
        score: (f64::from((found.score / best).min(1.0)) * 100.0).round() / 100.0,
        description: found.tool.description().to_owned(),
        listed: projection::is_visible(settings, found.tool, &[]),
    });
    (found.collect(), answer.unmatched)
}

fn as_json(query: &str, found: &[Found], unmatched: &[String]) -> Value {
    let matches: Vec<Value> = found
        .iter()
        .map(|found| {
            json!({
                "name": found.name,
                "server": found.server,
                "score": found.score,
                "description": found.description,
                "listed": found.listed,
            })
        })
        .collect();
    json!({ "query": query, "matches": matches, "unmatched": unmatched })
}

fn as_text(query: &str, found: &[Found], unmatched: &[String], live: bool) -> String {
    let mut text = String::new();
    if found.is_empty() {
        text.push_str(&format!("no tool matches `{query}`\n"));
    }
    let rows: Vec<Vec<String>> = found
        .iter()
        .map(|found| {
            let description = one_line(&found.description, 90);
            vec![found.name.clone(), found.server.to_owned(), format!("{:.2}", found.score), description]
        })
        .collect();
    for line in columns("", &[Align::Left, Align::Left, Align::Right, Align::Left], &rows) {
        text.push_str(&line);
        text.push('\n');
    }
    if !unmatched.is_empty() {
        text.push_str(&format!("no tool knows: {}\n", unmatched.join(", ")));
    }
    let unread: Vec<&str> = CATALOG.servers.iter().filter(|server| is_unread(server)).map(|server| server.id).collect();
    if !live && !unread.is_empty() {
        text.push_str(&format!("hint: `--live` searches the tools of {} by what they do, too\n", unread.join(", ")));
    }
    text
}

/// Whether the build does not hold the texts of this server's tools.
fn is_unread(server: &ServerSpec) -> bool {
    server.lock != LockKind::Full && !server.disabled
}
