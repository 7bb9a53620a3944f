//! The catalog as files for `OUT_DIR`: one Rust source and the blobs it includes.

mod literal;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use evokore_catalog::skill::SkillEntry;
use evokore_catalog::skill_library::lookup_keys;
use evokore_catalog::tool::{Span, ToolTokens};

use crate::model::Model;
use crate::source::hex_sha256;
use crate::tools::Tool;
use literal::{Literal, slice};

/// Name of the Rust source among the emitted files.
pub const SOURCE: &str = "catalog.rs";

/// A text that grows by parts whose places are remembered.
#[derive(Default)]
struct Blob(String);

impl Blob {
    fn push(&mut self, part: &str) -> Span {
        let start = offset(self.0.len());
        self.0.push_str(part);
        Span { start, len: offset(part.len()) }
    }

    fn push_item(&mut self, part: &str) -> Span {
        if !self.0.is_empty() {
            self.0.push(',');
        }
        self.push(part)
    }
}

fn offset(length: usize) -> u32 {
    u32::try_from(length).expect("a catalog of 4 GiB does not fit the compiler's memory either")
}

/// All files by name.
pub fn emit(model: &Model) -> BTreeMap<&'static str, Vec<u8>> {
    let mut blobs = Blobs::default();
    let source = source(model, &mut blobs);
    BTreeMap::from([
        (SOURCE, source.into_bytes()),
        ("full.json", blobs.full.0.into_bytes()),
        ("deferred.json", blobs.deferred.0.into_bytes()),
        ("described.json", blobs.described.0.into_bytes()),
        ("skills.md", blobs.bodies.0.into_bytes()),
        ("tools.index", model.tool_index.clone()),
        ("skills.index", model.skill_index.clone()),
    ])
}

#[derive(Default)]
struct Blobs {
    full: Blob,
    deferred: Blob,
    described: Blob,
    bodies: Blob,
}

const HEAD: &str = r#"
const FULL: &str = include_str!(concat!(env!("OUT_DIR"), "/full.json"));
const DEFERRED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/deferred.json"));

