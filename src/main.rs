//! Entry point: a client is served at once; everything else is a command.

use std::ffi::OsString;
use std::process::ExitCode;

use evokore::cli::{self, Request};

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let exit = match Request::of(&arguments) {
        Request::Serve => cli::serve(),
        #[cfg(unix)]
        Request::Guard => cli::guard(),
        Request::Command => cli::run(arguments),
    };
    exit.into()
}
