//! Child servers as the configuration declares them.

/// One entry of `servers` (or `mcpServers`), in the order of the file.
#[derive(Debug, Clone, Copy)]
pub struct ServerSpec {
    /// Server id: `[A-Za-z0-9_-]+`, the prefix of its exposed names.
    pub id: &'static str,
    /// How it is reached. Texts may hold placeholders, see [`crate::template`].
    pub transport: Transport,
    /// `disabled: true`: known, never started.
    pub disabled: bool,
    /// `optional: true`: a missing variable means that the server waits, which is no error.
    pub optional: bool,
    /// When it is started.
    pub boot: Boot,
    /// How long things may take, and how many there may be.
    pub limits: Limits,
    /// Bytes that one result may have; `None` for the default of the environment.
    pub max_result_bytes: Option<u32>,
    /// Estimated tokens that one result may have before a preview takes its place; `None` for the default of the
    /// environment.
    pub max_result_tokens: Option<u32>,
    /// What is decided tool by tool, in the order of the file.
    pub tools: &'static [ToolRule],
    /// Environment variables handed through from evokore's own environment besides the basic set: names, beginnings
    /// with a `*` behind them, or `*` for all. None of evokore's own is among them.
    pub inherit_env: &'static [&'static str],
    /// A file in the format of `.env` whose variables the child gets, below those of its own `env`.
    pub env_file: Option<&'static str>,
    /// What a login at a server over HTTP needs.
    pub oauth: OAuth,
    /// How often its tools may be called.
    pub rate_limit: Option<RateLimit>,
    /// What is known of its tools at build time.
    pub lock: LockKind,
    /// What becomes of tools that are not what the lock says.
    pub on_drift: OnDrift,
    /// What becomes of tools whose definitions hold something dangerous.
    pub on_hostile: OnHostile,
    /// Text for people about when this server is used; may be empty.
    pub description: &'static str,
}

impl ServerSpec {
    /// An entry that says nothing: what every key is when it is absent. No server; to be filled in.
    pub const ABSENT: ServerSpec = ServerSpec {
        id: "",
        transport: Transport::Stdio { command: "", args: &[], env: &[], cwd: None },
        disabled: false,
        optional: false,
        boot: Boot::Eager,
        limits: Limits::ABSENT,
        max_result_bytes: None,
        max_result_tokens: None,
        tools: &[],
        inherit_env: &[],
        env_file: None,
        oauth: OAuth::ABSENT,
        rate_limit: None,
        lock: LockKind::None,
        on_drift: OnDrift::Warn,
        on_hostile: OnHostile::Report,
        description: "",
    };
}

/// What an entry decides about one of its tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolRule {
    /// The child's own name for the tool.
    pub name: &'static str,
    /// In place of the server's `max_result_tokens`.
    pub max_result_tokens: Option<u32>,
}

/// The limits of one server; `None` for the default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Milliseconds that start and first list may take.
    pub boot_timeout_ms: Option<u32>,
    /// Milliseconds that one page of a list may take.
    pub list_timeout_ms: Option<u32>,
    /// Milliseconds that one call may take without an answer or progress.
    pub call_timeout_ms: Option<u32>,
    /// Milliseconds without a call after which the server is stopped until the next one; by default it never is.
    pub idle_timeout_ms: Option<u32>,
    /// Milliseconds during which a call that failed for the server's sake is refused; 0 for never.
    pub cooldown_ms: Option<u32>,
    /// Calls that the server works on at the same time; further ones wait.
    pub max_in_flight: Option<u32>,
}

impl Limits {
    /// What holds where nothing is written.
    pub const ABSENT: Limits = Limits {
        boot_timeout_ms: None,
        list_timeout_ms: None,
        call_timeout_ms: None,
        idle_timeout_ms: None,
        cooldown_ms: None,
        max_in_flight: None,
    };
}

