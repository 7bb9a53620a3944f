//! `permissions.yml`: flat rules, roles, modes, and which of them are active. A policy that cannot be read to the letter is a problem:
//! a slip in it must not open a door.

mod digest;
mod modes;
mod presets;
mod selector;

use std::collections::BTreeMap;

use crate::leak::{leak, leak_all};
use crate::names::Names;
use crate::problem::{Problem, did_you_mean};
use crate::source::Source;
use crate::yaml::{Node, Places};
pub use digest::digest;
use evokore_catalog::permission::{Access, ApprovalMode, Policy, Role, Rule, Rules};
pub use modes::ModeRules;
use selector::Fault;

/// The policy as written.
#[derive(Debug, Clone, Default)]
pub struct Permissions {
    /// Flat rules, sorted as written.
    pub rules: Vec<Rule>,
    /// Roles, sorted by name.
    pub roles: BTreeMap<String, RoleRules>,
    /// `active_role`.
    pub active_role: Option<String>,
    /// `modes`, besides the presets.
    pub modes: BTreeMap<String, ModeRules>,
    /// `active_mode`.
    pub active_mode: Option<String>,
    /// `approvals.mode`.
    pub approvals: ApprovalMode,
}

/// One of `roles`.
#[derive(Debug, Clone)]
pub struct RoleRules {
    /// `description`.
    pub description: String,
    /// `default_permission`.
    pub default_permission: Access,
    /// `overrides`, sorted as written.
    pub overrides: Vec<Rule>,
}

const KEYS: &[&str] = &["rules", "roles", "active_role", "modes", "active_mode", "approvals"];
const ROLE_KEYS: &[&str] = &["description", "default_permission", "overrides"];
const LEVELS: &[(&str, Access)] =
    &[("allow", Access::Allow), ("require_approval", Access::RequireApproval), ("deny", Access::Deny)];

impl Permissions {
    /// The policy as the catalog holds it.
    pub fn compile(&self) -> Policy {
        let roles = (0..).zip(&self.roles).map(|(index, (name, role))| Role {
            name: leak(name),
            index,
            description: leak(&role.description),
            default_permission: role.default_permission,
            overrides: compile_rules(&role.overrides),
        });
        Policy {
            rules: compile_rules(&self.rules),
            roles: leak_all(roles),
            active_role: self.active_role.as_deref().map(leak),
            modes: self.compile_modes(),
            active_mode: leak(self.active_mode.as_deref().unwrap_or(presets::DEFAULT_MODE)),
            approvals: self.approvals,
        }
    }
}

fn compile_rules(rules: &[Rule]) -> Rules {
    let (exact, patterns): (Vec<Rule>, Vec<Rule>) = rules.iter().partition(|rule| rule.pattern.is_exact());
    Rules { exact: exact.leak(), patterns: patterns.leak() }
}

/// Reads the policy, whose rules may name what is in `names`.
pub fn read(source: &Source, names: &mut Names, problems: &mut Vec<Problem>) -> Permissions {
    let Some(root) = crate::yaml::parse(source, problems) else { return Permissions::default() };
    let mut reader = Reader { source, places: Places::scan(&source.text), names, problems };
    let mut permissions = Permissions::default();
    let Some(members) = reader.mapping(&root, &[], "the policy") else { return permissions };
    for (key, value) in members {
        match key {
            "rules" => permissions.rules = reader.rules(value, &["rules"], "`rules`"),
            "roles" => permissions.roles = reader.roles(value),
            "active_role" => permissions.active_role = reader.active("active_role", "a role", "`roles`", value),
            "modes" => permissions.modes = reader.modes(value),
            "active_mode" => permissions.active_mode = reader.active("active_mode", "a mode", "the modes", value),
            "approvals" => permissions.approvals = reader.approvals(value),
            _ => reader.unknown_key(&[], key, KEYS, "the policy"),
        }
    }
    if let Some(active) = &permissions.active_role {
        reader.check_active("active_role", "role", active, permissions.roles.keys());
    }
    if let Some(active) = &permissions.active_mode {
        reader.check_active("active_mode", "mode", active, permissions.all_modes().keys());
    }
    permissions
}

struct Reader<'a> {
    source: &'a Source,
    places: Places,
    names: &'a mut Names,
    problems: &'a mut Vec<Problem>,
}

