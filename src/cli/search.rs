//! `evokore search`: what `discover_tools` would find.

use evokore_catalog::search::{self, Document, Options, Scratch, Segment, write_segment};
use evokore_catalog::server::{LockKind, ServerSpec};
use serde_json::{Value, json};

use super::arguments::SearchArguments;
use super::live::Live;
use super::output::{Align, Output, columns, one_line};
use super::process;
use crate::catalog::CATALOG;
use crate::discovery::{self, EXACT};
use crate::error::{Exit, Failure};
use crate::listing::merged::{Merged, ToolRef};
use crate::listing::projection::{self, Revealed};
use crate::settings::Settings;

/// One tool that was found.
struct Found {
    name: String,
    server: &'static str,
    /// Relative to the best, 0 to 1.
    score: f64,
    description: String,
    listed: bool,
}

/// What a search gives.
struct Answer {
    query: String,
    found: Vec<Found>,
    /// Tools of which the build knows the name alone, found by it: name and server.
    by_name: Vec<(&'static str, &'static str)>,
    /// Words of the query that neither knows.
    unmatched: Vec<String>,
}

/// Runs the command.
///
/// # Errors
/// There is nothing to search for, or a variable means nothing.
pub(crate) fn run(arguments: &SearchArguments, out: Output) -> Result<Exit, Failure> {
    let query = arguments.query.join(" ");
    if query.trim().is_empty() {
        return Err(Failure::usage("the query is empty").hint("say what the tool should do, or its name"));
    }
    let live = Live::new(process::settings(None)?)?;
    let look = || find(&live, query, usize::from(arguments.limit));
    let answer = if arguments.live {
        live.with_servers(async {
            live.all_settled(|_| {}).await;
            look()
        })
    } else {
        look()
    };
    if arguments.json {
        out.json(&as_json(&answer))?;
    } else {
        out.print(&as_text(&answer, arguments.live))?;
    }
    Ok(Exit::Ok)
}

fn find(live: &Live, query: String, limit: usize) -> Answer {
    let settings = &live.app.settings;
    let merged = live.app.merged();
    let answer = discovery::search(settings, &merged, &query, limit);
    let best = answer.found.iter().map(|found| found.score).filter(|score| *score < EXACT).fold(f32::EPSILON, f32::max);
    let found = answer.found.iter().map(|found| Found {
        name: found.tool.name().to_owned(),
        server: found.tool.server_id(),
        score: (f64::from((found.score / best).min(1.0)) * 100.0).round() / 100.0,
        description: found.tool.description().to_owned(),
        listed: projection::is_visible(settings, found.tool, &Revealed::NONE),
    });
    let found: Vec<Found> = found.collect();
    let (by_name, unnamed) = find_names(settings, &merged, &query, limit.saturating_sub(found.len()));
    let unmatched = answer.unmatched.into_iter().filter(|word| unnamed.contains(word)).collect();
    Answer { query, found, by_name, unmatched }
}

/// Searches the names of the tools whose texts only their server has, while it is not up; the second part are the words
/// that no such name has. A client is not told of these tools until they can be listed, but a person who looks for one
/// wants to know that it is there.
fn find_names(
    settings: &Settings,
    merged: &Merged,
    query: &str,
    limit: usize,
) -> (Vec<(&'static str, &'static str)>, Vec<String>) {
    let tools: Vec<(&'static str, &'static str)> = merged
        .iter()
        .filter(|tool| !tool.is_listable() && projection::is_permitted(settings, *tool))
        .filter_map(|tool| match tool {
            ToolRef::Compiled(_, entry) => Some((entry.name, tool.server_id())),
            ToolRef::Live(..) => None,
        })
        .collect();
    let wanted = search::normalise_name(query);
    let exact: Vec<_> = tools.iter().copied().filter(|(name, _)| search::normalise_name(name) == wanted).collect();
    if !exact.is_empty() {
        return (exact, Vec::new());
    }
    let documents: Vec<Document> = tools.iter().map(|(name, _)| Document::of_tool(name, "", &Value::Null)).collect();
    // Names that make no segment cannot come out of the build, and are only an extra here.
    let Some(segment) = write_segment(&documents).ok().and_then(|bytes| Segment::new(bytes).ok()) else {
        return (Vec::new(), Vec::new());
    };
    let options = Options { limit, ..Options::default() };
    let hits = search::search(&[&segment], query, &options, &mut Scratch::default());
    let found = hits.ranked.iter().filter_map(|hit| tools.get(usize::from(hit.document)).copied()).collect();
    (found, hits.unmatched)
}

fn as_json(answer: &Answer) -> Value {
    let matches = answer.found.iter().map(|found| {
        json!({
            "name": found.name,
            "server": found.server,
            "score": found.score,
            "description": found.description,
            "listed": found.listed,
        })
    });
    let by_name = answer.by_name.iter().map(|(name, server)| json!({ "name": name, "server": server }));
    json!({
        "query": answer.query,
        "matches": matches.collect::<Vec<Value>>(),
        "byNameOnly": by_name.collect::<Vec<Value>>(),
        "unmatched": answer.unmatched,
    })
}

fn as_text(answer: &Answer, live: bool) -> String {
    let mut text = String::new();
    if answer.found.is_empty() && answer.by_name.is_empty() {
        text.push_str(&format!("no tool matches `{}`\n", answer.query));
    }
    let mut push = |lines: Vec<String>| {
        for line in lines {
            text.push_str(&line);
            text.push('\n');
        }
    };
    let rows: Vec<Vec<String>> = answer
        .found
        .iter()
        .map(|found| {
            let description = one_line(&found.description, 90);
            vec![found.name.clone(), found.server.to_owned(), format!("{:.2}", found.score), description]
        })
        .collect();
    push(columns("", &[Align::Left, Align::Left, Align::Right, Align::Left], &rows));
    if !answer.by_name.is_empty() {
        let rows: Vec<Vec<String>> =
            answer.by_name.iter().map(|(name, server)| vec![(*name).to_owned(), (*server).to_owned()]).collect();
        push(vec!["by name alone, since the server is not up:".to_owned()]);
        push(columns("  ", &[Align::Left; 2], &rows));
    }
    if !answer.unmatched.is_empty() {
        text.push_str(&format!("no tool knows: {}\n", answer.unmatched.join(", ")));
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
