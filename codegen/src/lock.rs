//! Locks: what is known of a child server's tools before it has started.
//!
//! A `full` lock holds the definitions as the child gave them. A `digest` lock holds their names, SHA-256, behaviour
//! hints and token counts, and none of the child's texts: enough for name checks, budgets, permissions and for
//! noticing drift, and free of what is not ours to hand on.

use std::collections::BTreeSet;

use evokore_catalog::lock::file::{Entry, LockFile, Modes};
use evokore_catalog::render::minify;
use evokore_catalog::server::LockKind;
use evokore_catalog::tool::Annotations;

use crate::json::strict_problem;
use crate::problem::Problem;
use crate::source::Source;
use crate::tokens::Counts;

/// A lock file, read and checked.
#[derive(Debug, Clone)]
pub struct Lock {
    /// The server it belongs to.
    pub server: String,
    /// What it holds.
    pub kind: LockKind,
    /// Its tools, sorted by the child's own name.
    pub tools: Vec<LockedTool>,
    /// Path of the file.
    pub path: String,
}

/// One tool of a lock.
#[derive(Debug, Clone)]
pub struct LockedTool {
    /// The child's own name for it.
    pub name: String,
    /// SHA-256 of the canonical definition.
    pub sha256: String,
    /// Behaviour hints.
    pub annotations: Annotations,
    /// What the lock knows of the definition itself.
    pub body: Body,
}

/// The part of a locked tool that depends on the kind of lock.
#[derive(Debug, Clone)]
pub enum Body {
    /// The definition as the child gave it.
    Full(&'static str),
    /// Token counts of the modes.
    Digest {
        /// Mode `full`.
        full: Counts,
        /// Mode `deferred`.
        deferred: Counts,
        /// What a model sees.
        visible: Counts,
        /// Its line in an answer of `discover_tools`.
        found: Counts,
    },
}

/// What to do about a lock that cannot be used.
const ANEW: &str = "make the lock anew; it is not meant to be edited";

/// Reads the lock files, each of which is named after its server.
pub fn read(sources: &[Source], problems: &mut Vec<Problem>) -> Vec<Lock> {
    sources.iter().filter_map(|source| read_one(source, problems)).collect()
}

fn read_one(source: &Source, problems: &mut Vec<Problem>) -> Option<Lock> {
    let file = match LockFile::parse(&source.text) {
        Ok(file) => file,
        Err(error) => {
            problems.push(strict_problem(source, "lock file", &error).hint(ANEW));
            return None;
        }
    };
    let mut report = |message: String| problems.push(Problem::error(message).in_file(&source.path).hint(ANEW));
    let kind = match file.kind() {
        Ok(kind) => kind,
        Err(message) => {
            report(message);
            return None;
        }
    };
    let named = source.path.rsplit('/').next().and_then(|name| name.strip_suffix(".json")).unwrap_or_default();
    if named != file.server {
        report(format!("the lock is for server `{}`, but the file is named after `{named}`", file.server));
        return None;
    }
    let mut seen = BTreeSet::new();
    let mut tools = Vec::new();
    for entry in file.tools {
        if !seen.insert(entry.name.clone()) {
            report(format!("the lock of `{}` holds the tool `{}` twice", file.server, entry.name));
            continue;
        }
        match tool(&entry, kind) {
            Ok(tool) => tools.push(tool),
            Err(message) => report(format!("the lock of `{}`: tool `{}` {message}", file.server, entry.name)),
        }
    }
    tools.sort_by(|a, b| a.name.cmp(&b.name));
    Some(Lock { server: file.server, kind, tools, path: source.path.clone() })
}

fn tool(entry: &Entry<'_>, kind: LockKind) -> Result<LockedTool, String> {
    let (annotations, body) = if kind == LockKind::Full {
        let definition = entry.checked()?;
        let raw = entry.definition.ok_or("has no definition")?;
        (definition.annotations(), Body::Full(minify(raw.get()).leak()))
    } else {
        let tokens = entry.tokens.ok_or("has no token counts")?;
        let both =
            |mode: fn(&Modes) -> u32| Counts::new(Some(mode(&tokens.cl100k_base)), Some(mode(&tokens.o200k_base)));
        let body = Body::Digest {
            full: both(|it| it.full),
            deferred: both(|it| it.deferred),
            visible: both(|it| it.visible),
            found: both(|it| it.found),
        };
        (entry.annotations(), body)
    };
    Ok(LockedTool { name: entry.name.clone(), sha256: entry.sha256.clone(), annotations, body })
}
