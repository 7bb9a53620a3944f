//! The merged catalog: compiled tools overlaid by what live child servers said. One immutable value, swapped whole.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, OnceLock};

use bytes::Bytes;
use evokore_catalog::advertise::advertised;
use evokore_catalog::lock::drift::Drift;
use evokore_catalog::members::Members;
use evokore_catalog::permission::Accesses;
use evokore_catalog::search::Segment;
use evokore_catalog::tool::{Annotations, Source, ToolEntry};

use super::drift::Report;
use crate::catalog::{CATALOG, TOOL_BY_NAME};

/// The tools of one child server that is up, sorted by exposed name.
#[derive(Debug)]
pub struct LiveServer {
    /// Tools in listing order.
    pub tools: Vec<LiveTool>,
    /// Search segment over `tools`; document = index. `None` when it could not be made.
    pub index: Option<Segment>,
    /// How its list stands to its lock, and what was found in it.
    pub report: Report,
}

/// One tool as a live child server described it.
#[derive(Debug)]
pub struct LiveTool {
    /// Exposed name.
    pub exposed: Box<str>,
    /// The child's own name.
    pub original: Box<str>,
    /// Description; empty when the child gave none.
    pub description: Box<str>,
    /// Behaviour hints.
    pub annotations: Annotations,
    /// What each role may do with it. A server's own word on its hints counts only as far as a lock has it.
    pub accesses: Cow<'static, Accesses>,
    /// How it stands to the lock of its server.
    pub drift: Drift,
    /// Its definition holds something dangerous.
    pub is_dangerous: bool,
    /// Rendered for schema mode `full`.
    pub full: Bytes,
    /// Rendered for schema mode `deferred`; equal to `full` when its own definition is malformed.
    pub deferred: Bytes,
    /// Complete definition for `describe_tool`.
    pub described: Bytes,
    /// See [`needs_task`].
    pub needs_task: bool,
    /// How it is listed and described where it needs approval.
    pub advertised: Option<Advertised>,
}

/// A tool with the argument for an approval token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advertised {
    /// Rendered for schema mode `full`.
    pub full: Bytes,
    /// Complete definition for `describe_tool`.
    pub described: Bytes,
}

impl Advertised {
    /// The tool with these renderings, unless its schema cannot have the argument.
    pub fn of(full: &[u8], described: &[u8]) -> Option<Advertised> {
        let with = |json: &[u8]| advertised(std::str::from_utf8(json).ok()?).map(Bytes::from);
        Some(Advertised { full: with(full)?, described: with(described)? })
    }
}

/// Those of compiled tools, made when they are first needed: most roles need none.
static COMPILED: LazyLock<Box<[OnceLock<Option<Advertised>>]>> =
    LazyLock::new(|| CATALOG.tools.iter().map(|_| OnceLock::new()).collect());

/// Whether a definition says that the tool can only be called as a task (2025-11-25, `execution.taskSupport`).
pub fn needs_task(definition: &[u8]) -> bool {
    if memchr::memmem::find(definition, b"taskSupport").is_none() {
        return false;
    }
    let read = || {
        let members = Members::parse(std::str::from_utf8(definition).ok()?).ok()?;
        let execution = Members::parse(members.last("execution")?.get()).ok()?;
        serde_json::from_str::<String>(execution.last("taskSupport")?.get()).ok()
    };
    read().as_deref() == Some("required")
}

/// A tool of the merged catalog.
#[derive(Debug, Clone, Copy)]
pub enum ToolRef<'a> {
    /// Compiled in: a native tool, or a locked tool whose server is not up. With its index in the catalog.
    Compiled(usize, &'static ToolEntry),
    /// Of a live child server. With the indices of server and tool.
    Live(u16, usize, &'a LiveTool),
}

impl<'a> ToolRef<'a> {
    /// Exposed name.
    pub fn name(self) -> &'a str {
        match self {
            ToolRef::Compiled(_, entry) => entry.name,
            ToolRef::Live(_, _, tool) => &tool.exposed,
        }
    }

    /// Description; empty when there is none.
    pub fn description(self) -> &'a str {
        match self {
            ToolRef::Compiled(_, entry) => entry.description,
            ToolRef::Live(_, _, tool) => &tool.description,
        }
    }

    /// Index of the child server, `None` for a native tool.
    pub fn server(self) -> Option<u16> {
        match self {
            ToolRef::Compiled(_, entry) => match entry.source {
                Source::Native(_) => None,
                Source::Proxied { server, .. } => Some(server),
            },
            ToolRef::Live(server, ..) => Some(server),
        }
    }

    /// Id of the child server, or `native`.
    pub fn server_id(self) -> &'static str {
        self.server().map_or("native", |server| CATALOG.servers[usize::from(server)].id)
    }

    /// The name its owner knows it by.
    pub fn original(self) -> &'a str {
        match self {
            ToolRef::Compiled(_, entry) => match entry.source {
                Source::Native(_) => entry.name,
                Source::Proxied { original, .. } => original,
            },
            ToolRef::Live(_, _, tool) => &tool.original,
        }
    }

    /// Behaviour hints.
    pub fn annotations(self) -> Annotations {
        match self {
            ToolRef::Compiled(_, entry) => entry.annotations,
            ToolRef::Live(_, _, tool) => tool.annotations,
        }
    }

    /// The complete definition as JSON; `None` for a tool of a digest lock whose server is not up.
    pub fn described(self) -> Option<&'a [u8]> {
        match self {
            ToolRef::Compiled(_, entry) => entry.json.map(|json| json.described.as_bytes()),
            ToolRef::Live(_, _, tool) => Some(&tool.described),
        }
    }

    /// The tool with the argument for an approval token, where it can have that.
    pub fn advertised(self) -> Option<&'a Advertised> {
        match self {
            ToolRef::Live(_, _, tool) => tool.advertised.as_ref(),
            ToolRef::Compiled(index, entry) => {
                let json = entry.json?;
                let made = || Advertised::of(json.full.of(CATALOG.full_blob), json.described.as_bytes());
                COMPILED.get(index)?.get_or_init(made).as_ref()
            }
        }
    }

    /// Whether it can be listed now.
    pub fn is_listable(self) -> bool {
        match self {
            ToolRef::Compiled(_, entry) => entry.json.is_some(),
            ToolRef::Live(..) => true,
        }
    }

    /// What each role may do with it.
    pub fn accesses(self) -> &'a Accesses {
        match self {
            ToolRef::Compiled(_, entry) => entry.accesses,
            ToolRef::Live(_, _, tool) => &tool.accesses,
        }
    }
}

