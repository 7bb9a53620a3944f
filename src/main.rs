//! Entry point.

use std::sync::Arc;

fn main() -> std::process::ExitCode {
    let lookup = |name: &str| evokore::env_vars::lookup(name);
    let (settings, warnings) = match evokore::settings::Settings::resolve(&evokore::catalog::CATALOG, &lookup) {
        Ok(resolved) => resolved,
        Err(error) => {
            evokore::log::line(&error.to_string());
            return std::process::ExitCode::from(2);
        }
    };
    warnings.iter().for_each(|warning| evokore::log::warn(warning));
    let mut children = evokore::child::ChildSettings::new(Arc::new(lookup), Arc::new(evokore::log::line));
    children.boot_timeout = settings.boot_timeout;
    children.call_timeout = settings.call_timeout;
    let app =
        evokore::app::App::new(settings, evokore::skills::Library::new(evokore::skills::configured_folder(&lookup)));
    match evokore::server::run(&app, children) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            evokore::log::line(&error.to_string());
            std::process::ExitCode::from(3)
        }
    }
}
