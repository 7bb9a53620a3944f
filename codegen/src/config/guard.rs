//! `lock` and `hostileContent`: what becomes of tools that are not what was looked at.

use evokore_catalog::server::{OnDrift, OnHostile};
use jsonc_parser::ast::Value;

use crate::json::{Reader, Spanned, span};

/// What is written, for one server or for all.
#[derive(Debug, Clone, Default)]
pub struct Guard {
    /// `lock.onDrift`, with its place.
    pub on_drift: Option<Spanned<OnDrift>>,
    /// `hostileContent`.
    pub on_hostile: Option<OnHostile>,
}

/// Reads member `key`, known as `what`.
pub(super) fn member(reader: &mut Reader<'_>, key: &str, what: &str, value: &Value<'_>, guard: &mut Guard) {
    if key == "hostileContent" {
        guard.on_hostile = reader.choice(what, value, &OnHostile::NAMES);
        return;
    }
    let Some(object) = reader.object(what, value) else { return };
    for member in reader.members(object) {
        if member.name.as_str() == "onDrift" {
            let found = reader.choice(&format!("`onDrift` in {what}"), &member.value, &OnDrift::NAMES);
            guard.on_drift = found.map(|value| Spanned { value, range: span(&member.value) });
        } else {
            reader.unknown_key(member, &["onDrift"], what);
        }
    }
}
