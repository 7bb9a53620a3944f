//! `--profile`: the environment as it would be with another profile.

use evokore_catalog::Catalog;

use crate::env_vars;
use crate::error::Failure;
use crate::settings::Settings;

/// Refuses a name that no compiled profile has.
///
/// # Errors
/// The failure, which lists the profiles there are.
pub(crate) fn check(catalog: &Catalog, name: &str) -> Result<(), Failure> {
    if catalog.profiles.iter().any(|profile| profile.name == name) {
        return Ok(());
    }
    let known: Vec<&str> = catalog.profiles.iter().map(|profile| profile.name).collect();
    Err(Failure::usage(format!("there is no profile `{name}` in this build"))
        .hint(format!("known: {}", known.join(", "))))
}

/// The environment with `profile` in it, if one is given.
pub(crate) fn lookup(profile: Option<&str>) -> impl Fn(&str) -> Option<String> {
    with(profile.map(|profile| (env_vars::DISCOVERY_PROFILE, profile.to_owned())).into_iter().collect())
}

/// The environment with `values` in place of its own.
pub(crate) fn with(values: Vec<(&'static str, String)>) -> impl Fn(&str) -> Option<String> {
    move |name| match values.iter().find(|(known, _)| *known == name) {
        Some((_, value)) => Some(value.clone()),
        None => env_vars::lookup(name),
    }
}

/// Where the profile in `settings` came from, for people: from the option, if one was `asked` for.
pub(crate) fn source(settings: &Settings, asked: Option<&str>) -> &'static str {
    if asked.is_some() { "--profile" } else { settings.profile.source.name() }
}
