//! `evokore completions`: the script that a shell completes commands with.

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::arguments::Arguments;
use super::output::Output;
use crate::error::{Exit, Failure};

/// Runs the command.
///
/// # Errors
/// stdout cannot be written.
pub(crate) fn run(shell: Shell, out: Output) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "evokore", &mut script);
    out.print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Ok)
}
