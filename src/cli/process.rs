//! What every start has in common: `.env`, the settings, and what child servers are given.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use crate::app::App;
use crate::catalog::CATALOG;
use crate::child::ChildSettings;
use crate::error::Failure;
use crate::settings::Settings;
use crate::skills::Library;
use crate::{config_dir, dotenv, env_vars, log};

/// Reads `.env`; its warnings go to stderr.
///
/// # Errors
/// It is wrong about one of evokore's own variables.
pub(crate) fn read_dotenv() -> Result<dotenv::Loaded, Failure> {
    let loaded = dotenv::load().map_err(|error| Failure::usage(error.to_string()))?;
    loaded.warnings.iter().for_each(|warning| log::warn(warning));
    Ok(loaded)
}

/// Resolves the settings, with `profile` in place of the environment's if one is given; warnings go to stderr.
///
/// # Errors
/// A variable means nothing.
pub(crate) fn settings(profile: Option<&str>) -> Result<Settings, Failure> {
    if let Some(profile) = profile {
        super::profile::check(&CATALOG, profile)?;
    }
    resolved(&super::profile::lookup(profile))
}

/// Resolves the settings from an environment; warnings go to stderr.
///
/// # Errors
/// A variable means nothing.
pub(crate) fn resolved(lookup: &dyn Fn(&str) -> Option<String>) -> Result<Settings, Failure> {
    let (settings, warnings) =
        Settings::resolve(&CATALOG, lookup).map_err(|error| Failure::usage(error.to_string()))?;
    warnings.iter().for_each(|warning| log::warn(warning));
    Ok(settings)
}

/// The process's state, and what its child servers will be given; none is started yet. Their diagnostics go to `say`.
pub(crate) fn app(settings: Settings, say: Arc<dyn Fn(&str) + Send + Sync>) -> (Arc<App>, ChildSettings) {
    let mut children = ChildSettings::new(Arc::new(env_vars::lookup), say);
    children.names = Arc::new(env_vars::names);
    children.boot_timeout = settings.boot_timeout;
    children.call_timeout = settings.call_timeout;
    children.max_result = settings.max_result_bytes;
    children.concurrent_boots = usize::try_from(CATALOG.max_concurrent_boots).unwrap_or(usize::MAX);
    children.guard = guard();
    let folder = config_dir::find();
    let skills = Library::new(folder.map(|folder| folder.join("SKILLS")));
    children.base = folder.unwrap_or(Path::new(".")).to_path_buf();
    (App::new(settings, skills), children)
}

/// This very executable, also when the file has been replaced since.
fn guard() -> Option<OsString> {
    if cfg!(target_os = "linux") {
        return Some("/proc/self/exe".into());
    }
    std::env::current_exe().ok().map(OsString::from).filter(|_| cfg!(unix))
}
