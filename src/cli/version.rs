//! `evokore version`: which build this is.

use serde_json::json;

use super::output::Output;
use crate::catalog::{CATALOG, VERSION_PROFILE_SET};
use crate::error::{Exit, Failure};

/// Version of the package.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Runs the command.
///
/// # Errors
/// stdout cannot be written.
pub(crate) fn run(json: bool, out: Output) -> Result<Exit, Failure> {
    let profiles: Vec<&str> = CATALOG.profiles.iter().map(|profile| profile.name).collect();
    let servers: Vec<&str> = CATALOG.servers.iter().map(|server| server.id).collect();
    if json {
        out.json(&json!({
            "version": VERSION,
            "catalogSha256": CATALOG.sha256,
            "policySha256": CATALOG.policy_sha256,
            "inputsSha256": CATALOG.inputs_sha256,
            "profileSet": VERSION_PROFILE_SET,
            "tokenizer": CATALOG.tokenizer,
            "nativeTools": CATALOG.natives,
            "tools": CATALOG.tools.len(),
            "skills": CATALOG.skills.len(),
            "profiles": profiles,
            "servers": servers,
        }))?;
    } else {
        out.print(&format!(
            "evokore {VERSION}\n\
             catalog   {}\n\
             policy    {}\n\
             inputs    {}\n\
             profiles  {} ({VERSION_PROFILE_SET})\n\
             servers   {}\n\
             tools     {} native, {} of servers with a lock\n\
             skills    {}\n\
             tokenizer {}\n",
            CATALOG.sha256,
            CATALOG.policy_sha256,
            CATALOG.inputs_sha256,
            profiles.join(", "),
            if servers.is_empty() { "none".to_owned() } else { servers.join(", ") },
            CATALOG.natives,
            CATALOG.tools.len() - usize::from(CATALOG.natives),
            CATALOG.skills.len(),
            CATALOG.tokenizer,
        ))?;
    }
    Ok(Exit::Ok)
}
