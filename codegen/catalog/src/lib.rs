//! The border between the compiler of the configuration and the runtime: types that both sides share and the pure
//! functions on which they must agree. No I/O, no async, no map whose order depends on hashing.
//!
//! `codegen` fills these structs (leaking what it owns, since a build script is short-lived); the runtime reads them
//! from static memory. So there are no owned twins, and what was counted and reviewed is what is served.

pub mod advertise;
pub mod answers;
pub mod canonical;
pub mod documents;
pub mod finding;
pub mod front_matter;
pub mod hostile;
pub mod lock;
pub mod markdown;
pub mod members;
pub mod name;
pub mod permission;
pub mod pretty;
pub mod profile;
pub mod project;
pub mod render;
pub mod search;
pub mod server;
pub mod skill;
pub mod skill_library;
pub mod suggest;
pub mod template;
pub mod tool;

use permission::Policy;
use profile::ProfileEntry;
use server::ServerSpec;
use skill::SkillEntry;
use tool::ToolEntry;

/// Everything the build decided. One value of it lives in the binary.
#[derive(Debug, Clone, Copy)]
pub struct Catalog {
    /// Native tools first, in the order of the generated enum; then the tools of locked servers, server by server in
    /// configured order, sorted by exposed name within a server. This is the order of every list.
    pub tools: &'static [ToolEntry],
    /// How many of `tools` are native.
    pub natives: u16,
    /// Definitions in mode `full`, catalog order, one comma between neighbours.
    pub full_blob: &'static [u8],
    /// The same in mode `deferred`.
    pub deferred_blob: &'static [u8],
    /// The built-in `default` first, then the configured profiles sorted by name.
    pub profiles: &'static [ProfileEntry],
    /// `discovery.activeProfile`.
    pub active_profile: Option<&'static str>,
    /// `discovery.clientsThatListOnce`: clients, by the name they give themselves, that never ask for a list again.
    pub clients_that_list_once: &'static [&'static str],
    /// Child servers in configured order.
    pub servers: &'static [ServerSpec],
    /// `maxConcurrentBoots`: how many of them boot at the same time.
    pub max_concurrent_boots: u32,
    /// Skills sorted by category, then name.
    pub skills: &'static [SkillEntry],
    /// The compiled policy.
    pub policy: Policy,
    /// Search segment over `tools` (document = index); see [`search`].
    pub tool_index: &'static [u8],
    /// Search segment over `skills` (document = index).
    pub skill_index: &'static [u8],
    /// Encoding of all token counts: `cl100k_base` or `o200k_base`.
    pub tokenizer: &'static str,
    /// SHA-256 over everything that was compiled: definitions, profiles, servers, skills, indexes, policy. Comments and the
    /// like in the inputs do not count.
    pub sha256: &'static str,
    /// SHA-256 over what the policy decides, hexadecimal.
    pub policy_sha256: &'static str,
    /// The folder of the locks among `inputs`.
    pub locks_folder: &'static str,
    /// SHA-256 over all inputs, hexadecimal.
    pub inputs_sha256: &'static str,
    /// SHA-256 of every input file: path relative to the configuration (or to the sources, for native tools), digest.
    pub inputs: &'static [(&'static str, &'static str)],
}

impl Catalog {
    /// The profile called `name`.
    pub fn profile(&self, name: &str) -> Option<&'static ProfileEntry> {
        self.profiles.iter().find(|profile| profile.name == name)
    }

    /// The built-in `default` profile.
    pub fn default_profile(&self) -> &'static ProfileEntry {
        &self.profiles[0]
    }
}
