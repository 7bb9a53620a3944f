//! The compilation itself: from the inputs to a model of the catalog and the list of problems.

use std::collections::BTreeSet;

use evokore_catalog::permission::Policy;
use evokore_catalog::server::{Boot, LockKind, OAuth, OnHostile, RateLimit, ServerSpec, ToolRule, Transport};
use evokore_catalog::skill::SkillEntry;

use crate::budgets;
use crate::config::{self, Config, DEFAULT, Profile, Server};
use crate::hostile;
use crate::inputs::{Inputs, PERMISSIONS};
use crate::json::Spanned;
use crate::leak::{leak, leak_all};
use crate::lock::{self, Lock};
use crate::names::Names;
use crate::native_tools;
use crate::permissions::{self, Permissions};
use crate::problem::{Problem, Severity, did_you_mean, sort};
use crate::profiles::{self, Projection};
use crate::search_index;
use crate::skill_graph::Graph;
use crate::skills;
use crate::source::{Source, hex_sha256};
use crate::tokens::{Counter, Encoding};
use crate::tools::{self, Tool};

/// How many servers boot at the same time unless the configuration says otherwise: enough that a few slow ones hold
/// nobody up, and not so many that a laptop stalls.
const MAX_CONCURRENT_BOOTS: u32 = 8;

/// Everything the build decided, on its way into the binary and into `generated/`.
#[derive(Debug)]
pub struct Model {
    /// Tools in catalog order.
    pub tools: Vec<Tool>,
    /// How many of them are native.
    pub natives: usize,
    /// `default`, then the others sorted by name.
    pub profiles: Vec<Projection>,
    /// `discovery.activeProfile`.
    pub active_profile: Option<&'static str>,
    /// `discovery.clientsThatListOnce`.
    pub clients_that_list_once: Vec<&'static str>,
    /// Child servers in configured order.
    pub servers: Vec<ServerSpec>,
    /// How many of them boot at the same time.
    pub max_concurrent_boots: u32,
    /// Skills sorted by category and name.
    pub skills: &'static [SkillEntry],
    /// Which skill leads to which.
    pub skill_graph: Graph,
    /// The policy.
    pub policy: Policy,
    /// SHA-256 over what it decides.
    pub policy_sha256: String,
    /// The folder of the locks, as the paths of `inputs` have it.
    pub locks_folder: &'static str,
    /// Search segment over the tools.
    pub tool_index: Vec<u8>,
    /// Search segment over the skills.
    pub skill_index: Vec<u8>,
    /// The encoding of the catalog's counts.
    pub encoding: Encoding,
    /// Every input and its digest, sorted by path.
    pub inputs: Vec<(String, String)>,
    /// SHA-256 over `inputs` and the choice of profiles.
    pub inputs_sha256: String,
    /// The profiles that were asked for, or `all`.
    pub profile_set: String,
    /// What was counted.
    pub counter: Counter,
}

/// The outcome of a compilation.
#[derive(Debug)]
pub struct Compilation {
    /// The model; when there are errors, what could be made of the rest.
    pub model: Model,
    /// Errors before notes, each by file and place.
    pub problems: Vec<Problem>,
}

impl Compilation {
    /// Whether a problem stops the build.
    pub fn has_errors(&self) -> bool {
        self.problems.iter().any(|problem| problem.severity == Severity::Error)
    }
}

/// Which counts a compilation makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counting {
    /// In the configured encoding, believing the inputs' known counts: what a build needs.
    Configured,
    /// In both encodings, all anew: what `generated/` needs.
    Everything,
}