/// How a child server is reached.
#[derive(Debug, Clone, Copy)]
pub enum Transport {
    /// A program that speaks MCP on its standard streams.
    Stdio {
        /// Program, absolute or found through `PATH`; relative with a slash means relative to the configuration.
        command: &'static str,
        /// Arguments.
        args: &'static [&'static str],
        /// Variables the child gets besides the basic set, in the order of the file.
        env: &'static [(&'static str, &'static str)],
        /// Working directory.
        cwd: Option<&'static str>,
    },
    /// HTTP.
    Http {
        /// Endpoint.
        url: &'static str,
        /// Request headers.
        headers: &'static [(&'static str, &'static str)],
        /// How it speaks MCP.
        dialect: Dialect,
    },
}

/// What a login at a server over HTTP needs that is not found out by itself. Texts may hold placeholders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OAuth {
    /// How the authorization server knows us; `None` to register there.
    pub client_id: Option<&'static str>,
    /// What we prove that with.
    pub client_secret: Option<&'static str>,
    /// What to ask for; none for what the server says.
    pub scopes: &'static [&'static str],
    /// Port of this machine that the browser comes back to; `None` for any.
    pub redirect_port: Option<u16>,
}

impl OAuth {
    /// What holds where nothing is written.
    pub const ABSENT: OAuth = OAuth { client_id: None, client_secret: None, scopes: &[], redirect_port: None };
}

/// How a server over HTTP speaks MCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    /// Nobody has said: Streamable HTTP, and HTTP+SSE if the server refuses that.
    #[default]
    Either,
    /// Streamable HTTP, since 2025-03-26.
    Streamable,
    /// HTTP+SSE of 2024-11-05: answers come on a stream that is opened first.
    Sse,
}

/// How often the tools of a server may be called: a call needs a token of its tool's bucket and of the server's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// The bucket of all its tools together.
    pub server: Option<Rate>,
    /// Buckets of single tools, by the child's own name.
    pub tools: &'static [(&'static str, Rate)],
}

/// A bucket of tokens, full at the start. None of the numbers is zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Tokens it holds when it is full: the calls that may come at once.
    pub burst: u32,
    /// Tokens that flow in during each interval, evenly.
    pub refill: u32,
    /// Milliseconds of an interval.
    pub interval_ms: u32,
}

impl Rate {
    /// `calls` a minute, all of which may come at once.
    pub const fn per_minute(calls: u32) -> Rate {
        Rate { burst: calls, refill: calls, interval_ms: 60_000 }
    }
}

/// When a child server is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Boot {
    /// In the background, right after the handshake is open.
    #[default]
    Eager,
    /// On the first call of one of its tools; needs a full lock.
    Lazy,
}

/// `lock.onDrift`: what becomes of a live tool that is not what the lock of its server says, mildest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum OnDrift {
    /// It is served as it is, and reported.
    #[default]
    Warn,
    /// Its calls need a person's approval.
    Approve,
    /// It is neither listed nor found, described or called.
    Block,
}

impl OnDrift {
    /// Every value under its name in the configuration.
    pub const NAMES: [(&str, OnDrift); 3] =
        [("warn", OnDrift::Warn), ("approve", OnDrift::Approve), ("block", OnDrift::Block)];
}

/// `hostileContent`: what becomes of a tool whose definition holds something dangerous, mildest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum OnHostile {
    /// It is served, and reported.
    #[default]
    Report,
    /// It is neither listed nor found, described or called.
    Block,
}

impl OnHostile {
    /// Every value under its name in the configuration.
    pub const NAMES: [(&str, OnHostile); 2] = [("report", OnHostile::Report), ("block", OnHostile::Block)];
}

/// What the build knows of a server's tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LockKind {
    /// Nothing: its tools join when it has booted.
    #[default]
    None,
    /// Names, hashes, annotations and token counts.
    Digest,
    /// Complete definitions: listed before the server is up.
    Full,
}
