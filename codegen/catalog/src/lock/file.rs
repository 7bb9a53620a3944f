//! A lock on disk: JSON, sorted by the server's own names, with a SHA-256 of each definition.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::canonical::canonical_sha256;
use crate::pretty::pretty;
use crate::render::{Definition, minify};
use crate::server::LockKind;
use crate::tool::Annotations;

/// The version of the format that is read and written.
pub const FORMAT: u32 = 1;

/// A lock as it lies on disk.
#[derive(Debug, Deserialize)]
pub struct LockFile<'a> {
    lock: u32,
    kind: String,
    /// Id of the server it belongs to.
    pub server: String,
    /// What the server calls itself.
    #[serde(default, rename = "serverInfo")]
    pub server_info: Option<ServerInfo>,
    /// Its tools.
    #[serde(borrow)]
    pub tools: Vec<Entry<'a>>,
}

/// Name and version as a server gives them in its handshake.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ServerInfo {
    /// Name.
    pub name: String,
    /// Version.
    pub version: String,
}

/// One tool of a lock.
#[derive(Debug, Deserialize)]
pub struct Entry<'a> {
    /// The server's own name for it.
    pub name: String,
    /// SHA-256 of the canonical definition, hexadecimal.
    pub sha256: String,
    /// The definition as the server gave it; in full locks.
    #[serde(borrow)]
    pub definition: Option<&'a RawValue>,
    annotations: Option<Hints>,
    /// What it costs; in digest locks.
    pub tokens: Option<Tokens>,
}

/// The hints of a digest lock, under the protocol's names.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Hints {
    read_only_hint: Option<bool>,
    destructive_hint: Option<bool>,
    idempotent_hint: Option<bool>,
    open_world_hint: Option<bool>,
}

/// Token counts of a tool in both encodings.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Tokens {
    /// In `cl100k_base`.
    pub cl100k_base: Modes,
    /// In `o200k_base`.
    pub o200k_base: Modes,
}

/// Token counts of the modes.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Modes {
    /// Mode `full`.
    pub full: u32,
    /// Mode `deferred`.
    pub deferred: u32,
    /// What a model sees.
    pub visible: u32,
    /// Its line in an answer of `discover_tools`.
    pub found: u32,
}

impl<'a> LockFile<'a> {
    /// Reads a lock; what it says is still to be checked, entry by entry.
    ///
    /// # Errors
    /// It is no JSON, or of another shape.
    pub fn parse(text: &'a str) -> Result<LockFile<'a>, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// What it holds.
    ///
    /// # Errors
    /// The format or the kind is unknown; lower case, no final stop.
    pub fn kind(&self) -> Result<LockKind, String> {
        match self.kind.as_str() {
            _ if self.lock != FORMAT => Err(format!("the lock has format {}, this build reads {FORMAT}", self.lock)),
            "full" => Ok(LockKind::Full),
            "digest" => Ok(LockKind::Digest),
            other => Err(format!("the lock is of kind `{other}`, which is neither `full` nor `digest`")),
        }
    }
}

impl Entry<'_> {
    /// The definition of a full lock, after checking that it is the one that was locked.
    ///
    /// # Errors
    /// It is missing or was edited; the rest of a sentence about the tool.
    pub fn checked(&self) -> Result<Definition<'_>, String> {
        let raw = self.definition.ok_or("has no definition")?;
        let definition = Definition::parse(raw.get()).map_err(|error| format!("is no tool definition: {error}"))?;
        if definition.name() != self.name {
            return Err(format!("has a definition named `{}`", definition.name()));
        }
        if canonical_sha256(raw.get()) != self.sha256 {
            return Err("has a definition that does not fit its digest".to_owned());
        }
        Ok(definition)
    }

    /// The hints of a digest lock.
    pub fn annotations(&self) -> Annotations {
        self.annotations.as_ref().map_or_else(Annotations::default, |hints| Annotations {
            read_only: hints.read_only_hint,
            destructive: hints.destructive_hint,
            idempotent: hints.idempotent_hint,
            open_world: hints.open_world_hint,
        })
    }
}

/// The entry of a full lock, as JSON.
pub fn full_entry(definition: &Definition<'_>, json: &str) -> String {
    format!(
        "{{\"name\":{},\"sha256\":\"{}\",\"definition\":{}}}",
        Value::from(definition.name()),
        canonical_sha256(json),
        minify(json)
    )
}

/// The text of a lock with these entries, which are JSON and sorted by name. `maker` is the command that makes it.
pub fn text(maker: &str, kind: LockKind, server: &str, info: Option<&ServerInfo>, entries: &[&str]) -> String {
    let kind = if kind == LockKind::Full { "full" } else { "digest" };
    let info = info.map_or(Value::Null, |info| json!({ "name": info.name, "version": info.version }));
    let note = Value::from(format!("made by `{maker}`; not meant to be edited"));
    let server = Value::from(server);
    let entries = entries.join(",");
    pretty(&format!(
        "{{\"_\":{note},\"lock\":{FORMAT},\"kind\":\"{kind}\",\"server\":{server},\"serverInfo\":{info},\"tools\":[{entries}]}}"
    )) + "\n"
}