/// Compiles `inputs`.
pub fn compile(inputs: &Inputs, counting: Counting) -> Compilation {
    let mut problems = inputs.problems.clone();
    let config = inputs.config.as_ref().map(|source| config::read(source, &mut problems)).unwrap_or_default();
    let natives = native_tools::read(&inputs.native, &mut problems);
    let locks = lock::read(&inputs.locks, &mut problems);
    let encoding = config.discovery.tokenizer;
    let mut counter = match counting {
        Counting::Configured => Counter::new(&[encoding], inputs.known_counts.clone()),
        Counting::Everything => Counter::new(&Encoding::ALL, Default::default()),
    };
    let broken = problems.iter().any(|problem| problem.severity == Severity::Error);
    let mut names = Names::new(&natives, &config.servers, &locks, broken);
    let list_output = config.discovery.list_output_schemas;
    let mut tools = tools::build(&natives, &config.servers, &locks, &names, list_output, &mut counter, &mut problems);
    hostile::mark_dangerous(&config, &locks, &mut tools, &mut problems);
    hostile::tell_shadows(&natives, &locks, &mut problems);
    let mut count = |path: &str, text: &str| counter.count(&format!("skill\t{path}\tbody"), text).of(encoding);
    let skills = skills::compile(&inputs.skills_dir, &mut count, &mut problems);
    if !broken {
        check_servers(inputs, &config, &locks, &mut problems);
    }
    let policy = policy(inputs.permissions.as_ref(), &mut names, &mut problems).compile();
    tools::advertise(&mut tools, &policy, &mut counter);
    let profiles = all_profiles(inputs, &config, &tools, skills.entries, &mut names, &mut counter, &mut problems);
    let active_profile = active_profile(inputs, &config, &mut problems);
    note_unchecked(&names, &mut problems);
    let tool_index = search_index::over_tools(&tools, &mut problems);
    sort(&mut problems);
    let mut digests = inputs.digests();
    digests.extend(skills.digests.iter().cloned());
    let digests: Vec<(String, String)> = digests.into_iter().collect();
    let profile_set = inputs.profile_set.as_ref().map_or_else(|| "all".to_owned(), |set| set.join(","));
    let model = Model {
        natives: natives.len(),
        profiles,
        active_profile,
        clients_that_list_once: config.discovery.clients_that_list_once.iter().map(|name| leak(&name.value)).collect(),
        servers: config.servers.iter().map(|server| spec(server, &config.guard, &locks)).collect(),
        max_concurrent_boots: config.max_concurrent_boots.unwrap_or(MAX_CONCURRENT_BOOTS),
        skills: skills.entries,
        skill_graph: skills.graph,
        policy_sha256: permissions::digest(&policy),
        policy,
        locks_folder: inputs.locks_folder,
        tool_index,
        skill_index: skills.index,
        tools,
        encoding,
        inputs_sha256: digest_of(&digests, &profile_set),
        inputs: digests,
        profile_set,
        counter,
    };
    Compilation { model, problems }
}

fn digest_of(inputs: &[(String, String)], profile_set: &str) -> String {
    let mut text = format!("profiles {profile_set}\n");
    for (path, digest) in inputs {
        text.push_str(&format!("{digest}  {path}\n"));
    }
    hex_sha256(text.as_bytes())
}

/// A server as the catalog holds it.
fn spec(server: &Server, guard: &config::Guard, locks: &[Lock]) -> ServerSpec {
    let pairs = |list: &[(String, String)]| leak_all(list.iter().map(|(key, value)| (leak(key), leak(value))));
    let texts = |list: &[String]| leak_all(list.iter().map(|text| leak(text)));
    let transport = match &server.transport {
        config::Transport::Stdio { command, args, env, cwd } => Transport::Stdio {
            command: leak(command),
            args: texts(args),
            env: pairs(env),
            cwd: cwd.as_deref().map(leak),
        },
        config::Transport::Http { url, headers, dialect } => {
            Transport::Http { url: leak(url), headers: pairs(headers), dialect: *dialect }
        }
    };
    let rule =
        |rule: &config::ToolRule| ToolRule { name: leak(&rule.name.value), max_result_tokens: rule.max_result_tokens };
    ServerSpec {
        id: leak(&server.id.value),
        transport,
        disabled: server.disabled,
        optional: server.optional,
        boot: server.boot.value,
        limits: server.limits,
        max_result_bytes: server.max_result_bytes,
        max_result_tokens: server.max_result_tokens,
        tools: leak_all(server.tools.iter().map(rule)),
        inherit_env: texts(&server.inherit_env),
        env_file: server.env_file.as_deref().map(leak),
        oauth: OAuth {
            client_id: server.oauth.client_id.as_deref().map(leak),
            client_secret: server.oauth.client_secret.as_deref().map(leak),
            scopes: texts(&server.oauth.scopes),
            redirect_port: server.oauth.redirect_port,
        },
        rate_limit: server.rate_limit.as_ref().map(|limit| RateLimit {
            server: limit.server,
            tools: leak_all(limit.tools.iter().map(|(tool, rate)| (leak(&tool.value), *rate))),
        }),
        lock: lock_of(server, locks),
        on_drift: [&server.guard, guard]
            .iter()
            .find_map(|it| it.on_drift.as_ref())
            .map(|it| it.value)
            .unwrap_or_default(),
        on_hostile: on_hostile(server, guard),
        description: leak(&server.description),
    }
}

