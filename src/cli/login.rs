//! `evokore login` and `evokore logout`: access to child servers over HTTP that want to know who asks.

#[cfg(feature = "http")]
use std::io::IsTerminal as _;
#[cfg(feature = "http")]
use std::process::{Command, Stdio};
#[cfg(feature = "http")]
use std::sync::Arc;

use evokore_catalog::server::ServerSpec;

use super::arguments::ServerArguments;
#[cfg(feature = "http")]
use super::output;
use super::output::Output;
#[cfg(feature = "http")]
use super::process;
use crate::catalog::CATALOG;
#[cfg(feature = "http")]
use crate::child::{self, LoginError, Logout};
use crate::error::{Exit, Failure};

/// Runs `evokore login`.
///
/// # Errors
/// There is no such server, or no login came about.
#[cfg(feature = "http")]
pub(crate) fn run(arguments: &ServerArguments, out: Output) -> Result<Exit, Failure> {
    let spec = server(&arguments.server)?;
    let settings = process::settings(None)?;
    let (_, children) = process::app(settings, Arc::new(|_| {}));
    let issuer =
        runtime()?.block_on(child::login(spec, &children, show)).map_err(|error| failed("login", spec, error))?;
    out.print(&format!("logged in to `{}` through {issuer}\n", spec.id))?;
    Ok(Exit::Ok)
}

/// Runs `evokore logout`.
///
/// # Errors
/// There is no such server, or its file cannot be removed.
#[cfg(feature = "http")]
pub(crate) fn logout(arguments: &ServerArguments, out: Output) -> Result<Exit, Failure> {
    let spec = server(&arguments.server)?;
    let settings = process::settings(None)?;
    let (_, children) = process::app(settings, Arc::new(|_| {}));
    let outcome = runtime()?.block_on(child::logout(spec, &children));
    let text = match outcome.map_err(|error| failed("logout", spec, error))? {
        Logout::Nobody => format!("nobody was logged in to `{}`\n", spec.id),
        Logout::Revoked(issuer) => format!("logged out of `{}`; {issuer} takes the tokens no more\n", spec.id),
        Logout::Forgotten(why) => {
            format!("logged out of `{}`; the tokens are good until they end, since {why}\n", spec.id)
        }
    };
    out.print(&text)?;
    Ok(Exit::Ok)
}

/// Without HTTP there is nothing to log in to.
///
/// # Errors
/// Always.
#[cfg(not(feature = "http"))]
pub(crate) fn run(arguments: &ServerArguments, _out: Output) -> Result<Exit, Failure> {
    server(&arguments.server)?;
    Err(Failure::usage("this executable was built without HTTP, so there is nothing to log in to")
        .hint("build it with the feature `http`"))
}

#[cfg(not(feature = "http"))]
pub(crate) use run as logout;

fn server(id: &str) -> Result<&'static ServerSpec, Failure> {
    let known: Vec<&str> = CATALOG.servers.iter().map(|server| server.id).collect();
    CATALOG.servers.iter().find(|server| server.id == id).ok_or_else(|| {
        Failure::usage(format!("there is no child server `{id}` in this build"))
            .hint(format!("known: {}", known.join(", ")))
    })
}

#[cfg(feature = "http")]
fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::runtime(format!("cannot start the runtime: {error}")))
}

#[cfg(feature = "http")]
fn failed(what: &str, spec: &ServerSpec, error: LoginError) -> Failure {
    Failure::runtime(format!("{what} of child server `{}`: {}", spec.id, error.what)).hint(error.hint)
}

/// Shows a person the address, and opens it where a person is.
#[cfg(feature = "http")]
fn show(url: &str) {
    output::say(&format!("Open this address in a browser on this machine, and log in there:\n\n  {url}\n\n"));
    if !std::io::stderr().is_terminal() {
        return;
    }
    let opener: &[&str] = if cfg!(target_os = "macos") {
        &["open"]
    } else if cfg!(windows) {
        &["rundll32", "url.dll,FileProtocolHandler"]
    } else {
        &["xdg-open"]
    };
    let mut command = Command::new(opener[0]);
    command.args(&opener[1..]).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // The address is printed; where nothing opens it, the person does.
    let _ = command.spawn();
}
