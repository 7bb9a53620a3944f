//! Profiles: the names they list, the tools they show and what that costs. `budgets` says whether it may.

use std::collections::BTreeSet;

use evokore_catalog::profile::{ProfileEntry, ProfileTokens, Visibility};
use evokore_catalog::project::always_visible;
use evokore_catalog::skill::SkillEntry;
use evokore_catalog::tool::Source as Origin;

use crate::budgets::Session;
use crate::config::{DEFAULT, Profile, Visible};
use crate::json::Spanned;
use crate::leak::{leak, leak_all};
use crate::names::Names;
use crate::problem::{Problem, did_you_mean};
use crate::source::Source;
use crate::tokens::{Counter, Encoding};
use crate::tools::{Json, ModeCounts, Tool, count};

/// A profile, what it costs and what it may cost.
#[derive(Debug, Clone, Copy)]
pub struct Projection {
    /// The catalog's entry.
    pub entry: ProfileEntry,
    /// Token counts of its list in both encodings.
    pub counts: ModeCounts,
    /// Tokens of a first use.
    pub session: Session,
    /// Most tokens that a model may see of its list, if stated.
    pub visible_budget: Option<u32>,
    /// Most tokens of a first use, if stated.
    pub session_budget: Option<u32>,
}

/// The built-in profile, where the configuration says nothing about it.
pub fn built_in() -> Profile {
    Profile::named(Spanned { value: DEFAULT.to_owned(), range: 0..0 })
}

/// What people read about the built-in profile.
const BUILT_IN: &str = "every native tool; proxied tools are discovered";

/// Compiles one profile.
pub fn compile(profile: &Profile, tools: &[Tool], counter: &mut Counter, encoding: Encoding) -> Projection {
    let visible = match &profile.visible {
        Visible::All => Visibility::All,
        Visible::AllNative => Visibility::AllNative,
        Visible::Named(names) => {
            let names: BTreeSet<&str> = names.iter().map(|name| name.value.as_str()).collect();
            Visibility::Named(leak_all(names.into_iter().map(leak)))
        }
    };
    let entry = ProfileEntry {
        name: leak(&profile.name.value),
        description: leak(if profile.description.is_empty() && profile.name.value == DEFAULT {
            BUILT_IN
        } else {
            &profile.description
        }),
        visible,
        bits: &[],
        mandatory_skills: leak_all(profile.mandatory_skills.iter().map(|skill| leak(&skill.value))),
        activation: profile.activation,
        schema_mode: profile.schema_mode,
        token_budget: profile.token_budget.as_ref().map(|budget| budget.value),
        tokens: ProfileTokens::default(),
    };
    let (entry, counts) = project(entry, tools, counter, encoding);
    let stated = |budget: &Option<Spanned<u32>>| budget.as_ref().map(|budget| budget.value);
    Projection {
        session: Session::of(&entry, tools, counter, encoding),
        entry,
        counts,
        visible_budget: stated(&profile.visible_budget),
        session_budget: stated(&profile.session_budget),
    }
}

/// Resolves the profile's visibility over the compiled tools and counts its list.
fn project(
    mut entry: ProfileEntry,
    tools: &[Tool],
    counter: &mut Counter,
    encoding: Encoding,
) -> (ProfileEntry, ModeCounts) {
    let mut bits = vec![0_u64; tools.len().div_ceil(64)];
    let mut shown: Vec<&Tool> = Vec::new();
    for (index, tool) in tools.iter().enumerate() {
        if always_visible(&entry, tool.name, matches!(tool.origin, Origin::Native(_))) {
            bits[index / 64] |= 1 << (index % 64);
            shown.push(tool);
        }
    }
    let list = |part: fn(&Json) -> &'static str, open: &str, close: &str| -> &'static str {
        let parts: Vec<&str> = shown.iter().filter_map(|tool| tool.json.as_ref().map(part)).collect();
        format!("{open}{}{close}", parts.join(",")).leak()
    };
    let full = list(|json| json.full, "{\"tools\":[", "]}");
    let deferred = list(|json| json.deferred, "{\"tools\":[", "]}");
    let visible = list(|json| json.visible, "[", "]");
    let known = count(counter, &format!("profile\t{}", entry.name), Json { full, deferred, visible, described: "" });
    let digests = shown.iter().filter(|tool| tool.json.is_none());
    let counts = digests.fold(known, |sum, tool| sum.plus(tool.counts));
    entry.bits = bits.leak();
    entry.tokens = ProfileTokens {
        tools: u32::try_from(shown.len()).unwrap_or(u32::MAX),
        bytes: u32::try_from(full.len()).unwrap_or(u32::MAX),
        full: counts.full.of(encoding),
        deferred: counts.deferred.of(encoding),
        visible: counts.visible.of(encoding),
    };
    (entry, counts)
}

/// Checks the names a profile lists.
pub fn check_names(source: &Source, profile: &Profile, names: &mut Names, problems: &mut Vec<Problem>) {
    let Visible::Named(listed) = &profile.visible else { return };
    let mut seen = BTreeSet::new();
    let subject = format!("profile `{}` lists", profile.name.value);
    for name in listed {
        if !seen.insert(&name.value) {
            let message = format!("profile `{}` lists `{}` twice", profile.name.value, name.value);
            problems.push(Problem::note(message).at(source, name.range.clone()).hint("delete one of the two"));
        } else if let Some((message, hint)) = names.check(&subject, &name.value) {
            problems.push(Problem::error(message).at(source, name.range.clone()).maybe_hint(hint));
        }
    }
}

/// Checks that the mandatory skills of a profile exist and that the tools it shows can reach them.
pub fn check_skills(
    source: &Source,
    profile: &Profile,
    entry: &ProfileEntry,
    skills: &[SkillEntry],
    problems: &mut Vec<Problem>,
) {
    let name = &profile.name.value;
    for skill in &profile.mandatory_skills {
        let wanted = skill.value.to_lowercase();
        let exists = skills.iter().any(|known| {
            known.name.to_lowercase() == wanted || format!("{}/{}", known.category, known.name).to_lowercase() == wanted
        });
        if !exists {
            let hint = did_you_mean(&skill.value, skills.iter().map(|known| known.name));
            problems.push(
                Problem::error(format!(
                    "profile `{name}` declares the mandatory skill `{}`, which does not exist",
                    skill.value
                ))
                .at(source, skill.range.clone())
                .hint(hint.unwrap_or_else(|| "write it under SKILLS/, or take it off the list".to_owned())),
            );
        }
    }
    let shows = |tool: &str| always_visible(entry, tool, true);
    let Some(first) = profile.mandatory_skills.first() else { return };
    let finders = shows("resolve_workflow") || shows("get_skill_help");
    let missing = match (finders, shows("execute_skill")) {
        (true, true) => return,
        (true, false) => "`execute_skill`",
        (false, true) => "`resolve_workflow` or `get_skill_help`",
        (false, false) => "`execute_skill`, and `resolve_workflow` or `get_skill_help`",
    };
    problems.push(
        Problem::error(format!("profile `{name}` declares mandatory skills but shows no tool that reaches them"))
            .at(source, first.range.clone())
            .hint(format!("add {missing} to its `alwaysVisible`")),
    );
}