/// What becomes of dangerous tools of `server`; `guard` is what holds where its entry says nothing.
pub(crate) fn on_hostile(server: &Server, guard: &config::Guard) -> OnHostile {
    server.guard.on_hostile.or(guard.on_hostile).unwrap_or_default()
}

fn lock_of(server: &Server, locks: &[Lock]) -> LockKind {
    locks.iter().find(|lock| lock.server == server.id.value).map_or(LockKind::None, |lock| lock.kind)
}

/// Checks what concerns servers and locks together.
fn check_servers(inputs: &Inputs, config: &Config, locks: &[Lock], problems: &mut Vec<Problem>) {
    let Some(source) = &inputs.config else { return };
    for server in &config.servers {
        if server.boot.value == Boot::Lazy && lock_of(server, locks) != LockKind::Full {
            problems.push(
                Problem::error(format!("server `{}` starts lazily but has no full lock", server.id.value))
                    .at(source, server.boot.range.clone())
                    .hint("lock its tools, so that they can be listed before it has started, or write `\"boot\": \"eager\"`"),
            );
        }
    }
    for server in config.servers.iter().filter(|server| lock_of(server, locks) == LockKind::None) {
        if let Some(on_drift) = &server.guard.on_drift {
            let id = &server.id.value;
            problems.push(
                Problem::note(format!("server `{id}` has `lock.onDrift`, but no lock to hold its tools against"))
                    .at(source, on_drift.range.clone())
                    .hint(format!("run `evokore lock {id}`, and build anew")),
            );
        }
    }
    for server in &config.servers {
        let Some(lock) = locks.iter().find(|lock| lock.server == server.id.value) else { continue };
        let rated: Vec<_> = server.rate_limit.iter().flat_map(|limit| &limit.tools).map(|(tool, _)| tool).collect();
        let ruled: Vec<_> = server.tools.iter().map(|rule| &rule.name).collect();
        for (key, limited) in [("toolLimits", rated), ("tools", ruled)] {
            check_limited_tools(source, server, key, &limited, lock, problems);
        }
    }
    for lock in locks {
        if !config.servers.iter().any(|server| server.id.value == lock.server) {
            problems.push(
                Problem::note(format!("the lock of `{}` belongs to no configured server", lock.server))
                    .in_file(&lock.path)
                    .hint("delete the file, or configure the server"),
            );
        }
    }
}

/// Checks that the tools with limits of their own, below `key`, are tools of their server.
fn check_limited_tools(
    source: &Source,
    server: &Server,
    key: &str,
    limited: &[&Spanned<String>],
    lock: &Lock,
    problems: &mut Vec<Problem>,
) {
    let id = &server.id.value;
    let known = || lock.tools.iter().map(|tool| tool.name.as_str());
    for tool in limited {
        if known().any(|name| name == tool.value) {
            continue;
        }
        let own = tool.value.strip_prefix(id.as_str()).and_then(|rest| rest.strip_prefix('_'));
        let hint = match own.filter(|own| known().any(|name| name == *own)) {
            Some(own) => format!("limits are given by the server's own names: write `{own}`"),
            None => did_you_mean(&tool.value, known())
                .unwrap_or_else(|| "make the lock anew if the server has changed".to_owned()),
        };
        problems.push(
            Problem::error(format!("`{key}` of server `{id}` limits `{}`, which its lock does not know", tool.value))
                .at(source, tool.range.clone())
                .hint(hint),
        );
    }
}

