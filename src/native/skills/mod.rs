//! The native tools of the skill library. Skills are named exactly; what is not found is answered with suggestions,
//! never with the next best skill.

#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::sync::Arc;

use evokore_catalog::markdown::cut;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{NativeResult, arguments};
use crate::calls::CallContext;
use crate::discovery;
use crate::skills::resolve::{self, Found};
use crate::skills::{SkillRef, Snapshot, requirements};

/// Most skills that one search lists.
const MAX_FOUND: usize = 15;

/// Skills that `resolve_workflow` gives in full.
const RESOLVED: usize = 3;

/// Tools that `resolve_workflow` names.
const TOOLS: usize = 5;

/// Characters of a description in a list.
const BRIEF: usize = 300;

/// Characters of a code block's first line in a list.
const PREVIEW: usize = 80;

/// Characters of a question that an answer repeats.
const QUOTED: usize = 200;

/// Findings of a refresh that are told one by one.
const FINDINGS: usize = 50;

type Answer = Result<NativeResult, NativeResult>;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed<'a> {
    name: String,
    category: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    subcategory: &'a str,
    description: String,
    uri: &'a str,
    score: f32,
    matched_on: &'a [&'static str],
}

fn listed<'a>(snapshot: &'a Snapshot, found: &'a Found, skill: SkillRef<'a>) -> Listed<'a> {
    Listed {
        name: snapshot.address(found.at),
        category: skill.category(),
        subcategory: skill.subcategory(),
        description: cut(skill.description(), BRIEF),
        uri: skill.uri(),
        score: (found.score * 100.0).round() / 100.0,
        matched_on: &found.matched,
    }
}

pub(super) fn search_skills(arguments: &Map<String, Value>, ctx: &CallContext) -> Answer {
    let query = arguments::text(arguments, "query")?;
    let limit = arguments::number(arguments, "limit", MAX_FOUND, 1, MAX_FOUND)?;
    let snapshot = ctx.app.skills.snapshot();
    let answer = resolve::search(&ctx.app.skills, &snapshot, query, limit);
    let skills: Vec<Listed<'_>> =
        answer.found.iter().filter_map(|found| Some(listed(&snapshot, found, snapshot.get(found.at)?))).collect();
    let mut text = match skills.len() {
        0 => format!("No skill fits \"{}\".", cut(query, QUOTED)),
        1 => "1 skill".to_owned(),
        n => format!("{n} skills"),
    };
    for (skill, found) in skills.iter().zip(&answer.found) {
        let shelf = snapshot.get(found.at).map(SkillRef::shelf).unwrap_or_default();
        let matched = skill.matched_on.join(", ");
        let _ = write!(text, "\n**{}** [{shelf}] {} (matched on {matched})", skill.name, skill.description);
    }
    if !answer.unmatched.is_empty() {
        let _ = write!(text, "\nNo skill knows: {}.", answer.unmatched.join(", "));
    }
    #[derive(Serialize)]
    struct Searched<'a> {
        skills: Vec<Listed<'a>>,
        unmatched: &'a [String],
    }
    Ok(NativeResult::ok(text, &Searched { skills, unmatched: &answer.unmatched }))
}

pub(super) fn resolve_workflow(arguments: &Map<String, Value>, ctx: &CallContext) -> Answer {
    #[derive(Serialize)]
    struct Resolved<'a> {
        #[serde(flatten)]
        listed: Listed<'a>,
        warnings: Vec<String>,
        body: &'a str,
    }
    #[derive(Serialize)]
    struct Workflow<'a> {
        objective: &'a str,
        skills: Vec<Resolved<'a>>,
        tools: Vec<&'a str>,
    }
    let objective = arguments::text(arguments, "objective")?;
    let snapshot = ctx.app.skills.snapshot();
    let answer = resolve::search(&ctx.app.skills, &snapshot, objective, RESOLVED);
    let merged = ctx.app.merged();
    let tools: Vec<&str> = discovery::search(&ctx.app.settings, &merged, objective, TOOLS)
        .found
        .iter()
        .filter(|found| found.tool.server().is_some())
        .map(|found| found.tool.name())
        .collect();
    let mut text = String::new();
    let mut skills = Vec::new();
    for found in &answer.found {
        let Some(skill) = snapshot.get(found.at) else { continue };
        let listed = listed(&snapshot, found, skill);
        let warnings = requirements::warnings(&snapshot, skill);
        let (name, shelf, body) = (skill.name(), skill.shelf(), skill.body());
        let _ = write!(
            text,
            "WORKFLOW: {name} [{shelf}]\n{}\nMatched on {}.\n<activated_skill name=\"{name}\" category=\"{}\">\n{body}\n</activated_skill>\n\n",
            listed.description,
            found.matched.join(", "),
            skill.category(),
        );
        skills.push(Resolved { listed, warnings, body });
    }
    if skills.is_empty() {
        text = format!("No skill fits \"{}\"; go by general knowledge.\n", cut(objective, QUOTED));
    }
    if !tools.is_empty() {
        let _ = writeln!(text, "Tools: {}", tools.join(", "));
    }
    for warning in skills.iter().flat_map(|skill| &skill.warnings) {
        let _ = writeln!(text, "Warning: {warning}");
    }
    Ok(NativeResult::ok(text.trim_end(), &Workflow { objective, skills, tools }))
}

