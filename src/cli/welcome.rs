//! What a person sees who starts evokore on a terminal, where there is no client to speak with.

use super::output::{Output, Style};
use crate::error::{Exit, Failure};

/// Says what evokore is and how to go on.
///
/// # Errors
/// stdout cannot be written.
pub(crate) fn run(out: Output) -> Result<Exit, Failure> {
    let commands = [
        ("evokore try", "see what a client would see"),
        ("evokore init claude", "register it with Claude Code; also claude-desktop, cursor, vscode, codex"),
        ("evokore doctor", "check the configuration and every server"),
        ("evokore --help", "all commands"),
        ("evokore serve", "serve here all the same, to type JSON-RPC by hand"),
    ];
    let mut text = format!(
        "{} {}: one MCP server in front of many.\n\n\
         A client starts it and speaks to it on stdin and stdout; on a terminal there is nobody to speak with.\n\n",
        out.paint(Style::Bold, "evokore"),
        super::version::VERSION,
    );
    for (command, meaning) in commands {
        text.push_str(&format!("  {}{}\n", out.paint(Style::Bold, &format!("{command:21}")), meaning));
    }
    out.print(&text)?;
    Ok(Exit::Ok)
}
