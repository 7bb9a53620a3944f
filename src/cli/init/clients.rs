//! Where each client keeps its MCP servers, and how an entry looks there.

use std::path::{Path, PathBuf};

use crate::cli::arguments::{Client, Scope};
use crate::error::Failure;

/// Looks a variable up.
pub(crate) type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The system's habits about where configurations lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Platform {
    /// XDG folders.
    Unix,
    /// `~/Library/Application Support`.
    Mac,
    /// `%APPDATA%`.
    Windows,
}

impl Platform {
    /// The one this binary was built for.
    pub(crate) const HERE: Platform = if cfg!(target_os = "macos") {
        Platform::Mac
    } else if cfg!(windows) {
        Platform::Windows
    } else {
        Platform::Unix
    };
}

/// How a client's file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// JSON, perhaps with comments; servers lie under `key`, and an entry may want to say its `type`.
    Json {
        /// Member that holds the servers.
        key: &'static str,
        /// Whether an entry carries `"type": "stdio"`.
        typed: bool,
    },
    /// TOML, with tables `[mcp_servers.<name>]`.
    Toml,
}

impl Client {
    /// Name for people.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Client::Claude => "Claude Code",
            Client::ClaudeDesktop => "Claude Desktop",
            Client::Cursor => "Cursor",
            Client::Vscode => "Visual Studio Code",
            Client::Codex => "Codex",
        }
    }

    /// How its file is written.
    pub(crate) fn format(self) -> Format {
        match self {
            Client::Claude => Format::Json { key: "mcpServers", typed: true },
            Client::ClaudeDesktop | Client::Cursor => Format::Json { key: "mcpServers", typed: false },
            Client::Vscode => Format::Json { key: "servers", typed: true },
            Client::Codex => Format::Toml,
        }
    }

    /// What to do after the entry is there.
    pub(crate) fn next_step(self, scope: Scope) -> &'static str {
        match (self, scope) {
            (Client::Claude, Scope::User) => "start Claude Code and look at `/mcp`",
            (Client::Claude, Scope::Project) => "start Claude Code here, allow the server, and look at `/mcp`",
            (Client::ClaudeDesktop, _) => "quit Claude Desktop and start it again",
            (Client::Cursor, _) => "open Cursor's settings and switch the server on under MCP",
            (Client::Vscode, _) => "run `MCP: List Servers` from the command palette and start it",
            (Client::Codex, Scope::User) => "`codex mcp list` shows it",
            (Client::Codex, Scope::Project) => "trust this folder in Codex, then `codex mcp list` shows it",
        }
    }

    /// The file in which its servers are configured for `scope`; project files are relative to the working directory.
    ///
    /// # Errors
    /// The client has no such file, or the environment names no home.
    pub(crate) fn file(self, scope: Scope, platform: Platform, lookup: Lookup<'_>) -> Result<PathBuf, Failure> {
        let get = |name: &str| lookup(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = || {
            get("HOME").or_else(|| get("USERPROFILE")).ok_or_else(|| {
                Failure::usage("neither `HOME` nor `USERPROFILE` is set, so there is no home to look in")
                    .hint("set it, or use `--print` and paste the entry")
            })
        };
        let settings = || match platform {
            Platform::Unix => get("XDG_CONFIG_HOME").map_or_else(|| Ok(home()?.join(".config")), Ok),
            Platform::Mac => Ok(home()?.join("Library/Application Support")),
            Platform::Windows => get("APPDATA").map_or_else(|| Ok(home()?.join("AppData").join("Roaming")), Ok),
        };
        Ok(match (self, scope) {
            (Client::Claude, Scope::Project) => PathBuf::from(".mcp.json"),
            (Client::Claude, Scope::User) => get("CLAUDE_CONFIG_DIR").map_or_else(home, Ok)?.join(".claude.json"),
            (Client::ClaudeDesktop, Scope::User) => settings()?.join("Claude").join("claude_desktop_config.json"),
            (Client::ClaudeDesktop, Scope::Project) => {
                return Err(Failure::usage("Claude Desktop has no configuration per project")
                    .hint("use `--scope user`, or another client"));
            }
            (Client::Cursor, Scope::Project) => Path::new(".cursor").join("mcp.json"),
            (Client::Cursor, Scope::User) => home()?.join(".cursor").join("mcp.json"),
            (Client::Vscode, Scope::Project) => Path::new(".vscode").join("mcp.json"),
            (Client::Vscode, Scope::User) => settings()?.join("Code").join("User").join("mcp.json"),
            (Client::Codex, Scope::Project) => Path::new(".codex").join("config.toml"),
            (Client::Codex, Scope::User) => {
                get("CODEX_HOME").map_or_else(|| Ok(home()?.join(".codex")), Ok)?.join("config.toml")
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(client: Client, scope: Scope, platform: Platform, variables: &[(&str, &str)]) -> String {
        let lookup = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        match client.file(scope, platform, &lookup) {
            Ok(path) => path.to_string_lossy().replace('\\', "/"),
            Err(failure) => failure.to_string(),
        }
    }

    #[test]
    fn files() {
        use Client::{Claude, ClaudeDesktop, Codex, Cursor, Vscode};
        use Platform::{Mac, Unix, Windows};
        use Scope::{Project, User};
        let home: &[(&str, &str)] = &[("HOME", "/h")];
        for (client, scope, platform, variables, expected) in [
            (Claude, User, Unix, home, "/h/.claude.json"),
            (Claude, User, Unix, &[("HOME", "/h"), ("CLAUDE_CONFIG_DIR", "/c")], "/c/.claude.json"),
            (Claude, Project, Unix, &[], ".mcp.json"),
            (ClaudeDesktop, User, Unix, home, "/h/.config/Claude/claude_desktop_config.json"),
            (ClaudeDesktop, User, Mac, home, "/h/Library/Application Support/Claude/claude_desktop_config.json"),
            (ClaudeDesktop, User, Windows, &[("APPDATA", "/a")], "/a/Claude/claude_desktop_config.json"),
            (Cursor, User, Unix, home, "/h/.cursor/mcp.json"),
            (Cursor, User, Windows, &[("USERPROFILE", "/u")], "/u/.cursor/mcp.json"),
            (Cursor, Project, Unix, &[], ".cursor/mcp.json"),
            (Vscode, User, Unix, home, "/h/.config/Code/User/mcp.json"),
            (Vscode, User, Unix, &[("HOME", "/h"), ("XDG_CONFIG_HOME", "/x")], "/x/Code/User/mcp.json"),
            (Vscode, User, Mac, home, "/h/Library/Application Support/Code/User/mcp.json"),
            (Vscode, User, Windows, &[("USERPROFILE", "/u")], "/u/AppData/Roaming/Code/User/mcp.json"),
            (Vscode, Project, Unix, &[], ".vscode/mcp.json"),
            (Codex, User, Unix, home, "/h/.codex/config.toml"),
            (Codex, User, Unix, &[("CODEX_HOME", "/c")], "/c/config.toml"),
            (Codex, Project, Unix, &[], ".codex/config.toml"),
        ] {
            assert_eq!(file(client, scope, platform, variables), expected, "{client:?} {scope:?} {platform:?}");
        }
        assert!(file(Cursor, User, Unix, &[("HOME", "")]).starts_with("error: neither `HOME` nor"));
        assert!(file(ClaudeDesktop, Project, Unix, home).contains("no configuration per project"));
    }
}