#[derive(Serialize)]
struct Next<'a> {
    skill: &'a str,
    reason: &'a str,
}

fn next_steps(skill: SkillRef<'_>) -> Vec<Next<'static>> {
    skill.next_steps().iter().map(|step| Next { skill: step.skill, reason: step.reason }).collect()
}

pub(super) fn get_skill_help(arguments: &Map<String, Value>, ctx: &CallContext) -> Answer {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Help<'a> {
        name: &'a str,
        category: &'a str,
        subcategory: &'a str,
        version: &'a str,
        description: &'a str,
        uri: &'a str,
        aliases: Vec<&'a str>,
        tags: Vec<&'a str>,
        requires: Vec<&'a str>,
        conflicts: Vec<&'a str>,
        steps: usize,
        next_steps: Vec<Next<'a>>,
        warnings: Vec<String>,
        body: &'a str,
    }
    let snapshot = ctx.app.skills.snapshot();
    let skill = named(arguments, ctx, &snapshot)?;
    let help = Help {
        name: skill.name(),
        category: skill.category(),
        subcategory: skill.subcategory(),
        version: skill.version(),
        description: skill.description(),
        uri: skill.uri(),
        aliases: skill.aliases(),
        tags: skill.tags(),
        requires: skill.requires(),
        conflicts: skill.conflicts(),
        steps: skill.steps().len(),
        next_steps: next_steps(skill),
        warnings: requirements::warnings(&snapshot, skill),
        body: skill.body(),
    };
    Ok(NativeResult::ok(as_help(&snapshot, skill), &help))
}

/// A skill as Markdown: what it is, then the whole text, then what to look out for.
pub(crate) fn as_help(snapshot: &Snapshot, skill: SkillRef<'_>) -> String {
    let mut text = format!("# {}\n\nCategory: {}\n", skill.name(), skill.shelf());
    let lists =
        [("Requires", skill.requires()), ("Conflicts with", skill.conflicts()), ("Also called", skill.aliases())];
    if !skill.version().is_empty() {
        let _ = writeln!(text, "Version: {}", skill.version());
    }
    for (label, items) in lists.iter().filter(|(_, items)| !items.is_empty()) {
        let _ = writeln!(text, "{label}: {}", items.join(", "));
    }
    let _ = write!(text, "\n{}\n\n---\n\n{}\n", skill.description(), skill.body());
    if !skill.next_steps().is_empty() {
        text.push_str("\nGo on with:\n");
        for step in skill.next_steps() {
            let _ = writeln!(text, "- {}: {}", step.skill, step.reason);
        }
    }
    for warning in requirements::warnings(snapshot, skill) {
        let _ = writeln!(text, "\nWarning: {warning}");
    }
    text.trim_end().to_owned()
}