const fn part(blob: &'static str, start: usize, len: usize) -> &'static str {
    blob.split_at(start).1.split_at(len).0
}

"#;

/// Blobs that are only named when a part of them is used.
const PARTS: [(&str, &str); 2] = [("DESCRIBED", "described.json"), ("BODIES", "skills.md")];

fn source(model: &Model, blobs: &mut Blobs) -> String {
    let mut out = HEAD.to_owned();
    let items = model.tools.iter().map(|tool| tool_literal(tool, model, blobs)).collect();
    list(&mut out, "TOOLS", "tool::ToolEntry", items);
    let items = model.profiles.iter().map(|profile| profile.entry.literal()).collect();
    list(&mut out, "PROFILES", "profile::ProfileEntry", items);
    list(&mut out, "SERVERS", "server::ServerSpec", model.servers.iter().map(Literal::literal).collect());
    let items = model.skills.iter().map(|skill| skill_literal(skill, blobs)).collect();
    list(&mut out, "SKILLS", "skill::SkillEntry", items);
    for (name, file) in PARTS {
        if out.contains(&format!("part({name},")) {
            let _ = writeln!(out, "const {name}: &str = include_str!(concat!(env!(\"OUT_DIR\"), \"/{file}\"));");
        }
    }
    let digest = digest(&out, model, blobs);
    out.push_str(&catalog_literal(model, &digest));
    out.push_str(&tables(model));
    out.push_str(&native_enum(model));
    out
}

/// SHA-256 over what is compiled: the `lists` of the source, and what lies in blobs, indexes and the policy.
fn digest(lists: &str, model: &Model, blobs: &Blobs) -> String {
    let texts = [lists, &blobs.full.0, &blobs.deferred.0, &blobs.described.0, &blobs.bodies.0, &model.policy_sha256];
    let mut parts: Vec<String> = texts.iter().map(|text| hex_sha256(text.as_bytes())).collect();
    parts.extend([&model.tool_index, &model.skill_index].map(|index| hex_sha256(index)));
    parts.push(format!("{:?} {}", model.active_profile, model.max_concurrent_boots));
    hex_sha256(parts.join("\n").as_bytes())
}

/// A private static slice.
fn list(out: &mut String, name: &str, item: &str, items: Vec<String>) {
    let _ = writeln!(out, "static {name}: &[::evokore_catalog::{item}] = &[");
    for item in items {
        let _ = writeln!(out, "    {item},");
    }
    out.push_str("];\n\n");
}

fn tool_literal(tool: &Tool, model: &Model, blobs: &mut Blobs) -> String {
    let json = tool.json.map(|json| {
        let full = blobs.full.push_item(json.full);
        let deferred = blobs.deferred.push_item(json.deferred);
        let (blob, described) = if json.described == json.full {
            ("FULL", full)
        } else {
            ("DESCRIBED", blobs.described.push(json.described))
        };
        format!(
            "::evokore_catalog::tool::ToolJson {{ full: {}, deferred: {}, described: part({blob}, {}, {}) }}",
            full.literal(),
            deferred.literal(),
            described.start,
            described.len
        )
    });
    let tokens = ToolTokens {
        full: tool.counts.full.of(model.encoding),
        deferred: tool.counts.deferred.of(model.encoding),
        visible: tool.counts.visible.of(model.encoding),
    };
    let accesses = model.policy.accesses(tool.name, tool.annotations, tool.informs());
    format!(
        "::evokore_catalog::tool::ToolEntry {{ name: {:?}, source: {}, title: {:?}, description: {:?}, \
         annotations: {}, accesses: {}, json: {}, tokens: ::evokore_catalog::tool::{tokens:?}, sha256: {:?}, \
         is_dangerous: {} }}",
        tool.name,
        tool.origin.literal(),
        tool.title,
        tool.description,
        tool.annotations.literal(),
        slice(&accesses),
        json.map_or_else(|| "None".to_owned(), |json| format!("Some({json})")),
        tool.sha256,
        tool.is_dangerous,
    )
}

fn skill_literal(skill: &SkillEntry, blobs: &mut Blobs) -> String {
    let body = blobs.bodies.push(skill.body);
    format!(
        "::evokore_catalog::skill::SkillEntry {{ name: {:?}, category: {:?}, subcategory: {:?}, description: {:?}, \
         uri: {:?}, path: {:?}, version: {:?}, tags: {}, aliases: {}, requires: {}, conflicts: {}, \
         body: part(BODIES, {}, {}), blocks: {}, next_steps: {}, tokens: {} }}",
        skill.name,
        skill.category,
        skill.subcategory,
        skill.description,
        skill.uri,
        skill.path,
        skill.version,
        slice(skill.tags),
        slice(skill.aliases),
        slice(skill.requires),
        slice(skill.conflicts),
        body.start,
        body.len,
        slice(skill.blocks),
        slice(skill.next_steps),
        skill.tokens,
    )
}

fn catalog_literal(model: &Model, digest: &str) -> String {
    let inputs: Vec<(&str, &str)> =
        model.inputs.iter().map(|(path, digest)| (path.as_str(), digest.as_str())).collect();
    format!(
        "/// What the build decided.\n\
         pub static CATALOG: ::evokore_catalog::Catalog = ::evokore_catalog::Catalog {{\n    \
         tools: TOOLS,\n    natives: {},\n    full_blob: FULL.as_bytes(),\n    deferred_blob: DEFERRED,\n    \
         profiles: PROFILES,\n    active_profile: {:?},\n    \
         clients_that_list_once: {},\n    servers: SERVERS,\n    max_concurrent_boots: {},\n    \
         skills: SKILLS,\n    \
         policy: {},\n    \
         tool_index: include_bytes!(concat!(env!(\"OUT_DIR\"), \"/tools.index\")),\n    \
         skill_index: include_bytes!(concat!(env!(\"OUT_DIR\"), \"/skills.index\")),\n    \
         tokenizer: {:?},\n    sha256: {digest:?},\n    policy_sha256: {:?},\n    locks_folder: {:?},\n    \
         inputs_sha256: {:?},\n    inputs: {},\n}};\n\n\
         /// The profiles this binary was built with: `all`, or the names that `EVOKORE_PROFILE_SET` listed.\n\
         pub const VERSION_PROFILE_SET: &str = {:?};\n\n",
        model.natives,
        model.active_profile,
        slice(&model.clients_that_list_once),
        model.max_concurrent_boots,
        model.policy.literal(),
        model.encoding.name(),
        model.policy_sha256,
        model.locks_folder,
        model.inputs_sha256,
        slice(&inputs),
        model.profile_set,
    )
}

/// The perfect-hash tables.
fn tables(model: &Model) -> String {
    let tools = model.tools.iter().enumerate().map(|(index, tool)| (tool.name.to_owned(), index));
    let mut names: Vec<(String, usize)> = Vec::new();
    let mut uris: Vec<(String, usize)> = Vec::new();
    for (index, skill) in model.skills.iter().enumerate() {
        names.extend(lookup_keys(skill.category, skill.subcategory, skill.name).into_iter().map(|key| (key, index)));
        uris.push((skill.uri.to_owned(), index));
    }
    let mut out = table("TOOL_BY_NAME", "Index into [`CATALOG`]'s tools by exposed name.", tools);
    let doc =
        "Index into [`CATALOG`]'s skills by lower-case `name`, `category/name` and\n/// `category/subcategory/name`.";
    out.push_str(&table("SKILL_BY_NAME", doc, names));
    out.push_str(&table("SKILL_BY_URI", "Index into [`CATALOG`]'s skills by URI.", uris));
    out
}

/// One table; of entries with the same key the first counts.
fn table(name: &str, doc: &str, entries: impl IntoIterator<Item = (String, usize)>) -> String {
    let mut map = phf_codegen::Map::new();
    let mut seen = BTreeSet::new();
    for (key, index) in entries {
        if seen.insert(key.clone()) {
            map.entry(key, format!("{index}_u16"));
        }
    }
    format!("/// {doc}\npub static {name}: ::phf::Map<&'static str, u16> = {};\n\n", map.build())
}

/// The enum of native tools.
fn native_enum(model: &Model) -> String {
    let natives: Vec<(&str, String)> =
        model.tools.iter().take(model.natives).map(|tool| (tool.name, camel_case(tool.name))).collect();
    let mut out = String::from(
        "/// The native tools, in catalog order. Matched without `_`, so that a tool without a handler does not compile.\n\
         #[derive(Debug, Clone, Copy, PartialEq, Eq)]\npub enum NativeTool {\n",
    );
    for (name, variant) in &natives {
        let _ = writeln!(out, "    /// `{name}`.\n    {variant},");
    }
    let variants: Vec<String> = natives.iter().map(|(_, variant)| format!("NativeTool::{variant}")).collect();
    let _ = write!(
        out,
        "}}\n\nimpl NativeTool {{\n    /// All of them, in catalog order.\n    \
         pub const ALL: [NativeTool; {}] = [{}];\n\n    \
         /// The name clients call it by.\n    pub fn name(self) -> &'static str {{\n        \
         TOOLS[self as usize].name\n    }}\n\n    \
         /// The tool at `index` of the catalog, if that is a native one.\n    \
         pub fn from_index(index: u16) -> Option<NativeTool> {{\n        \
         Self::ALL.get(usize::from(index)).copied()\n    }}\n}}\n",
        natives.len(),
        variants.join(", "),
    );
    out
}

fn camel_case(name: &str) -> String {
    name.split('_')
        .map(|word| {
            let mut chars = word.chars();
            chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
        })
        .collect()
}
