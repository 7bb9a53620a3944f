//! `evokore lock`: records the tools of child servers, and says what is different from what was recorded before.

mod files;
mod record;

use evokore_catalog::hostile::{self, Finding, Level, Neighbour, Neighbours, visible};
use evokore_catalog::lock::diff::{self, Difference};
use evokore_catalog::lock::file::ServerInfo;
use evokore_catalog::lock::recording::Recording;
use evokore_catalog::render::Definition;
use evokore_catalog::server::{LockKind, ServerSpec};

use super::arguments::LockArguments;
use super::output::{Output, Style, count, one_line, say};
use crate::catalog::CATALOG;
use crate::error::{Exit, Failure};
use files::{Folder, Known};
use record::Recorded;

/// The command whose locks these are.
const MAKER: &str = "evokore lock";

/// Runs the command.
///
/// # Errors
/// An unknown server, a file that cannot be read or written.
pub(crate) fn run(arguments: &LockArguments, out: Output) -> Result<Exit, Failure> {
    let specs = chosen(&arguments.servers)?;
    if let [spec] = specs[..]
        && let Some(file) = &arguments.from
    {
        let text = files::recorded(file)?;
        let recording = Recording::parse(&text).map_err(|error| {
            Failure::usage(format!("`{}` is no answer to tools/list: {error}", file.display()))
                .hint("give an answer to `tools/list` as JSON, alone or as the `result` of a response, or a full lock")
        })?;
        return one(arguments, spec, &recording, &Neighbours::default(), out);
    }
    if arguments.from.is_some() {
        return Err(Failure::usage("`--from` is about one server").hint("name it: evokore lock SERVER --from FILE"));
    }
    let recorded = record::all(&specs)?;
    let neighbours = Neighbours::new(recorded.iter().flat_map(|it| {
        let names = it.tools.iter().map(|tool| tool.name.as_str());
        names.map(|name| Neighbour { server: it.spec.id, name })
    }));
    let mut worst = Exit::Ok;
    for recorded in &recorded {
        let exit = match &recorded.missing {
            None => one(arguments, recorded.spec, &recording(recorded), &neighbours, out)?,
            Some(missing) => {
                let text = format!("{}: not looked at: {}\n", recorded.spec.id, visible(&missing.reason));
                say(&text);
                // An optional server without its variable is as it should be, unless it was asked for.
                if missing.is_fine && arguments.servers.is_empty() { Exit::Ok } else { Exit::Runtime }
            }
        };
        worst = if exit.code() > worst.code() { exit } else { worst };
    }
    Ok(worst)
}

fn recording(recorded: &Recorded) -> Recording<'_> {
    let mut recording = Recording::of(recorded.tools.iter().map(|tool| tool.raw.get()));
    recording.skipped.extend(recorded.notes.iter().cloned());
    let server = recorded.server.rsplit_once(' ').map(|(name, version)| (name, version.trim()));
    recording.server_info =
        server.map(|(name, version)| ServerInfo { name: name.to_owned(), version: version.to_owned() });
    recording
}

/// The servers that were named, or all that are not switched off.
fn chosen(names: &[String]) -> Result<Vec<&'static ServerSpec>, Failure> {
    if names.is_empty() {
        return Ok(CATALOG.servers.iter().filter(|server| !server.disabled).collect());
    }
    let find = |id: &String| {
        let known: Vec<&str> = CATALOG.servers.iter().map(|server| server.id).collect();
        let spec = CATALOG.servers.iter().find(|server| server.id == id).ok_or_else(|| {
            Failure::usage(format!("there is no child server `{id}` in this build"))
                .hint(format!("known: {}", known.join(", ")))
        })?;
        if spec.disabled {
            return Err(Failure::usage(format!("server `{id}` is disabled in the configuration")));
        }
        Ok(spec)
    };
    let mut specs: Vec<&'static ServerSpec> = names.iter().map(find).collect::<Result<_, _>>()?;
    specs.dedup_by_key(|spec| spec.id);
    Ok(specs)
}

