//! The command line: commands, options, and what `--help` says.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::audit;

const ABOUT: &str = "One MCP server in front of them all: a compiled, measured, guarded tool surface";
const EXAMPLES: &str = "\
Examples:
  evokore try                            see what a client would see, without setting anything up
  evokore init claude                    register evokore with Claude Code
  evokore tools --profile coding         what a profile shows, and what it costs
  evokore search \"open a pull request\"   find a tool
  evokore doctor                         check the configuration and start every server once

Without a command evokore serves MCP on stdin and stdout, as clients start it.
Exit codes: 0 fine, 1 a check found something, 2 usage or configuration, 3 run time.";

/// The whole command line.
#[derive(Debug, Parser)]
#[command(name = "evokore", version, about = ABOUT, after_help = EXAMPLES, propagate_version = false)]
pub(crate) struct Arguments {
    /// The command.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// One command.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve MCP on stdin and stdout (what a client starts)
    #[command(after_help = "A client starts this for you; `evokore init` writes the entry. Stops at the end of stdin.")]
    Serve,
    /// Show what a client would see: start-up, tools, tokens, a search, a call, servers
    #[command(after_help = TRY_EXAMPLES)]
    Try(TryArguments),
    /// List what a profile shows and what each tool costs
    #[command(after_help = TOOLS_EXAMPLES)]
    Tools(ToolsArguments),
    /// Find tools by what they do
    #[command(after_help = SEARCH_EXAMPLES)]
    Search(SearchArguments),
    /// Call one tool
    #[command(after_help = CALL_EXAMPLES)]
    Call(CallArguments),
    /// Show who may do what, and by which rule
    #[command(after_help = POLICY_EXAMPLES)]
    Policy(PolicyArguments),
    /// Show, approve or deny calls that wait for a person
    #[command(after_help = APPROVALS_EXAMPLES)]
    Approvals(ApprovalsArguments),
    /// Show who called what, what decided and what came of it
    #[command(after_help = audit::EXAMPLES)]
    Audit(audit::AuditArguments),
    /// Log in to a child server over HTTP, in a browser
    #[command(after_help = LOGIN_EXAMPLES)]
    Login(ServerArguments),
    /// Forget the login at a child server
    #[command(after_help = "Example:\n  evokore logout linear")]
    Logout(ServerArguments),
    /// Record the tools of child servers, or check that they are what was recorded
    #[command(after_help = LOCK_EXAMPLES)]
    Lock(LockArguments),
    /// Check the configuration, the environment and every child server
    #[command(after_help = DOCTOR_EXAMPLES)]
    Doctor(DoctorArguments),
    /// Register evokore in a client's configuration
    #[command(after_help = INIT_EXAMPLES)]
    Init(InitArguments),
    /// Take servers of another program into the configuration
    #[command(after_help = IMPORT_EXAMPLES)]
    Import(ImportArguments),
    /// Print a completion script for a shell
    #[command(after_help = "Example:\n  evokore completions bash > ~/.local/share/bash-completion/completions/evokore")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the version and what is compiled in
    Version {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}

const TRY_EXAMPLES: &str = "\
Starts the real server as a child process and speaks to it as a client does. Needs no keys, no Node, no setup.

Examples:
  evokore try
  evokore try \"read a file\"
  evokore try --profile lean";

/// `evokore try`.
#[derive(Debug, Args)]
pub(crate) struct TryArguments {
    /// Profile to show, in place of the active one
    #[arg(long, value_name = "PROFILE")]
    pub(crate) profile: Option<String>,
    /// What to search for
    #[arg(value_name = "QUERY")]
    pub(crate) query: Vec<String>,
}

const TOOLS_EXAMPLES: &str = "\
Counts come from the build, which counts the bytes that are sent. `full` is a whole definition, `deferred` a
placeholder, `model` what a model sees of the whole one: name, description and input schema.

Examples:
  evokore tools
  evokore tools --profile research
  evokore tools --json";

/// `evokore tools`.
#[derive(Debug, Args)]
pub(crate) struct ToolsArguments {
    /// Profile to show, in place of the active one
    #[arg(long, value_name = "PROFILE")]
    pub(crate) profile: Option<String>,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const SEARCH_EXAMPLES: &str = "\
Searches what is compiled in. Until a server has started, the tools of a lock that holds names only are found by name,
and those of a server without a lock not at all: `--live` starts the servers first.

Examples:
  evokore search create an issue
  evokore search --live --limit 3 \"text to speech\"";

/// `evokore search`.
#[derive(Debug, Args)]
pub(crate) struct SearchArguments {
    /// What the tool should do, or its name
    #[arg(value_name = "QUERY", required = true)]
    pub(crate) query: Vec<String>,
    /// Most tools to show
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = limit)]
    pub(crate) limit: u16,
    /// Start the child servers first
    #[arg(long)]
    pub(crate) live: bool,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

fn limit(text: &str) -> Result<u16, &'static str> {
    text.parse().ok().filter(|limit| (1..=100).contains(limit)).ok_or("give a whole number from 1 to 100")
}

