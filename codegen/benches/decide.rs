//! What one decision about a tool costs, with 5,000 tools, 20 roles and all modes compiled: policies of names, patterns
//! and hint rules, read, checked and judged as a build does it, and the rows of its tools as the catalog has them.
//!
//! The baseline is the look-up of a tool's name in a `HashMap`, of the same names in the same order. `cargo bench -p
//! evokore-codegen --bench decide` prints the figures, `-- --check` also fails beyond the target, `-- --quick` takes
//! fewer samples.

#![allow(clippy::print_stdout, clippy::allow_attributes, reason = "figures are for stdout")]

use std::collections::HashMap;
use std::error::Error;
use std::fmt::Write as _;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

use evokore_catalog::permission::{Access, Accesses, Mode, Role, decide};
use evokore_codegen::inputs::{Inputs, Roots};
use evokore_codegen::model::{Counting, Model, compile};
use evokore_codegen::source::Source;

const SERVERS: usize = 50;
const TOOLS_EACH: usize = 100;
const ROLES: usize = 20;
/// Most nanoseconds of one decision.
const TARGET: f64 = 100.0;
/// Decisions in one sample.
const DECISIONS: usize = 100_000;

fn main() -> Result<(), Box<dyn Error>> {
    let has = |flag: &str| std::env::args().any(|argument| argument == flag);
    let model = compiled()?;
    let rows: Vec<&Accesses> = model
        .tools
        .iter()
        .map(|tool| &*model.policy.accesses(tool.name, tool.annotations, tool.informs()).leak())
        .collect();
    let by_name: HashMap<&str, usize> = model.tools.iter().enumerate().map(|(at, tool)| (tool.name, at)).collect();
    let questions = questions(&model);

    let (mut lookups, mut decisions, mut both) = (Best::default(), Best::default(), Best::default());
    for _ in 0..if has("--quick") { 10 } else { 200 } {
        lookups.sample(|| questions.iter().filter_map(|it| by_name.get(black_box(it.name))).sum());
        decisions.sample(|| {
            let of = |it: &Question| decide(rows[it.tool], black_box(it.role), black_box(it.mode), Access::Allow);
            questions.iter().map(|it| of(it) as usize).sum()
        });
        both.sample(|| {
            let of = |it: &Question| {
                let tool = by_name.get(black_box(it.name))?;
                Some(decide(rows[*tool], black_box(it.role), black_box(it.mode), Access::Allow) as usize)
            };
            questions.iter().filter_map(of).sum()
        });
    }
    let (tools, roles, modes) = (model.tools.len(), model.policy.roles.len(), model.policy.modes.len());
    println!("{tools} tools, {roles} roles, {modes} modes; nanoseconds, best of the samples");
    for (what, best) in
        [("look-up of the name (baseline)", &lookups), ("decision", &decisions), ("look-up and decision", &both)]
    {
        println!("{what:32} {:7.2}  {:5.2} x", best.nanoseconds, best.nanoseconds / lookups.nanoseconds);
    }
    let met = decisions.nanoseconds < TARGET;
    println!("target: a decision below {TARGET} ns: {}", if met { "met" } else { "not met" });
    if has("--check") && !met { Err("beyond the target".into()) } else { Ok(()) }
}

/// One question, of a tool, a role and a mode.
struct Question {
    tool: usize,
    name: &'static str,
    role: Option<&'static Role>,
    mode: Option<&'static Mode>,
}

/// Questions about all tools in an order that no cache foresees, and the same in each run.
fn questions(model: &Model) -> Vec<Question> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut below = |end: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap_or(0) % end
    };
    let question = |_| {
        let tool = below(model.tools.len());
        let role = model.policy.roles.get(below(ROLES + 1));
        Question { tool, name: model.tools[tool].name, role, mode: model.policy.modes.get(below(6)) }
    };
    (0..DECISIONS).map(question).collect()
}

/// The quietest sample.
struct Best {
    nanoseconds: f64,
}

impl Default for Best {
    fn default() -> Best {
        Best { nanoseconds: f64::INFINITY }
    }
}

impl Best {
    fn sample(&mut self, work: impl FnOnce() -> usize) {
        let start = Instant::now();
        black_box(work());
        let nanoseconds = start.elapsed().as_secs_f64() * 1e9 / DECISIONS as f64;
        self.nanoseconds = self.nanoseconds.min(nanoseconds);
    }
}

/// The model of a configuration of that size.
fn compiled() -> Result<Model, Box<dyn Error>> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("the repository")?;
    let source = |path: &str, text: &str| {
        Source::from_bytes(path, text.as_bytes()).map_err(|at| format!("{path}: no UTF-8 at {at}"))
    };
    let servers: Vec<String> =
        (0..SERVERS).map(|server| format!("\"s{server}\": {{ \"command\": \"none\" }}")).collect();
    let locks = (0..SERVERS).map(|server| source(&format!("locks/s{server}.json"), &lock(server)));
    let inputs = Inputs {
        config: Some(source("mcp.config.json", &format!("{{ \"servers\": {{ {} }} }}", servers.join(", ")))?),
        permissions: Some(source("permissions.yml", &policy())?),
        locks: locks.collect::<Result<_, _>>()?,
        skills_dir: PathBuf::from("/nowhere/SKILLS"),
        profile_set: None,
        ..Inputs::read(&Roots::new(repository, None, None))
    };
    let compilation = compile(&inputs, Counting::Configured);
    if compilation.has_errors() {
        compilation.problems.iter().for_each(|problem| println!("{problem}\n"));
        return Err("the configuration of the bench is wrong".into());
    }
    Ok(compilation.model)
}

const VERBS: [&str; 5] = ["get", "list", "create", "delete", "update"];

/// The digest lock of one server; of its tools each verb has hints of its own.
fn lock(server: usize) -> String {
    let tools: Vec<String> = (0..TOOLS_EACH)
        .map(|tool| {
            let verb = VERBS[tool % VERBS.len()];
            let (reads, destroys) = (matches!(verb, "get" | "list"), verb == "delete");
            let tokens = r#"{"full":100,"deferred":50,"visible":80,"found":20}"#;
            format!(
                "{{\"name\":\"{verb}_thing_{tool}\",\"sha256\":\"{tool:02x}\",\"annotations\":{{\"readOnlyHint\":{reads},\
                 \"destructiveHint\":{destroys},\"openWorldHint\":{}}},\"tokens\":{{\"cl100k_base\":{tokens},\"o200k_base\":{tokens}}}}}",
                tool % 2 == 0
            )
        })
        .collect();
    format!("{{\"lock\":1,\"kind\":\"digest\",\"server\":\"s{server}\",\"tools\":[{}]}}", tools.join(",\n"))
}

/// Flat rules and roles, each with names, patterns that overlap, and hints.
fn policy() -> String {
    let mut text = "rules:\n  \"*_delete_*\": deny\n  \"s1*[readOnlyHint]\": allow\nroles:\n".to_owned();
    for role in 0..ROLES {
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "  role{role}:\n    default_permission: {}\n    overrides:\n      \"s{role}_*\": allow\n      \
             \"*_create_*\": require_approval\n      \"*[destructiveHint]\": deny\n      \
             \"s2*_list_*[readOnlyHint, !openWorldHint]\": allow\n",
            if role % 2 == 0 { "deny" } else { "require_approval" }
        );
        for tool in (0..TOOLS_EACH).step_by(10) {
            let _ = writeln!(text, "      s{}_get_thing_{tool}: allow", (role * 7 + tool) % SERVERS);
        }
    }
    text
}