pub(super) fn execute_skill(arguments: &Map<String, Value>, ctx: &CallContext) -> Answer {
    let snapshot = ctx.app.skills.snapshot();
    let skill = named(arguments, ctx, &snapshot)?;
    check_environment(arguments)?;
    let steps = skill.steps();
    if arguments.get("step").is_some_and(|step| !step.is_null()) {
        let number = arguments::number(arguments, "step", 1, 0, usize::MAX)?;
        let Some(step) = number.checked_sub(1).and_then(|at| steps.get(at)) else {
            let known =
                if steps.is_empty() { "it has none".to_owned() } else { format!("it has 1 to {}", steps.len()) };
            return Err(NativeResult::error(format!("`{}` has no step {number}: {known}", skill.name())));
        };
        return Err(NativeResult::error(format!(
            "this build does not run steps; nothing was run. Step {number} of `{}`, {}, to be run by your own means once it has been checked:\n\n{}",
            skill.name(),
            step.language,
            step.code
        )));
    }
    #[derive(Serialize)]
    struct Listing<'a> {
        index: usize,
        language: &'a str,
        lines: usize,
        preview: String,
    }
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Steps<'a> {
        skill: &'a str,
        uri: &'a str,
        steps: Vec<Listing<'a>>,
        next_steps: Vec<Next<'a>>,
    }
    let listing: Vec<Listing<'_>> = steps
        .iter()
        .zip(1..)
        .map(|(step, index)| Listing {
            index,
            language: &step.language,
            lines: step.code.lines().count(),
            preview: step.code.lines().next().unwrap_or("").chars().take(PREVIEW).collect(),
        })
        .collect();
    let mut text = match listing.len() {
        0 => format!("{} has no code blocks; follow its text (get_skill_help).", skill.name()),
        1 => format!("{} has 1 code block:", skill.name()),
        n => format!("{} has {n} code blocks:", skill.name()),
    };
    for step in &listing {
        let _ = write!(text, "\n{}. {} ({}): {}", step.index, step.language, lines(step.lines), step.preview);
    }
    let next = next_steps(skill);
    if !next.is_empty() {
        text.push_str("\nGo on with:");
        next.iter().for_each(|step| {
            let _ = write!(text, "\n- {}: {}", step.skill, step.reason);
        });
    }
    Ok(NativeResult::ok(text, &Steps { skill: skill.name(), uri: skill.uri(), steps: listing, next_steps: next }))
}

fn lines(count: usize) -> String {
    if count == 1 { "1 line".to_owned() } else { format!("{count} lines") }
}

fn check_environment(arguments: &Map<String, Value>) -> Result<(), NativeResult> {
    match arguments.get("env") {
        None | Some(Value::Null) => Ok(()),
        Some(Value::Object(variables)) => match variables.iter().find(|(_, value)| !value.is_string()) {
            Some((name, _)) => Err(NativeResult::error(format!("`env.{name}` must be a text"))),
            None => Ok(()),
        },
        Some(_) => Err(NativeResult::error("`env` must be an object of texts")),
    }
}

pub(super) async fn refresh_skills(_: &Map<String, Value>, ctx: &CallContext) -> Answer {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Report {
        ms: u128,
        added: usize,
        removed: usize,
        changed: usize,
        unchanged: usize,
        total: usize,
        only_compiled: usize,
        problems: Vec<String>,
    }
    let done = ctx.app.skills.refresh().await.map_err(|error| NativeResult::error(error.to_string()))?;
    if done.changes() {
        ctx.app.skills_changed();
    }
    let mut problems: Vec<String> = done.findings.iter().take(FINDINGS).map(ToString::to_string).collect();
    if done.findings.len() > FINDINGS {
        problems.push(format!("and {} more", done.findings.len() - FINDINGS));
    }
    let report = Report {
        ms: done.took.as_millis(),
        added: done.added,
        removed: done.removed,
        changed: done.changed,
        unchanged: done.unchanged,
        total: done.total,
        only_compiled: done.only_compiled,
        problems,
    };
    let mut text = format!(
        "Read the skills in {} ms: {} added, {} removed, {} changed, {} unchanged; {} in all.",
        report.ms, report.added, report.removed, report.changed, report.unchanged, report.total
    );
    if report.only_compiled > 0 {
        let _ = write!(text, "\n{} compiled in and not on disk; they stay.", report.only_compiled);
    }
    for problem in &report.problems {
        let _ = write!(text, "\n- {problem}");
    }
    Ok(NativeResult::ok(text, &report))
}

/// The skill that `skill_name` names exactly.
fn named<'s>(
    arguments: &Map<String, Value>,
    ctx: &CallContext,
    snapshot: &'s Arc<Snapshot>,
) -> Result<SkillRef<'s>, NativeResult> {
    let name = arguments::text(arguments, "skill_name")?;
    snapshot.find(name).and_then(|at| snapshot.get(at)).ok_or_else(|| {
        NativeResult::error(unknown_skill(name, &resolve::suggestions(&ctx.app.skills, snapshot, name, 3)))
    })
}

/// What is said of a name that no skill has.
pub(crate) fn unknown_skill(name: &str, suggestions: &[String]) -> String {
    let name = cut(name, 100);
    if suggestions.is_empty() {
        return format!("no skill is called `{name}`; search_skills lists what there is");
    }
    let list: Vec<String> = suggestions.iter().map(|name| format!("`{name}`")).collect();
    format!("no skill is called `{name}`; did you mean {}?", list.join(", "))
}