const CALL_EXAMPLES: &str = "\
Starts the child servers if the tool belongs to one, and passes the same gates as a client's call. Exits with 1 when
the tool answers with an error.

Examples:
  evokore call proxy_server_status
  evokore call search_skills '{\"query\": \"release\"}'
  evokore call fs_list_directory - < arguments.json";

/// `evokore call`.
#[derive(Debug, Args)]
pub(crate) struct CallArguments {
    /// Name of the tool, as clients see it
    #[arg(value_name = "TOOL")]
    pub(crate) tool: String,
    /// Its arguments, a JSON object; `-` reads them from stdin
    #[arg(value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) arguments: Option<String>,
    /// The whole result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const POLICY_EXAMPLES: &str = "\
Tells what is compiled into this executable. A rule that names a tool comes before patterns; of the patterns that fit, the
more particular ones count, and of those the strictest; then the role's default. A mode may leave less of that, never
more.

Examples:
  evokore policy --role developer --mode research
  evokore policy explain fs_write_file --role readonly";

/// `evokore policy`.
#[derive(Debug, Args)]
pub(crate) struct PolicyArguments {
    /// What to show; without it, every tool
    #[command(subcommand)]
    pub(crate) command: Option<PolicyCommand>,
    /// Role to show, in place of the active one
    #[arg(long, global = true, value_name = "ROLE")]
    pub(crate) role: Option<String>,
    /// Mode to show, in place of the active one
    #[arg(long, global = true, value_name = "MODE")]
    pub(crate) mode: Option<String>,
    /// As JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// What to show of the policy.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Say why one tool is allowed, needs approval or is denied
    Explain {
        /// Exposed name of the tool
        tool: String,
    },
}

const APPROVALS_EXAMPLES: &str = "\
A call of a tool whose access is `require_approval` needs a person's word. A client that can ask its user does so; for
others the call is refused until it is approved here, and may then be made once. The list shows the IDs.

Examples:
  evokore approvals
  evokore approvals approve 1f0c
  evokore approvals approve 1f0c --always arguments
  evokore approvals watch";

/// `evokore approvals`.
#[derive(Debug, Args)]
pub(crate) struct ApprovalsArguments {
    /// What to do; without it, `list`
    #[command(subcommand)]
    pub(crate) command: Option<ApprovalsCommand>,
    /// As JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// What to do with the calls that wait.
#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// List the calls that wait
    List,
    /// Approve a call, which may then be made once
    Approve {
        /// ID of the request; its first four digits are enough
        id: String,
        /// Approve calls like it as well, until the client's session ends or `revoke`
        #[arg(long, value_name = "WHAT")]
        always: Option<crate::state::grants::Scope>,
    },
    /// Deny a call
    Deny {
        /// ID of the request; its first four digits are enough
        id: String,
    },
    /// Take a standing approval back
    Revoke {
        /// ID of the standing approval; its first four digits are enough
        id: String,
    },
    /// Show calls as they come to wait; at a terminal, ask about each
    Watch,
}

const LOGIN_EXAMPLES: &str = "\
For servers with a `url` that want to know who asks and whose `headers` do not say it. Prints an address, opens it in a
browser when stderr is a terminal, and keeps what comes back in ~/.evokore/tokens, for you alone. It is renewed by itself.

Example:
  evokore login linear";

/// `evokore login` and `evokore logout`.
#[derive(Debug, Args)]
pub(crate) struct ServerArguments {
    /// Id of the server
    #[arg(value_name = "SERVER")]
    pub(crate) server: String,
}

const LOCK_EXAMPLES: &str = "\
Starts the servers, reads their lists of tools, shows what is different from their locks and writes full locks; a build
compiles them in. Of several servers those that do not come up are told and left as they are. A lock that is a digest
is only replaced with `--full`; `cargo codegen lock --digest` makes digests. Exits with 1 when `--check` finds a
difference.

Examples:
  evokore lock                           lock every server anew
  evokore lock --check                   are the servers what was locked? for CI
  evokore lock fs --from answer.json     from a recorded answer to tools/list, without starting it
  evokore lock fs --stdout | cargo codegen lock --server fs --from - --digest";

/// `evokore lock`.
#[derive(Debug, Args)]
pub(crate) struct LockArguments {
    /// Servers to lock; without any, all that are not disabled
    #[arg(value_name = "SERVER")]
    pub(crate) servers: Vec<String>,
    /// A recorded answer to tools/list in place of the server itself; `-` for stdin
    #[arg(long, value_name = "FILE")]
    pub(crate) from: Option<PathBuf>,
    /// Say what is different, and write nothing
    #[arg(long)]
    pub(crate) check: bool,
    /// Put a full lock in the place of a digest
    #[arg(long, conflicts_with = "check")]
    pub(crate) full: bool,
    /// Print the full lock, and write nothing
    #[arg(long, conflicts_with_all = ["check", "full"])]
    pub(crate) stdout: bool,
}

const DOCTOR_EXAMPLES: &str = "\
Exits with 1 when something is wrong. Servers that are disabled, or optional and without their variable, are not.

Examples:
  evokore doctor
  evokore doctor --json";

/// `evokore doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const INIT_EXAMPLES: &str = "\
Adds one entry, `evokore`, and keeps everything else in the file as it stands, comments too. What was there is kept
beside it as `<file>.bak`. Doing it again changes nothing.

Examples:
  evokore init claude --dry-run
  evokore init cursor --scope project
  evokore init codex --profile lean";

/// `evokore init`.
#[derive(Debug, Args)]
pub(crate) struct InitArguments {
    /// The client
    pub(crate) client: Client,
    /// For you in every project, or for everyone in this one
    #[arg(long, value_enum, default_value_t = Scope::User)]
    pub(crate) scope: Scope,
    /// Profile that this client is to use
    #[arg(long, value_name = "PROFILE")]
    pub(crate) profile: Option<String>,
    /// Show what would be written, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print the entry alone, to paste it
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) print: bool,
}

