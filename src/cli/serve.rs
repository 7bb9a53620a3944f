//! Serving a client, without the command line's machinery.

use std::sync::Arc;

use super::{output, process};
use crate::error::{Exit, Failure};
use crate::{log, server};

/// Serves until the client goes. Errors are printed.
pub fn run() -> Exit {
    match serve() {
        Ok(()) => Exit::Ok,
        Err(failure) => {
            output::complain(&failure);
            failure.exit
        }
    }
}

fn serve() -> Result<(), Failure> {
    let loaded = process::read_dotenv()?;
    let settings = process::settings(None)?;
    if let (Some(path), false) = (&loaded.path, loaded.names.is_empty()) {
        // Names only: whoever wonders where a setting comes from finds it here.
        log::line(&format!("read from `{}`: {}", path.display(), loaded.names.join(", ")));
    }
    let (app, children) = process::app(settings, Arc::new(log::line));
    server::run(&app, children).map_err(|error| Failure::runtime(format!("cannot serve: {error}")))
}