/// An immutable snapshot of all tools.
#[derive(Debug, Default)]
pub struct Merged {
    /// By server index; `None` while a server is not up.
    servers: Vec<Option<Arc<LiveServer>>>,
    by_name: HashMap<Box<str>, (u16, usize)>,
}

impl Merged {
    /// The snapshot in which server `server` has the tools `live` (`None`: it is not up).
    pub fn with(&self, server: u16, live: Option<Arc<LiveServer>>) -> Merged {
        let mut servers = self.servers.clone();
        servers.resize(CATALOG.servers.len(), None);
        if let Some(slot) = servers.get_mut(usize::from(server)) {
            *slot = live;
        }
        let mut by_name = HashMap::new();
        for (at, live) in (0u16..).zip(&servers) {
            for (index, tool) in live.iter().flat_map(|live| live.tools.iter().enumerate()) {
                by_name.entry(tool.exposed.clone()).or_insert((at, index));
            }
        }
        Merged { servers, by_name }
    }

    /// The live tools of a server.
    pub fn live(&self, server: u16) -> Option<&Arc<LiveServer>> {
        self.servers.get(usize::from(server)).and_then(Option::as_ref)
    }

    /// The tool exposed as `name`. The match is exact: policy and routing use the same string.
    pub fn find(&self, name: &str) -> Option<ToolRef<'_>> {
        if let Some(&(server, index)) = self.by_name.get(name) {
            return self.live(server).map(|live| ToolRef::Live(server, index, &live.tools[index]));
        }
        let index = usize::from(*TOOL_BY_NAME.get(name)?);
        let tool = ToolRef::Compiled(index, &CATALOG.tools[index]);
        // A live server's own list overrules its lock.
        tool.server().is_none_or(|server| self.live(server).is_none()).then_some(tool)
    }

    /// The tool `name` of the lock of a server that is up and does not have it any more.
    pub fn gone(&self, name: &str) -> Option<ToolRef<'static>> {
        let index = usize::from(*TOOL_BY_NAME.get(name)?);
        let tool = ToolRef::Compiled(index, &CATALOG.tools[index]);
        let is_up = self.live(tool.server()?).is_some();
        (is_up && !self.by_name.contains_key(name)).then_some(tool)
    }

    /// Compiled tool `index`, unless its server is live.
    pub fn compiled(&self, index: usize) -> Option<ToolRef<'_>> {
        let tool = ToolRef::Compiled(index, CATALOG.tools.get(index)?);
        tool.server().is_none_or(|server| self.live(server).is_none()).then_some(tool)
    }

    /// Tool `index` of live server `server`.
    pub fn live_tool(&self, server: u16, index: usize) -> Option<ToolRef<'_>> {
        self.live(server)?.tools.get(index).map(|tool| ToolRef::Live(server, index, tool))
    }

    /// All tools in listing order: natives, then server by server as configured, by name within a server. The order
    /// does not depend on which child booted first.
    pub fn iter(&self) -> impl Iterator<Item = ToolRef<'_>> {
        let natives = usize::from(CATALOG.natives);
        let head = CATALOG.tools[..natives].iter().enumerate().map(|(at, entry)| ToolRef::Compiled(at, entry));
        let tail = (0u16..).take(CATALOG.servers.len()).flat_map(move |server| self.of_server(server));
        head.chain(tail)
    }

    /// The tools of one server in listing order.
    pub fn of_server(&self, server: u16) -> impl Iterator<Item = ToolRef<'_>> {
        let live = self.live(server);
        let locked = if live.is_some() { 0..0 } else { locked_range(server) };
        let live = live.into_iter().flat_map(move |live| {
            live.tools.iter().enumerate().map(move |(index, tool)| ToolRef::Live(server, index, tool))
        });
        live.chain(locked.map(|index| ToolRef::Compiled(index, &CATALOG.tools[index])))
    }
}

/// The compiled tools of a server; they stand together, in configured order of the servers.
fn locked_range(server: u16) -> std::ops::Range<usize> {
    let natives = usize::from(CATALOG.natives);
    let locked = &CATALOG.tools[natives..];
    let of = |entry: &ToolEntry| match entry.source {
        Source::Native(_) => 0,
        Source::Proxied { server, .. } => u32::from(server) + 1,
    };
    let wanted = u32::from(server) + 1;
    natives + locked.partition_point(|entry| of(entry) < wanted)
        ..natives + locked.partition_point(|entry| of(entry) <= wanted)
}
