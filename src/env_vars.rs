//! Every environment variable of evokore: one documented constant each, and the only code that reads the environment.
//!
//! The README's table is made from [`VARS`]. What a `.env` file adds lies in an overlay that [`lookup`] asks after the
//! process's own environment, so it never overrides what is set.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::sync::OnceLock;

/// One variable that evokore reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Var {
    /// Name as written in the environment.
    pub name: &'static str,
    /// What holds when it is not set, in words or as a value; empty when nothing does.
    pub default: &'static str,
    /// What it decides, one sentence in Markdown.
    meaning: &'static str,
    /// What it belongs to.
    pub group: Group,
}

impl Var {
    /// What it decides, one sentence in Markdown.
    pub fn meaning(&self) -> &'static str {
        self.meaning.trim_ascii()
    }
}

/// What a variable belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Which tools a client is shown, and how.
    Tools,
    /// Starting and calling child servers.
    Servers,
    /// Who may call what.
    Security,
    /// Where files lie.
    Files,
    /// Read by `cargo build` and `cargo codegen`, not by the server.
    Build,
}

impl Group {
    /// Every group, in the order of the tables.
    pub const ALL: [Group; 5] = [Group::Tools, Group::Servers, Group::Security, Group::Files, Group::Build];

    /// Heading for people.
    pub fn title(self) -> &'static str {
        match self {
            Group::Tools => "What clients are shown",
            Group::Servers => "Child servers",
            Group::Security => "Permissions",
            Group::Files => "Files",
            Group::Build => "Build time",
        }
    }
}

