//! What locks hold that is not meant for the person who reads them, told when they are compiled: the same as `evokore lock`
//! tells when they are made, and a running server of what its children list.

use std::collections::BTreeSet;

use evokore_catalog::hostile::{self, Finding, Level, Neighbour, Neighbours};
use evokore_catalog::render::Definition;
use evokore_catalog::server::OnHostile;
use evokore_catalog::tool::Source as Origin;
use serde_json::json;

use crate::config::Config;
use crate::lock::{Body, Lock, LockedTool};
use crate::model::on_hostile;
use crate::native_tools::NativeTool;
use crate::problem::Problem;
use crate::tools::Tool;

/// Server id of the native tools, as elsewhere.
const NATIVE: &str = "native";

/// Tells of dangerous definitions in locks and marks their tools. Of a digest that is the name alone.
pub fn mark_dangerous(config: &Config, locks: &[Lock], tools: &mut [Tool], problems: &mut Vec<Problem>) {
    for tool in tools {
        let Origin::Proxied { server, original } = tool.origin else { continue };
        let server = &config.servers[usize::from(server)];
        let Some(lock) = locks.iter().find(|lock| lock.server == server.id.value) else { continue };
        let Some(locked) = lock.tools.iter().find(|tool| tool.name == original) else { continue };
        let Some(finding) = scan(locked).into_iter().find(|it| it.level == Level::Danger) else { continue };
        let is_withheld = on_hostile(server, &config.guard) == OnHostile::Block;
        let (what, hint) = if is_withheld {
            (
                "is withheld",
                "`hostileContent` says so; serve it with `\"hostileContent\": \"report\"` in the server's entry",
            )
        } else {
            ("is served", "read the text; `\"hostileContent\": \"block\"` withholds such tools")
        };
        problems.push(
            Problem::note(format!(
                "the lock of `{}` holds hostile content, and the tool {what}: {finding}",
                lock.server
            ))
            .in_file(&lock.path)
            .hint(hint),
        );
        tool.is_dangerous = true;
    }
}

/// Tells of locked tools that look like, or speak of, the tools of another server or our own. What honest servers have as
/// well, such as one plain name in two of them, is not told.
pub fn tell_shadows(natives: &[NativeTool], locks: &[Lock], problems: &mut Vec<Problem>) {
    let ours = natives.iter().map(|tool| Neighbour { server: NATIVE, name: &tool.name });
    let locked = |lock: &'_ Lock| -> Vec<(String, String)> {
        lock.tools.iter().map(|tool| (lock.server.clone(), tool.name.clone())).collect()
    };
    let locked: Vec<(String, String)> = locks.iter().flat_map(locked).collect();
    let neighbours = Neighbours::new(ours.chain(locked.iter().map(|(server, name)| Neighbour { server, name })));
    for lock in locks {
        let own: BTreeSet<&str> = lock.tools.iter().map(|tool| tool.name.as_str()).collect();
        let is_own = |name: &str| own.contains(name);
        for tool in &lock.tools {
            let found = neighbours.shadowed(&lock.server, &tool.name, &description(tool), &is_own);
            problems.extend(found.into_iter().filter(|it| it.level > Level::Notice).map(|finding| {
                Problem::note(format!("the lock of `{}` may mislead: {finding}", lock.server))
                    .in_file(&lock.path)
                    .hint("look at both tools; a rule in `permissions.yml` denies the one that is not wanted")
            }));
        }
    }
}

fn scan(tool: &LockedTool) -> Vec<Finding> {
    match &tool.body {
        Body::Full(definition) => hostile::scan(definition),
        Body::Digest { .. } => hostile::scan(&json!({ "name": tool.name }).to_string()),
    }
}

/// The description of a tool, as far as its lock has it.
fn description(tool: &LockedTool) -> String {
    match &tool.body {
        Body::Full(definition) => Definition::parse(definition).map(|it| it.description()).unwrap_or_default(),
        Body::Digest { .. } => String::new(),
    }
}
