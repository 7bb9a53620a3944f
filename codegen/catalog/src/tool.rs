//! A tool as the build knows it: its rendered JSON, what that costs, and where calls to it go.

use crate::permission::Accesses;

/// One tool of the compiled catalog: a native tool, or a proxied tool whose schema a lock pins.
#[derive(Debug, Clone, Copy)]
pub struct ToolEntry {
    /// Exposed name: what clients see and call. At most 64 characters of `[A-Za-z0-9_-]`.
    pub name: &'static str,
    /// Who answers a call.
    pub source: Source,
    /// Title for people; empty when the definition has none.
    pub title: &'static str,
    /// Description as the definition has it; empty for a digest lock.
    pub description: &'static str,
    /// Behaviour hints of the definition.
    pub annotations: Annotations,
    /// What each role may do with it.
    pub accesses: &'static Accesses,
    /// The rendered definitions; `None` for a digest lock, whose tools are listed once their server is up.
    pub json: Option<ToolJson>,
    /// What the definition costs in a list.
    pub tokens: ToolTokens,
    /// SHA-256 of the canonical definition (before renaming), hexadecimal.
    pub sha256: &'static str,
    /// The definition holds something dangerous, see [`crate::hostile`].
    pub is_dangerous: bool,
}

/// Who answers a call to a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Compiled in. The index is the tool's position in the generated enum of native tools.
    Native(u16),
    /// A child server, under its own spelling of the name.
    Proxied {
        /// Index into [`crate::Catalog::servers`].
        server: u16,
        /// The child's own name for the tool.
        original: &'static str,
    },
}

/// Byte ranges in [`crate::Catalog`]'s blobs. The blobs hold the definitions in catalog order with one comma
/// between neighbours, so a run of consecutive tools is one slice.
#[derive(Debug, Clone, Copy)]
pub struct ToolJson {
    /// In [`crate::Catalog::full_blob`]: what `tools/list` sends in schema mode `full`.
    pub full: Span,
    /// In [`crate::Catalog::deferred_blob`]: the same in mode `deferred`.
    pub deferred: Span,
    /// The complete definition, output schema included: what `describe_tool` gives.
    pub described: &'static str,
}

/// A byte range `start..start + len` in a blob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// Length in bytes.
    pub len: u32,
}

impl Span {
    /// The bytes of `blob` this span names.
    pub fn of(self, blob: &'static [u8]) -> &'static [u8] {
        &blob[self.start as usize..(self.start + self.len) as usize]
    }
}

/// MCP `ToolAnnotations`; `None` where the definition is silent, so the protocol's defaults apply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Annotations {
    /// `readOnlyHint`, default false.
    pub read_only: Option<bool>,
    /// `destructiveHint`, default true.
    pub destructive: Option<bool>,
    /// `idempotentHint`, default false.
    pub idempotent: Option<bool>,
    /// `openWorldHint`, default true.
    pub open_world: Option<bool>,
}

/// Tokens of one tool in the tokenizer of the configuration, counted on the bytes that are sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ToolTokens {
    /// The fragment of mode `full`.
    pub full: u32,
    /// The fragment of mode `deferred`.
    pub deferred: u32,
    /// What a model sees of it: name, description and input schema as one compact JSON object.
    pub visible: u32,
}