macro_rules! variables {
    ($($(#[doc = $doc:literal])+ $constant:ident = $name:literal, $default:literal, $group:ident;)+) => {
        $($(#[doc = $doc])+ pub const $constant: &str = $name;)+

        /// Every variable, in the order of the README's table.
        pub const VARS: &[Var] = &[
            $(Var { name: $name, default: $default, meaning: concat!($($doc),+), group: Group::$group },)+
        ];
    };
}

variables! {
    /// `dynamic`: a client is shown its profile's tools and what it discovers. `legacy`: every tool, whatever the profile.
    TOOL_DISCOVERY_MODE = "EVOKORE_TOOL_DISCOVERY_MODE", "dynamic", Tools;
    /// Name of the active profile.
    DISCOVERY_PROFILE = "EVOKORE_DISCOVERY_PROFILE", "`discovery.activeProfile`, else `default`", Tools;
    /// `full`: lists carry whole definitions. `deferred`: placeholders, with the rest behind `describe_tool`.
    TOOL_SCHEMA_MODE = "EVOKORE_TOOL_SCHEMA_MODE", "the profile's `schemaMode`, else full", Tools;
    /// Milliseconds after which a client that never calls `describe_tool` gets whole definitions after all.
    TOOL_SCHEMA_FALLBACK_MS = "EVOKORE_TOOL_SCHEMA_FALLBACK_MS", "60000", Tools;
    /// `true`: `tools/list` comes in pages even if the client sends no cursor.
    TOOL_LIST_PAGINATION = "EVOKORE_TOOL_LIST_PAGINATION", "false", Tools;
    /// Tools in one page, 1 to 1000.
    TOOL_LIST_PAGE_SIZE = "EVOKORE_TOOL_LIST_PAGE_SIZE", "35", Tools;
    /// Milliseconds in which changes of the list are merged into one notification, 0 to 5000.
    TOOLS_LIST_CHANGED_DEBOUNCE_MS = "EVOKORE_TOOLS_LIST_CHANGED_DEBOUNCE_MS", "250", Tools;
    /// Milliseconds that a child server may take from its start to its first list of tools.
    CHILD_SERVER_BOOT_TIMEOUT_MS = "EVOKORE_CHILD_SERVER_BOOT_TIMEOUT_MS", "30000", Servers;
    /// Milliseconds that one call to a child server may take.
    PROXY_REQUEST_TIMEOUT_MS = "EVOKORE_PROXY_REQUEST_TIMEOUT_MS", "60000", Servers;
    /// Bytes that one result of a child server may have, unless its entry says otherwise; a larger one becomes an error.
    MAX_RESULT_BYTES = "EVOKORE_MAX_RESULT_BYTES", "67108864", Servers;
    /// Estimated tokens that one result of a child server may have, unless its entry says otherwise; a longer one becomes a preview that can be read on.
    MAX_RESULT_TOKENS = "EVOKORE_MAX_RESULT_TOKENS", "no limit", Servers;
    /// Name of the active role of `permissions.yml`.
    ROLE = "EVOKORE_ROLE", "`active_role` of `permissions.yml`", Security;
    /// Name of the active mode, one of `dev`, `research`, `review`, `debug`, `security-audit`, `swarm` and those of `permissions.yml`; it leaves of what the role may do at most so much.
    STEERING_MODE = "EVOKORE_STEERING_MODE", "`active_mode` of `permissions.yml`, else `dev`", Security;
    /// `true`: without a role, tools that no rule names are denied.
    SECURITY_DEFAULT_DENY = "EVOKORE_SECURITY_DEFAULT_DENY", "false", Security;
    /// `warn`, `approve` or `block`: what becomes of tools that are not what their lock says, at least; the stricter of this and `lock.onDrift` counts.
    LOCK_ON_DRIFT = "EVOKORE_LOCK_ON_DRIFT", "warn", Security;
    /// `report` or `block`: what becomes of tools whose definitions hold something dangerous, at least; the stricter of this and `hostileContent` counts.
    HOSTILE_CONTENT = "EVOKORE_HOSTILE_CONTENT", "report", Security;
    /// `false`: no audit log is written.
    AUDIT_LOG = "EVOKORE_AUDIT_LOG", "true", Security;
    /// Folder of the configuration. The build compiles it (by default: this repository); at run time `.env` lies in it, relative commands start in it, `refresh_skills` reads it and `evokore doctor` compares it.
    CONFIG_DIR = "EVOKORE_CONFIG_DIR", "the repository the executable was built in, or its own folder", Files;
    /// Path of the configuration file, where it is not called `mcp.config.json`; its folder counts as the configuration's.
    MCP_CONFIG_PATH = "EVOKORE_MCP_CONFIG_PATH", "`mcp.config.json` in the configuration's folder", Files;
    /// Folder for what evokore keeps on disk.
    HOME = "EVOKORE_HOME", "`~/.evokore`", Files;
    /// Profiles to compile, separated by commas.
    PROFILE_SET = "EVOKORE_PROFILE_SET", "all", Build;
}

/// What `.env` files add.
static OVERLAY: OnceLock<BTreeMap<String, String>> = OnceLock::new();

/// The value of `name`: from the environment, else from the `.env` file. A value that is not UTF-8 comes with
/// replacement characters, so that it is refused where it means something instead of counting as unset.
pub fn lookup(name: &str) -> Option<String> {
    match lookup_os(name) {
        Some(value) => Some(value.to_string_lossy().into_owned()),
        None => OVERLAY.get()?.get(name).cloned(),
    }
}

/// The value of `name` in the process's own environment, as the system has it.
#[expect(clippy::disallowed_methods, reason = "this is the place that the rule sends everyone to")]
pub fn lookup_os(name: &str) -> Option<OsString> {
    // The system's function refuses such names; asking for them is no defect here, since they come from configurations.
    if name.is_empty() || name.bytes().any(|byte| matches!(byte, b'=' | 0)) { None } else { std::env::var_os(name) }
}

/// The names that [`lookup`] knows, sorted, except those that are not UTF-8.
#[expect(clippy::disallowed_methods, reason = "this is the place that the rule sends everyone to")]
pub fn names() -> Vec<String> {
    let set = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let names: BTreeSet<String> = set.chain(OVERLAY.get().into_iter().flat_map(|it| it.keys().cloned())).collect();
    names.into_iter().collect()
}

/// The names in the process's environment that look like ours and are none of [`VARS`], sorted.
#[expect(clippy::disallowed_methods, reason = "this is the place that the rule sends everyone to")]
pub fn unknown_names() -> Vec<String> {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let mut unknown: Vec<String> =
        names.filter(|name| name.starts_with("EVOKORE_") && VARS.iter().all(|var| var.name != name.as_str())).collect();
    unknown.sort();
    unknown
}

/// The value of `name` if it is not blank: an empty variable is how a client's configuration says "not set".
pub fn read(name: &str) -> Option<String> {
    lookup(name).filter(|value| !value.trim_ascii().is_empty())
}

/// Lays `values` under the environment. Only the first call has an effect, which is told by the result.
pub fn set_overlay(values: BTreeMap<String, String>) -> bool {
    OVERLAY.set(values).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_wins_over_the_overlay() {
        let path = lookup_os("PATH").map(|path| path.to_string_lossy().into_owned());
        assert!(path.is_some(), "the tests need a PATH");
        let overlay = [("PATH", "/overlay"), ("EVOKORE_TEST_OVERLAY", "below"), ("EVOKORE_TEST_BLANK", " ")];
        assert!(set_overlay(overlay.map(|(name, value)| (name.into(), value.into())).into()));
        assert!(!set_overlay(BTreeMap::new()), "the overlay is set once");
        assert_eq!(lookup("PATH"), path);
        assert_eq!(lookup("EVOKORE_TEST_OVERLAY").as_deref(), Some("below"));
        assert_eq!(lookup("EVOKORE_TEST_BLANK").as_deref(), Some(" "));
        assert_eq!(read("EVOKORE_TEST_BLANK"), None);
        let names = names();
        assert!(
            names.is_sorted()
                && ["PATH", "EVOKORE_TEST_OVERLAY"].iter().all(|it| names.iter().any(|known| known == it))
        );
        for odd in ["", "A=B", "nul\0"] {
            assert_eq!(lookup(odd), None, "{odd:?}");
        }
    }

    #[test]
    fn every_variable_is_documented_once() {
        for (at, var) in VARS.iter().enumerate() {
            assert!(var.name.starts_with("EVOKORE_"), "{}", var.name);
            assert!(var.meaning().ends_with('.') && !var.meaning().contains('|'), "{}", var.name);
            assert!(VARS[..at].iter().all(|other| other.name != var.name), "{} stands twice", var.name);
        }
        let order: Vec<_> = VARS.iter().map(|var| Group::ALL.iter().position(|group| *group == var.group)).collect();
        assert!(order.is_sorted(), "variables stand in the order of their groups");
    }
}
