//! What the environment decides at start: mode, profile, role, schema mode and limits. Table look-ups only; unknown
//! names are refused with the list of known ones, so nothing fails open on a typo.

use std::path::PathBuf;
use std::time::Duration;

use evokore_catalog::Catalog;
use evokore_catalog::lock::drift::Guard;
use evokore_catalog::permission::{Access, Accesses, Mode, Role, decide};
use evokore_catalog::profile::{ProfileEntry, SchemaMode};
use evokore_catalog::server::{OnDrift, OnHostile, ServerSpec};

use crate::catalog::CATALOG;
use crate::env_vars as vars;

/// Everything the environment decides.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Discovery mode.
    pub mode: DiscoveryMode,
    /// The active profile and why it is.
    pub profile: ActiveProfile,
    /// The active role, if any.
    pub role: Option<&'static Role>,
    /// The active mode, which leaves of what the role may do at most so much.
    pub steering: &'static Mode,
    /// Access to tools that no rule names while no role is active.
    pub unlisted: Access,
    /// What becomes of tools that are not what their lock says, at least.
    pub on_drift: OnDrift,
    /// What becomes of tools with hostile content, at least.
    pub on_hostile: OnHostile,
    /// Schema mode that sessions start with.
    pub schema_mode: SchemaMode,
    /// How long a client in deferred mode may go without `describe_tool`.
    pub schema_fallback: Duration,
    /// Whether lists are paged without a cursor in the request.
    pub paginate: bool,
    /// Tools in a page, 1..=1000.
    pub page_size: usize,
    /// Window in which triggers of `tools/list_changed` are merged, 0..=5000 ms.
    pub debounce: Duration,
    /// How long a child server may take from start to its first list.
    pub boot_timeout: Duration,
    /// How long a proxied call may take.
    pub call_timeout: Duration,
    /// Bytes that one result of a child server may have.
    pub max_result_bytes: usize,
    /// Estimated tokens that one result of a child server may have before a preview takes its place.
    pub max_result_tokens: Option<u32>,
    /// Whether anyone can read on: if not, results are never previews.
    pub can_read_on: bool,
    /// Whether an audit log is written.
    pub audit: bool,
    /// The state folder, if there is a home for it.
    pub home: Option<PathBuf>,
}

/// `EVOKORE_TOOL_DISCOVERY_MODE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiscoveryMode {
    /// The profile's tools, plus what the session activates.
    Dynamic,
    /// Every tool; the safety pin.
    Legacy,
}

impl DiscoveryMode {
    /// As written in the environment.
    pub fn name(self) -> &'static str {
        match self {
            DiscoveryMode::Dynamic => "dynamic",
            DiscoveryMode::Legacy => "legacy",
        }
    }
}

/// The active profile.
#[derive(Debug, Clone, Copy)]
pub struct ActiveProfile {
    /// Its entry.
    pub entry: &'static ProfileEntry,
    /// Why it is the active one.
    pub source: ProfileSource,
}

/// Why a profile is active, in order of precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProfileSource {
    /// Mode `legacy` overruled a requested profile.
    SafetyPin,
    /// `EVOKORE_DISCOVERY_PROFILE`.
    Environment,
    /// `discovery.activeProfile`.
    Configuration,
    /// Nothing was requested.
    Builtin,
}

impl ProfileSource {
    /// The word for it in logs and status.
    pub fn name(self) -> &'static str {
        match self {
            ProfileSource::SafetyPin => "safety-pin-legacy",
            ProfileSource::Environment => "env",
            ProfileSource::Configuration => "config",
            ProfileSource::Builtin => "builtin-default",
        }
    }
}

/// A variable whose value means nothing.
#[derive(Debug, thiserror::Error)]
#[error("{variable} is `{value}`, which is no {what}\nhint: known: {known}")]
pub struct SettingsError {
    /// Name of the variable.
    pub variable: &'static str,
    /// Its value.
    pub value: String,
    /// What it should have been.
    pub what: &'static str,
    /// The values that would do.
    pub known: String,
}

