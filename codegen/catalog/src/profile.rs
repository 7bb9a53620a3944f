//! Profiles: named choices of the tools a client is shown.

/// One profile of `discovery.profiles`, or the built-in `default`.
#[derive(Debug, Clone, Copy)]
pub struct ProfileEntry {
    /// Name as written in the configuration.
    pub name: &'static str,
    /// Free text for people.
    pub description: &'static str,
    /// Which tools are always visible.
    pub visible: Visibility,
    /// Bit `i % 64` of word `i / 64` is set when compiled tool `i` is always visible: [`Visibility`] resolved.
    pub bits: &'static [u64],
    /// Skills that every workflow of this profile must be able to reach.
    pub mandatory_skills: &'static [&'static str],
    /// How discovered tools are revealed.
    pub activation: Activation,
    /// Schema mode of the profile; `None` leaves it to the environment and the default.
    pub schema_mode: Option<SchemaMode>,
    /// Most tokens that the profile's list may cost, if stated.
    pub token_budget: Option<u32>,
    /// What the list costs, counted on the bytes sent.
    pub tokens: ProfileTokens,
}

/// The `alwaysVisible` field of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visibility {
    /// `"all"`: every native and every proxied tool.
    All,
    /// `"all-native"`: every native tool; proxied tools are discovered.
    AllNative,
    /// An explicit list of exposed names, sorted.
    Named(&'static [&'static str]),
}

/// How discovered tools reach the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Activation {
    /// `"list"`: found tools join the session's list and the client is told to list again.
    #[default]
    List,
    /// `"stable"`: the list never changes; found tools are called through `call_tool` or by exact name.
    Stable,
}

/// How much of each definition a list carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SchemaMode {
    /// The definition as its author wrote it.
    #[default]
    Full,
    /// A placeholder for the input schema; `describe_tool` gives the rest.
    Deferred,
}

/// Tokens of one profile's list before any activation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProfileTokens {
    /// Tools in the list.
    pub tools: u32,
    /// Bytes of `{"tools":[…]}` in mode `full`; tools of digest locks are not counted here.
    pub bytes: u32,
    /// Tokens in mode `full`.
    pub full: u32,
    /// Tokens in mode `deferred`.
    pub deferred: u32,
    /// Tokens a model sees in mode `full`.
    pub visible: u32,
}
