//! Commands for people: arguments → command → exit code. The serving path does not come through here.

mod approvals;
mod arguments;
mod audit;
mod call;
mod client;
mod completions;
mod doctor;
mod import;
mod init;
mod live;
mod lock;
mod login;
mod output;
mod policy;
mod process;
mod profile;
mod search;
mod serve;
mod tools;
mod trial;
mod usage;
mod version;
mod welcome;

use std::ffi::OsString;
use std::io::IsTerminal as _;

use clap::Parser as _;

#[cfg(unix)]
use crate::child;
use crate::dotenv::Loaded;
use crate::error::{Exit, Failure};
use arguments::{Arguments, Command};
use output::Output;
pub use serve::run as serve;

/// What a command line asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// To serve a client.
    Serve,
    /// To be the guard of another process of ours.
    #[cfg(unix)]
    Guard,
    /// Anything else.
    Command,
}

impl Request {
    /// Tells serving from everything else without looking further: no argument and no terminal, or `serve` alone.
    pub fn of(arguments: &[OsString]) -> Request {
        match arguments {
            [_, serve] if serve == "serve" => Request::Serve,
            #[cfg(unix)]
            [_, guard] if guard == child::GUARD => Request::Guard,
            [] | [_] if !std::io::stdin().is_terminal() => Request::Serve,
            _ => Request::Command,
        }
    }
}

/// Runs as the guard, see [`child::run_guard`].
#[cfg(unix)]
pub fn guard() -> Exit {
    child::run_guard();
    Exit::Ok
}

/// Runs the command that `arguments` (the program's name first) ask for. Errors are printed.
pub fn run(arguments: Vec<OsString>) -> Exit {
    match command(arguments) {
        Ok(exit) => exit,
        Err(failure) => {
            output::complain(&failure);
            failure.exit
        }
    }
}

fn command(arguments: Vec<OsString>) -> Result<Exit, Failure> {
    let out = Output::new();
    if arguments.len() <= 1 {
        return welcome::run(out);
    }
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) if !error.use_stderr() => {
            out.print(&error.to_string())?;
            return Ok(Exit::Ok);
        }
        Err(error) => return Err(usage::failure(&error)),
    };
    // Help, the version and completions are there even if `.env` is wrong.
    let loaded = match &arguments.command {
        Command::Completions { .. } | Command::Version { .. } => Loaded::default(),
        _ => process::read_dotenv()?,
    };
    match &arguments.command {
        Command::Serve => Ok(serve::run()),
        Command::Try(arguments) => trial::run(arguments, out),
        Command::Tools(arguments) => tools::run(arguments, out),
        Command::Search(arguments) => search::run(arguments, out),
        Command::Call(arguments) => call::run(arguments, out),
        Command::Policy(arguments) => policy::run(arguments, out),
        Command::Approvals(arguments) => approvals::run(arguments, out),
        Command::Audit(arguments) => audit::run(arguments, out),
        Command::Login(arguments) => login::run(arguments, out),
        Command::Logout(arguments) => login::logout(arguments, out),
        Command::Lock(arguments) => lock::run(arguments, out),
        Command::Doctor(arguments) => doctor::run(arguments, &loaded, out),
        Command::Init(arguments) => init::run(arguments, out),
        Command::Import(arguments) => import::run(arguments, out),
        Command::Completions { shell } => completions::run(*shell, out),
        Command::Version { json } => version::run(*json, out),
    }
}