impl Settings {
    /// Resolves the settings from `lookup`; the second part are warnings for stderr.
    ///
    /// # Errors
    /// An unknown discovery mode, profile, role, mode or schema mode, or a number that is none.
    pub fn resolve(
        catalog: &'static Catalog,
        lookup: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(Settings, Vec<String>), SettingsError> {
        let get = |name: &str| lookup(name).filter(|value| !value.is_empty());
        let mut warnings = Vec::new();
        let mode = match get(vars::TOOL_DISCOVERY_MODE).as_deref() {
            None | Some("dynamic") => DiscoveryMode::Dynamic,
            Some("legacy") => DiscoveryMode::Legacy,
            Some(other) => return Err(unknown(vars::TOOL_DISCOVERY_MODE, other, "discovery mode", "dynamic, legacy")),
        };
        let profile = active_profile(catalog, mode, get(vars::DISCOVERY_PROFILE), &mut warnings)?;
        let role = match get(vars::ROLE).as_deref().or(catalog.policy.active_role) {
            None => None,
            Some(name) => Some(catalog.policy.role(name).ok_or_else(|| {
                unknown(vars::ROLE, name, "role", &list(catalog.policy.roles.iter().map(|role| role.name)))
            })?),
        };
        let steering = get(vars::STEERING_MODE);
        let steering = steering.as_deref().unwrap_or(catalog.policy.active_mode);
        let steering = catalog.policy.mode(steering).ok_or_else(|| {
            unknown(vars::STEERING_MODE, steering, "mode", &list(catalog.policy.modes.iter().map(|mode| mode.name)))
        })?;
        let schema_mode = match get(vars::TOOL_SCHEMA_MODE).as_deref() {
            None => profile.entry.schema_mode.unwrap_or_default(),
            Some("full") => SchemaMode::Full,
            Some("deferred") => SchemaMode::Deferred,
            Some(other) => return Err(unknown(vars::TOOL_SCHEMA_MODE, other, "schema mode", "full, deferred")),
        };
        let unlisted = if flag(&get, vars::SECURITY_DEFAULT_DENY, false)? { Access::Deny } else { Access::Allow };
        let on_drift = choice(&get, vars::LOCK_ON_DRIFT, "answer to drift", &OnDrift::NAMES)?;
        let on_hostile = choice(&get, vars::HOSTILE_CONTENT, "answer to hostile content", &OnHostile::NAMES)?;
        let mut number = |variable, default, least, most| number(&get, variable, default, least, most, &mut warnings);
        let page_size = usize::try_from(number(vars::TOOL_LIST_PAGE_SIZE, 35, 1, 1000)?).unwrap_or(1000);
        let bytes = number(vars::MAX_RESULT_BYTES, 64 << 20, 1, u32::MAX.into())?;
        let tokens = match get(vars::MAX_RESULT_TOKENS) {
            None => None,
            Some(_) => u32::try_from(number(vars::MAX_RESULT_TOKENS, 0, 1, u32::MAX.into())?).ok(),
        };
        let mut millis =
            |variable, default, least, most| number(variable, default, least, most).map(Duration::from_millis);
        let settings = Settings {
            mode,
            profile,
            role,
            steering,
            unlisted,
            on_drift: steering.on_drift.max(on_drift),
            on_hostile: steering.on_hostile.max(on_hostile),
            schema_mode,
            schema_fallback: millis(vars::TOOL_SCHEMA_FALLBACK_MS, 60_000, 1, u64::MAX)?,
            paginate: flag(&get, vars::TOOL_LIST_PAGINATION, false)?,
            page_size,
            debounce: millis(vars::TOOLS_LIST_CHANGED_DEBOUNCE_MS, 250, 0, 5000)?,
            boot_timeout: millis(vars::CHILD_SERVER_BOOT_TIMEOUT_MS, 30_000, 1, u64::MAX)?,
            call_timeout: millis(vars::PROXY_REQUEST_TIMEOUT_MS, 60_000, 1, u64::MAX)?,
            max_result_bytes: usize::try_from(bytes).unwrap_or(usize::MAX),
            max_result_tokens: tokens,
            can_read_on: true,
            audit: flag(&get, vars::AUDIT_LOG, true)?,
            home: crate::state::home(lookup),
        };
        Ok((settings, warnings))
    }

    /// Estimated tokens that a result of tool `original` of `server` may have; `None` for any number.
    pub fn result_tokens(&self, server: &ServerSpec, original: &str) -> Option<u32> {
        let rule = server.tools.iter().find(|rule| rule.name == original);
        let tokens = rule.and_then(|rule| rule.max_result_tokens).or(server.max_result_tokens);
        tokens.or(self.max_result_tokens).filter(|_| self.can_read_on)
    }

    /// What is done about tools of `server` that are not what was looked at: the stricter of configuration and
    /// environment.
    pub fn guard(&self, server: u16) -> Guard {
        let spec = CATALOG.servers.get(usize::from(server)).unwrap_or(&ServerSpec::ABSENT);
        Guard { on_drift: self.on_drift.max(spec.on_drift), on_hostile: self.on_hostile.max(spec.on_hostile) }
    }

    /// What the active role may do, in the active mode, with a tool that has these `accesses`.
    pub fn access(&self, accesses: &Accesses) -> Access {
        decide(accesses, self.role, Some(self.steering), self.unlisted)
    }
}

fn active_profile(
    catalog: &'static Catalog,
    mode: DiscoveryMode,
    requested: Option<String>,
    warnings: &mut Vec<String>,
) -> Result<ActiveProfile, SettingsError> {
    let known = || list(catalog.profiles.iter().map(|profile| profile.name));
    if mode == DiscoveryMode::Legacy {
        if let Some(name) = requested.as_deref().filter(|name| catalog.profile(name).is_none()) {
            warnings.push(format!("{} is `{name}`, which is no profile (known: {})", vars::DISCOVERY_PROFILE, known()));
        }
        let overruled = requested.is_some() || catalog.active_profile.is_some();
        let source = if overruled { ProfileSource::SafetyPin } else { ProfileSource::Builtin };
        return Ok(ActiveProfile { entry: catalog.default_profile(), source });
    }
    if let Some(name) = requested {
        let entry =
            catalog.profile(&name).ok_or_else(|| unknown(vars::DISCOVERY_PROFILE, &name, "profile", &known()))?;
        return Ok(ActiveProfile { entry, source: ProfileSource::Environment });
    }
    // The build has checked that the configured name exists.
    match catalog.active_profile.and_then(|name| catalog.profile(name)) {
        Some(entry) => Ok(ActiveProfile { entry, source: ProfileSource::Configuration }),
        None => Ok(ActiveProfile { entry: catalog.default_profile(), source: ProfileSource::Builtin }),
    }
}

fn flag(get: &dyn Fn(&str) -> Option<String>, variable: &'static str, default: bool) -> Result<bool, SettingsError> {
    match get(variable).as_deref() {
        None => Ok(default),
        Some("true" | "1" | "on" | "yes") => Ok(true),
        Some("false" | "0" | "off" | "no") => Ok(false),
        Some(other) => Err(unknown(variable, other, "switch", "true, 1, on, yes, false, 0, off, no")),
    }
}

/// The one of `choices` that `variable` names, by default the first kind of value.
fn choice<T: Copy + Default>(
    get: &dyn Fn(&str) -> Option<String>,
    variable: &'static str,
    what: &'static str,
    choices: &[(&str, T)],
) -> Result<T, SettingsError> {
    let Some(text) = get(variable) else { return Ok(T::default()) };
    let found = choices.iter().find(|(name, _)| *name == text);
    found.map(|(_, choice)| *choice).ok_or_else(|| unknown(variable, &text, what, &list(choices.iter().map(|it| it.0))))
}

/// The number in `variable`; one outside of `least..=most` counts as the nearer end, with a warning.
fn number(
    get: &dyn Fn(&str) -> Option<String>,
    variable: &'static str,
    default: u64,
    least: u64,
    most: u64,
    warnings: &mut Vec<String>,
) -> Result<u64, SettingsError> {
    let Some(text) = get(variable) else { return Ok(default) };
    let Ok(number) = text.parse::<u64>() else {
        return Err(unknown(variable, &text, "whole number", "a whole number such as 250"));
    };
    let taken = number.clamp(least, most);
    if taken != number {
        let side = if number < least { "least" } else { "most" };
        warnings.push(format!("{variable} is {number}, and the {side} is {taken}, which is taken"));
    }
    Ok(taken)
}

fn unknown(variable: &'static str, value: &str, what: &'static str, known: &str) -> SettingsError {
    SettingsError { variable, value: value.to_owned(), what, known: known.to_owned() }
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}