/// Says what is different about one server, and writes its lock unless it is only to be checked.
fn one(
    arguments: &LockArguments,
    spec: &'static ServerSpec,
    recording: &Recording<'_>,
    neighbours: &Neighbours<'_>,
    out: Output,
) -> Result<Exit, Failure> {
    let id = spec.id;
    let text = recording.full_lock(MAKER, id);
    if arguments.stdout {
        out.print(&text)?;
        return Ok(Exit::Ok);
    }
    let folder = Folder::find()?;
    let known = folder.read(id)?;
    let fresh = Known::parse(&text, "the new lock")?;
    let differences = known.as_ref().map(|known| diff::diff(&known.sides(), &fresh.sides()));
    out.print(&report(id, known.as_ref(), &fresh, differences.as_deref(), out))?;
    for skipped in &recording.skipped {
        out.print(&format!("    note: {}\n", one_line(skipped, 200)))?;
    }
    out.print(&findings(id, recording, neighbours, out))?;
    let is_same = differences.is_some_and(|differences| differences.is_empty());
    if arguments.check {
        return Ok(if is_same { Exit::Ok } else { Exit::Found });
    }
    match known.as_ref().map(Known::kind) {
        Some(LockKind::Digest) if is_same && !arguments.full => Ok(Exit::Ok),
        Some(LockKind::Digest) if !arguments.full => Err(digest_stays(id)),
        _ if known.is_some_and(|known| known.text() == text) => Ok(Exit::Ok),
        _ => {
            let path = folder.write(id, &text)?;
            let told = format!("{id}: locked {} in `{}`\n", count(recording.tools.len(), "tool"), path.display());
            out.print(&out.paint(Style::Good, &told))?;
            Ok(Exit::Ok)
        }
    }
}

/// A digest lock is never replaced by one that holds the server's texts unless somebody says so.
fn digest_stays(id: &str) -> Failure {
    Failure::usage(format!("the lock of `{id}` is a digest, whose token counts only the compiler makes"))
        .hint(format!("evokore lock {id} --stdout | cargo codegen lock --server {id} --from - --digest; or, to keep the server's texts, evokore lock {id} --full"))
}

fn report(id: &str, known: Option<&Known>, fresh: &Known, differences: Option<&[Difference]>, out: Output) -> String {
    let (Some(known), Some(differences)) = (known, differences) else {
        return format!("{}: has no lock yet; {}\n", out.paint(Style::Bold, id), count(fresh.tools(), "tool"));
    };
    let versions = match (known.server(), fresh.server()) {
        (Some(before), Some(after)) if before != after => {
            format!("; {} -> {}", one_line(&before, 80), one_line(&after, 80))
        }
        _ => String::new(),
    };
    let head = if differences.is_empty() {
        format!("as locked, {}", count(fresh.tools(), "tool"))
    } else {
        format!("{} of {} not as locked", differences.len(), count(fresh.tools(), "tool"))
    };
    let bytes = |difference: &Difference| known.cost(fresh, difference);
    format!("{}: {head}{versions}\n{}", out.paint(Style::Bold, id), diff::as_text(differences, "    ", bytes))
}

/// What the definitions hold that is not meant for a person.
fn findings(id: &str, recording: &Recording<'_>, neighbours: &Neighbours<'_>, out: Output) -> String {
    let is_own = |name: &str| recording.tools.contains_key(name);
    let mut found: Vec<Finding> = Vec::new();
    for (name, json) in &recording.tools {
        found.extend(hostile::scan(json));
        let description = Definition::parse(json).map(|it| it.description()).unwrap_or_default();
        found.extend(neighbours.shadowed(id, name, &description, &is_own));
    }
    found.sort_by_key(|finding| std::cmp::Reverse(finding.level));
    let line = |finding: &Finding| {
        let style = match finding.level {
            Level::Danger => Style::Bad,
            Level::Warn => Style::Warning,
            Level::Notice => Style::Dim,
        };
        format!("    {}\n", out.paint(style, &finding.to_string()))
    };
    found.iter().map(line).collect()
}