/// A client that `evokore init` knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Client {
    /// Claude Code
    Claude,
    /// Claude Desktop
    ClaudeDesktop,
    /// Cursor
    Cursor,
    /// Visual Studio Code
    Vscode,
    /// Codex
    Codex,
}

/// Whom an entry is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scope {
    /// Everyone who works in this folder
    Project,
    /// You, everywhere
    User,
}

const IMPORT_EXAMPLES: &str = "\
Reads the files of Claude Desktop, Claude Code, Cursor, VS Code, Windsurf, Codex, Gemini CLI, Cline, OpenCode, Zed and
Continue. Adds their servers to mcp.config.json and keeps everything else in it as it stands, comments too; what was
there is kept beside it as `<file>.bak`. Says what is different from the file, and never shows a secret.

Examples:
  evokore import ~/.claude.json --dry-run
  evokore import .vscode/mcp.json
  evokore import ~/.codex/config.toml --stdout";

/// `evokore import`.
#[derive(Debug, Args)]
pub(crate) struct ImportArguments {
    /// The other program's file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Put servers in the place of configured ones that have the same id
    #[arg(long)]
    pub(crate) replace: bool,
    /// Show what would be written, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print the entries alone, with variables in place of secrets, and write nothing
    #[arg(long, conflicts_with_all = ["dry_run", "replace"])]
    pub(crate) stdout: bool,
}