impl Reader<'_> {
    /// Reports `problem` at the key `path`, or at its value.
    fn report(&mut self, problem: Problem, path: &[&str], at_value: bool) {
        let place = self.places.find(path, 0);
        let range = place.map(|place| if at_value { place.value.clone() } else { place.key.clone() });
        self.problems.push(match range {
            Some(range) => problem.at(self.source, range),
            None => problem.in_file(&self.source.path),
        });
    }

    /// The members of a mapping. The first of several with one name counts. Top-level names that start with `_` or
    /// `x-` are passed over.
    fn mapping<'v>(&mut self, node: &'v Node, path: &[&str], what: &str) -> Option<Vec<(&'v str, &'v Node)>> {
        let pairs = match node {
            Node::Map(pairs) => pairs.as_slice(),
            Node::Null => &[],
            other => {
                let message = format!("{what} must be a mapping, but is {}", other.kind());
                self.report(Problem::error(message).hint("write `name: value`, one a line"), path, false);
                return None;
            }
        };
        let mut members: Vec<(&str, &Node)> = Vec::new();
        let mut seen = BTreeMap::new();
        for (key, value) in pairs {
            let Node::Text(key) = key else {
                let message = format!("{what} has a key that is {}, not a name", key.kind());
                self.report(Problem::error(message).hint("put the key into quotes"), path, false);
                continue;
            };
            if path.is_empty() && (key.starts_with('_') || key.starts_with("x-")) {
                continue;
            }
            let times = seen.entry(key).and_modify(|times| *times += 1).or_insert(0_usize);
            if *times == 0 {
                members.push((key, value));
            } else {
                let full: Vec<&str> = path.iter().copied().chain([key.as_str()]).collect();
                let problem = Problem::error(format!("the key `{key}` stands twice in {what}"));
                let problem = problem.hint("delete one of the two");
                self.problems.push(match self.places.find(&full, *times) {
                    Some(place) => problem.at(self.source, place.key.clone()),
                    None => problem.in_file(&self.source.path),
                });
            }
        }
        Some(members)
    }

    fn unknown_key(&mut self, path: &[&str], key: &str, known: &[&str], what: &str) {
        let known_list = known.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
        let hint = did_you_mean(key, known.iter().copied()).unwrap_or(format!("known keys: {known_list}"));
        let path: Vec<&str> = path.iter().copied().chain([key]).collect();
        self.report(Problem::error(format!("unknown key `{key}` in {what}")).hint(hint), &path, false);
    }

    fn rules(&mut self, value: &Node, path: &[&str], what: &str) -> Vec<Rule> {
        let mut rules = Vec::new();
        for (tools, value) in self.mapping(value, path, what).unwrap_or_default() {
            let path: Vec<&str> = path.iter().copied().chain([tools]).collect();
            let access = self.level(value, &path, &format!("the access to `{tools}`"));
            let pattern = match selector::read(tools) {
                Ok(pattern) => pattern,
                Err(Fault { message, hint }) => {
                    self.report(Problem::error(message).hint(hint), &path, false);
                    continue;
                }
            };
            let unknown = match pattern.is_exact() {
                true => self.names.check("this rule is for the", tools),
                false => self.names.check_pattern(tools, &pattern),
            };
            if let Some((message, hint)) = unknown {
                self.report(Problem::error(message).maybe_hint(hint), &path, false);
            }
            if let Some(access) = access {
                let place = self.places.find(&path, 0);
                let line = place.map_or(0, |place| self.source.position(place.key.start).line);
                rules.push(Rule { tools: leak(tools), pattern, access, line });
            }
        }
        rules.sort_by_key(|rule| rule.tools);
        rules
    }

    fn level(&mut self, value: &Node, path: &[&str], what: &str) -> Option<Access> {
        let Node::Text(text) = value else {
            let message = format!("{what} must be a level, but is {}", value.kind());
            self.report(Problem::error(message).hint("write `allow`, `require_approval` or `deny`"), path, true);
            return None;
        };
        let found = LEVELS.iter().find(|(name, _)| name == text);
        if found.is_none() {
            let hint = did_you_mean(text, LEVELS.iter().map(|(name, _)| *name));
            let hint = hint.unwrap_or_else(|| "write `allow`, `require_approval` or `deny`".to_owned());
            self.report(Problem::error(format!("{what} is `{text}`, which is no level")).hint(hint), path, true);
        }
        found.map(|(_, access)| *access)
    }

    /// `approvals`: what is not one of the words is a problem, and never less than a person's word.
    fn approvals(&mut self, value: &Node) -> ApprovalMode {
        let mut mode = ApprovalMode::Operator;
        for (key, value) in self.mapping(value, &["approvals"], "`approvals`").unwrap_or_default() {
            if key != "mode" {
                self.unknown_key(&["approvals"], key, &["mode"], "`approvals`");
                continue;
            }
            let path = ["approvals", "mode"];
            let Node::Text(text) = value else {
                let message = format!("`approvals.mode` must be a word, but is {}", value.kind());
                self.report(Problem::error(message).hint("write `operator` or `token`"), &path, true);
                continue;
            };
            match ApprovalMode::NAMES.iter().find(|(name, _)| name == text) {
                Some((_, named)) => mode = *named,
                None => {
                    let hint = did_you_mean(text, ApprovalMode::NAMES.iter().map(|(name, _)| *name));
                    let hint = hint.unwrap_or_else(|| "write `operator` or `token`".to_owned());
                    let message = format!("`approvals.mode` is `{text}`, which is no way to approve");
                    self.report(Problem::error(message).hint(hint), &path, true);
                }
            }
        }
        mode
    }

    fn roles(&mut self, value: &Node) -> BTreeMap<String, RoleRules> {
        let mut roles = BTreeMap::new();
        for (name, value) in self.mapping(value, &["roles"], "`roles`").unwrap_or_default() {
            if let Some(role) = self.role(name, value) {
                roles.insert(name.to_owned(), role);
            }
        }
        roles
    }

    fn role(&mut self, name: &str, value: &Node) -> Option<RoleRules> {
        let place = format!("the role `{name}`");
        let path = ["roles", name];
        let mut default_permission = None;
        let mut stated = false;
        let mut role =
            RoleRules { description: String::new(), default_permission: Access::Deny, overrides: Vec::new() };
        for (key, value) in self.mapping(value, &path, &place)? {
            let inner = ["roles", name, key];
            match key {
                "description" => role.description = self.description(value, &inner, &place),
                "default_permission" => {
                    stated = true;
                    default_permission = self.level(value, &inner, &format!("`default_permission` of {place}"));
                }
                "overrides" => role.overrides = self.rules(value, &inner, &format!("`overrides` of {place}")),
                _ => self.unknown_key(&path, key, ROLE_KEYS, &place),
            }
        }
        if !stated {
            let message = format!("{place} has no `default_permission`");
            self.report(Problem::error(message).hint("add `default_permission: deny`, or another level"), &path, false);
        }
        role.default_permission = default_permission.unwrap_or(Access::Deny);
        Some(role)
    }

    fn description(&mut self, value: &Node, path: &[&str], place: &str) -> String {
        if let Node::Text(text) = value {
            return text.clone();
        }
        let message = format!("the description of {place} must be a string, but is {}", value.kind());
        self.report(Problem::error(message).hint("put it into quotes"), path, true);
        String::new()
    }

    /// Reads the top-level `key`, which names one of `known`.
    fn active(&mut self, key: &str, what: &str, known: &str, value: &Node) -> Option<String> {
        match value {
            Node::Text(name) => Some(name.clone()),
            Node::Null => None,
            other => {
                let message = format!("`{key}` must be the name of {what}, but is {}", other.kind());
                let hint = format!("name one of {known}, or delete the line");
                self.report(Problem::error(message).hint(hint), &[key], true);
                None
            }
        }
    }

    fn check_active<'n>(
        &mut self,
        key: &str,
        what: &str,
        active: &String,
        known: impl Iterator<Item = &'n String> + Clone,
    ) {
        if known.clone().any(|name| name == active) {
            return;
        }
        let list = known.clone().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let list = if list.is_empty() { format!("there are no {what}s") } else { format!("known {what}s: {list}") };
        let hint = did_you_mean(active, known.map(String::as_str)).unwrap_or(list);
        self.report(Problem::error(format!("the active {what} `{active}` is not defined")).hint(hint), &[key], true);
    }
}
