//! Which tool names exist: what profiles and rules may name, and what to say about the rest.

use std::collections::{BTreeMap, BTreeSet};

use evokore_catalog::name::{exposed_name, owner};
use evokore_catalog::permission::pattern::Pattern;
use evokore_catalog::render::Definition;
use evokore_catalog::tool::Annotations;

use crate::config::Server;
use crate::lock::{Lock, LockedTool};
use crate::native_tools::NativeTool;
use crate::problem::did_you_mean;

/// All names the build knows, and the servers whose tools it does not know.
#[derive(Debug, Default)]
pub struct Names {
    known: BTreeMap<String, Annotations>,
    natives: BTreeSet<String>,
    ids: Vec<String>,
    locked: BTreeSet<String>,
    /// Whether an input that brings names could not be read, so that an unknown name may be none of its own fault.
    partial: bool,
    /// Names taken on trust because their server has no lock, by server id.
    pub unchecked: BTreeMap<String, BTreeSet<String>>,
}

impl Names {
    /// The names of `natives` and of the locked tools of `servers`; `partial` when some inputs could not be read.
    pub fn new(natives: &[NativeTool], servers: &[Server], locks: &[Lock], partial: bool) -> Names {
        let hints = |tool: &NativeTool| Definition::parse(tool.json).map(|definition| definition.annotations());
        let known = natives.iter().map(|tool| (tool.name.clone(), hints(tool).unwrap_or_default())).collect();
        let natives: BTreeSet<String> = natives.iter().map(|tool| tool.name.clone()).collect();
        let ids: Vec<String> = servers.iter().map(|server| server.id.value.clone()).collect();
        let mut names = Names { known, natives, ids, partial, ..Names::default() };
        for lock in locks.iter().filter(|lock| names.ids.contains(&lock.server)) {
            let expose = |tool: &LockedTool| (names.expose(&lock.server, &tool.name), tool.annotations);
            let exposed: Vec<_> = lock.tools.iter().map(expose).collect();
            names.known.extend(exposed);
            names.locked.insert(lock.server.clone());
        }
        names
    }

    /// The exposed name of `tool` of server `id`.
    pub fn expose(&self, id: &str, tool: &str) -> String {
        let ids: Vec<&str> = self.ids.iter().map(String::as_str).collect();
        exposed_name(id, tool, &ids, |name| self.natives.contains(name))
    }

    /// What is wrong with `name`, said of `subject` (such as "profile `coding` lists"), and how to mend it. `None`
    /// when a tool has it, or when its server has no lock and may have it.
    pub fn check(&mut self, subject: &str, name: &str) -> Option<(String, Option<String>)> {
        if self.known.contains_key(name) {
            return None;
        }
        let ids: Vec<&str> = self.ids.iter().map(String::as_str).collect();
        match owner(name, &ids).map(str::to_owned) {
            _ if self.partial => None,
            Some(id) if !self.locked.contains(&id) => {
                self.unchecked.entry(id).or_default().insert(name.to_owned());
                None
            }
            owner => {
                let hint = self.hint(name, owner.as_deref());
                Some((format!("{subject} unknown tool `{name}`"), Some(hint)))
            }
        }
    }

    /// What is wrong with a rule for `pattern`, which is written as `text`, and how to mend it. `None` when it is for a
    /// tool, or may be for one of a server without a lock.
    pub fn check_pattern(&self, text: &str, pattern: &Pattern<'_>) -> Option<(String, Option<String>)> {
        let unlocked = |id: &&String| !self.locked.contains(*id);
        if self.partial
            || self.known.iter().any(|(name, annotations)| pattern.matches(name, *annotations))
            || self.ids.iter().filter(unlocked).any(|id| pattern.may_start_with(&format!("{id}_")))
        {
            return None;
        }
        let by_name = Pattern { hints: &[], ..*pattern };
        let named = self.known.iter().filter(|(name, annotations)| by_name.matches(name, **annotations)).count();
        let hint = match named {
            0 => "no tool's name fits; compare `generated/permissions.tsv`, where all stand".to_owned(),
            _ => format!(
                "{named} tools fit by name, and none of them by its hints; see `annotations` in their definitions"
            ),
        };
        Some((format!("this rule is for no tool: nothing fits `{text}`"), Some(hint)))
    }

    fn hint(&self, name: &str, owner: Option<&str>) -> String {
        if let Some(near) = did_you_mean(name, self.known.keys().map(String::as_str)) {
            return near;
        }
        match owner {
            Some(id) => {
                format!("the lock of server `{id}` has no such tool; make the lock anew if the server has changed")
            }
            None => "it is no native tool, and no configured server id starts it (`<id>_<tool>`)".to_owned(),
        }
    }
}