/// The built-in profile, then those of the configuration that were asked for, sorted by name.
fn all_profiles(
    inputs: &Inputs,
    config: &Config,
    tools: &[Tool],
    skills: &[SkillEntry],
    names: &mut Names,
    counter: &mut Counter,
    problems: &mut Vec<Problem>,
) -> Vec<Projection> {
    let encoding = config.discovery.tokenizer;
    let is_default = |profile: &&Profile| profile.name.value == DEFAULT;
    let built_in = profiles::built_in();
    let mut wanted: Vec<&Profile> = config.discovery.profiles.iter().filter(|profile| !is_default(profile)).collect();
    if let Some(set) = &inputs.profile_set {
        check_profile_set(set, config, problems);
        wanted.retain(|profile| set.contains(&profile.name.value));
    }
    wanted.sort_by(|a, b| a.name.value.cmp(&b.name.value));
    wanted.insert(0, config.discovery.profiles.iter().find(is_default).unwrap_or(&built_in));
    let mut all = Vec::new();
    for profile in wanted {
        let projection = profiles::compile(profile, tools, counter, encoding);
        if let Some(source) = &inputs.config {
            profiles::check_names(source, profile, names, problems);
            budgets::check(source, profile, &projection, tools, encoding, problems);
            profiles::check_skills(source, profile, &projection.entry, skills, problems);
        }
        all.push(projection);
    }
    all
}

fn check_profile_set(set: &[String], config: &Config, problems: &mut Vec<Problem>) {
    let known: BTreeSet<&str> = config.discovery.profiles.iter().map(|profile| profile.name.value.as_str()).collect();
    for name in set.iter().filter(|name| *name != DEFAULT && !known.contains(name.as_str())) {
        let list = known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let hint = did_you_mean(name, known.iter().copied()).unwrap_or(format!("known profiles: {list}"));
        problems.push(Problem::error(format!("`EVOKORE_PROFILE_SET` names the unknown profile `{name}`")).hint(hint));
    }
}

fn active_profile(inputs: &Inputs, config: &Config, problems: &mut Vec<Problem>) -> Option<&'static str> {
    let (Some(source), Some(active)) = (&inputs.config, &config.discovery.active_profile) else { return None };
    let profiles = config.discovery.profiles.iter().map(|profile| profile.name.value.as_str());
    let known: BTreeSet<&str> = profiles.chain([DEFAULT]).collect();
    let mut refuse = |message: String, hint: String| {
        problems.push(Problem::error(message).at(source, active.range.clone()).hint(hint));
        None
    };
    if !known.contains(active.value.as_str()) {
        let list = known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let hint = did_you_mean(&active.value, known.iter().copied()).unwrap_or(format!("known profiles: {list}"));
        return refuse(format!("the active profile `{}` is not defined", active.value), hint);
    }
    match &inputs.profile_set {
        Some(set) if active.value != DEFAULT && !set.contains(&active.value) => refuse(
            format!("the active profile `{}` is left out by `EVOKORE_PROFILE_SET`", active.value),
            format!("add `{}` to the set, or make another profile active", active.value),
        ),
        _ => Some(leak(&active.value)),
    }
}

fn policy(source: Option<&Source>, names: &mut Names, problems: &mut Vec<Problem>) -> Permissions {
    let Some(source) = source else { return Permissions::default() };
    debug_assert_eq!(source.path, PERMISSIONS);
    permissions::read(source, names, problems)
}

/// Says once a server which names could not be checked.
fn note_unchecked(names: &Names, problems: &mut Vec<Problem>) {
    for (id, unchecked) in &names.unchecked {
        let first = unchecked.first().map_or("", String::as_str);
        problems.push(
            Problem::note(format!(
                "server `{id}` has no lock, so {} of its tool names cannot be checked, among them `{first}`",
                unchecked.len()
            ))
            .hint(format!("record its tools: evokore lock {id}")),
        );
    }
}
