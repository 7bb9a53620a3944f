//! `modes` and `active_mode`.

use std::collections::BTreeMap;

use evokore_catalog::permission::{Mode, Rule};
use evokore_catalog::server::{OnDrift, OnHostile};

use super::{Permissions, Reader, compile_rules, presets};
use crate::leak::{leak, leak_all};
use crate::problem::{Problem, did_you_mean};
use crate::yaml::Node;

/// One of `modes`.
#[derive(Debug, Clone, Default)]
pub struct ModeRules {
    /// `description`.
    pub description: String,
    /// `rules`, sorted as written.
    pub rules: Vec<Rule>,
    /// `on_drift`.
    pub on_drift: OnDrift,
    /// `hostile_content`.
    pub on_hostile: OnHostile,
}

const MODE_KEYS: &[&str] = &["description", "rules", "on_drift", "hostile_content"];

impl Permissions {
    /// The presets, replaced and added to by the modes of the policy.
    pub(super) fn all_modes(&self) -> BTreeMap<String, ModeRules> {
        let mut modes: BTreeMap<String, ModeRules> = presets::all().collect();
        modes.extend(self.modes.iter().map(|(name, mode)| (name.clone(), mode.clone())));
        modes
    }

    /// The modes as the catalog holds them: their columns stand behind those of the roles.
    pub(super) fn compile_modes(&self) -> &'static [Mode] {
        let before = 1 + self.roles.len();
        leak_all(self.all_modes().iter().enumerate().map(|(at, (name, mode))| Mode {
            name: leak(name),
            // A row that is too short denies, so the last of impossibly many columns opens nothing.
            column: u16::try_from(before + at).unwrap_or(u16::MAX),
            description: leak(&mode.description),
            rules: compile_rules(&mode.rules),
            on_drift: mode.on_drift,
            on_hostile: mode.on_hostile,
        }))
    }
}

impl Reader<'_> {
    pub(super) fn modes(&mut self, value: &Node) -> BTreeMap<String, ModeRules> {
        let mut modes = BTreeMap::new();
        for (name, value) in self.mapping(value, &["modes"], "`modes`").unwrap_or_default() {
            if let Some(mode) = self.mode(name, value) {
                modes.insert(name.to_owned(), mode);
            }
        }
        modes
    }

    fn mode(&mut self, name: &str, value: &Node) -> Option<ModeRules> {
        let place = format!("the mode `{name}`");
        let path = ["modes", name];
        let mut mode = ModeRules::default();
        for (key, value) in self.mapping(value, &path, &place)? {
            let inner = ["modes", name, key];
            match key {
                "description" => mode.description = self.description(value, &inner, &place),
                "rules" => mode.rules = self.rules(value, &inner, &format!("`rules` of {place}")),
                "on_drift" => mode.on_drift = self.choice(value, &inner, &place, &OnDrift::NAMES),
                "hostile_content" => mode.on_hostile = self.choice(value, &inner, &place, &OnHostile::NAMES),
                _ => self.unknown_key(&path, key, MODE_KEYS, &place),
            }
        }
        Some(mode)
    }

    /// The one of `choices` that `value` names.
    fn choice<T: Copy + Default>(&mut self, value: &Node, path: &[&str], place: &str, choices: &[(&str, T)]) -> T {
        let text = if let Node::Text(text) = value { text } else { value.kind() };
        let found = choices.iter().find(|(name, _)| matches!(value, Node::Text(text) if name == text));
        if let Some((_, choice)) = found {
            return *choice;
        }
        let key = path.last().copied().unwrap_or_default();
        let names: Vec<String> = choices.iter().map(|(name, _)| format!("`{name}`")).collect();
        let hint = did_you_mean(text, choices.iter().map(|(name, _)| *name));
        let problem = Problem::error(format!("`{key}` of {place} is `{text}`, which means nothing"));
        self.report(problem.hint(hint.unwrap_or(format!("write one of {}", names.join(", ")))), path, true);
        T::default()
    }
}
