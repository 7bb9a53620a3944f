//! The order of the gates, all at once: for each state of role and mode, consent, bucket, rest and child, and for both
//! eras, the first gate that is closed answers the call, and nothing has been spent by it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use evokore::app::App;
use evokore::calls::outcome::Outcome;
use evokore::calls::rate_limit::RateLimits;
use evokore::calls::{CallContext, CallRequest, Era, call};
use evokore::catalog::CATALOG;
use evokore::child::{ChildSettings, Children};
use evokore::session::{Notify, Session, When};
use evokore::settings::Settings;
use evokore::skills::Library;
use evokore::state::approvals::{Decision, Requests, decide};
use evokore_catalog::server::{Rate, RateLimit, ServerSpec, Transport};
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::Sandbox;

/// What the policy says, by role, mode and tool.
const ACCESSES: [(&str, &str, &str, Access); 6] = [
    ("admin", "dev", "fs_write_file", Access::Allow),
    ("developer", "dev", "fs_list_directory", Access::Allow),
    ("developer", "dev", "fs_write_file", Access::Ask),
    ("admin", "debug", "fs_write_file", Access::Ask),
    ("readonly", "dev", "fs_write_file", Access::Deny),
    ("admin", "research", "fs_write_file", Access::Deny),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Allow,
    Ask,
    Deny,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Consent {
    /// The call has no token.
    Missing,
    /// It has a token that nobody gave out.
    Foreign,
    /// Nobody has decided yet.
    Waiting,
    Denied,
    Approved,
}

const CONSENTS: [Consent; 5] =
    [Consent::Missing, Consent::Foreign, Consent::Waiting, Consent::Denied, Consent::Approved];

#[derive(Debug, Clone, Copy)]
struct Case {
    access: (&'static str, &'static str, &'static str, Access),
    consent: Consent,
    bucket_is_empty: bool,
    rests: bool,
    child_is_up: bool,
    era: Era,
}

impl Case {
    fn all() -> impl Iterator<Item = Case> {
        let flags = || [false, true].into_iter();
        ACCESSES.into_iter().flat_map(move |access| {
            CONSENTS.into_iter().flat_map(move |consent| {
                flags().flat_map(move |bucket_is_empty| {
                    flags().flat_map(move |rests| {
                        flags().flat_map(move |child_is_up| {
                            [Era::Handshake, Era::Modern].into_iter().map(move |era| Case {
                                access,
                                consent,
                                bucket_is_empty,
                                rests,
                                child_is_up,
                                era,
                            })
                        })
                    })
                })
            })
        })
    }

    /// What the first closed gate says, or the child.
    fn expected(&self) -> &'static str {
        let gates = [
            // As of any name that might be a tool of this server.
            (self.access.3 == Access::Deny && !self.child_is_up, "cannot be called now"),
            (self.access.3 == Access::Deny, "unknown tool"),
            // Nobody is asked about a call that would be refused all the same.
            (self.bucket_is_empty, "rate limit: server `fs`"),
            (self.rests, "[EVOKORE COOLDOWN] the reason"),
            (self.asks(Consent::Missing), "`fs_write_file` needs a person's approval"),
            (self.asks(Consent::Foreign), "that token is not valid for this call"),
            (self.asks(Consent::Waiting), "nobody has approved this call"),
            (self.asks(Consent::Denied), "the user has denied this call"),
            (!self.child_is_up, "child server `fs`"),
        ];
        gates.iter().find(|(is_closed, _)| *is_closed).map_or("here I am", |(_, said)| said)
    }

    fn asks(&self, consent: Consent) -> bool {
        self.access.3 == Access::Ask && self.consent == consent
    }

    fn reaches_the_child(&self) -> bool {
        ["here I am", "child server `fs`"].contains(&self.expected())
    }
}

/// A client that hears of nothing.
struct Deaf;

impl Notify for Deaf {
    fn tools_changed(&self, _: When) {}
    fn resources_changed(&self) {}
    fn prompts_changed(&self) {}
    fn resource_updated(&self, _: &str) {}
}

/// The index of server `fs`, and the configured servers with `change` made to it.
fn servers(change: impl Fn(ServerSpec) -> ServerSpec) -> (u16, &'static [ServerSpec]) {
    let fs = (0u16..).zip(CATALOG.servers).find(|(_, spec)| spec.id == "fs").unwrap().0;
    let changed = CATALOG.servers.iter().map(|spec| match spec.id {
        "fs" => change(*spec),
        _ => ServerSpec { disabled: true, ..*spec },
    });
    (fs, changed.collect::<Vec<_>>().leak())
}

fn app(home: &Path, role: &'static str, mode: &'static str) -> Arc<App> {
    let home = home.to_string_lossy().into_owned();
    let variable = |name: &str| match name {
        "EVOKORE_HOME" => Some(home.clone()),
        "EVOKORE_ROLE" => Some(role.to_owned()),
        "EVOKORE_STEERING_MODE" => Some(mode.to_owned()),
        _ => None,
    };
    App::new(Settings::resolve(&CATALOG, &variable).unwrap().0, Library::default())
}

fn start(program: &Path, home: &Path) -> (u16, Children) {
    let program: &'static str = program.to_str().unwrap().to_owned().leak();
    let transport = Transport::Stdio { command: program, args: &[], env: &[], cwd: None };
    let (fs, specs) = servers(|spec| ServerSpec { transport, ..spec });
    let variables = |name: &str| (name == "PATH").then(|| "/usr/bin:/bin".to_owned());
    let settings = ChildSettings::new(Arc::new(variables), Arc::new(|_| {}));
    (fs, Children::start(specs, settings, app(home, "admin", "dev")))
}

/// Where one case is played.
struct Stage {
    ctx: CallContext,
    fs: u16,
    tool: &'static str,
    requests: PathBuf,
}

impl Stage {
    fn set(case: &Case, home: &Path, fs: u16, children: &Children) -> Stage {
        let (role, mode, tool, _) = case.access;
        let mut app = app(home, role, mode);
        let one = Rate { burst: 1, refill: 1, interval_ms: 86_400_000 };
        let limit = RateLimit { server: Some(one), tools: &[] };
        let (_, limited) = servers(|spec| ServerSpec { rate_limit: Some(limit), ..spec });
        Arc::get_mut(&mut app).unwrap().rate_limits = RateLimits::new(limited);
        app.set_children(children.clone());
        let session = (case.era == Era::Handshake).then(|| Session::new(Arc::new(Deaf)));
        let (client, progress, cancelled) = (None, None, CancellationToken::new());
        let ctx = CallContext { app, session, era: case.era, client, progress, cancelled };
        Stage { ctx, fs, tool, requests: Requests::folder(home) }
    }

    /// Closes the gates behind the permission that are closed in `case`, once there is a token.
    fn close(&self, case: &Case) {
        let app = &self.ctx.app;
        if case.bucket_is_empty {
            app.rate_limits.take(self.fs, "any", None).unwrap().spend();
        }
        if case.rests {
            let cooldowns = self.ctx.session.as_ref().map_or(&app.cooldowns, |session| session.cooldowns());
            cooldowns.note(self.fs, self.tool, Some("{\"n\":1}"), "the reason", Duration::from_secs(3600));
        }
    }

    /// How many calls a person is asked about.
    fn asked(&self) -> usize {
        evokore::state::approvals::list(&self.requests).unwrap().len()
    }

    async fn call(&self, token: Option<&str>) -> String {
        let token = token.map_or_else(String::new, |token| format!(",\"_evokore_approval_token\":\"{token}\""));
        let arguments: Box<RawValue> = serde_json::from_str(&format!("{{\"n\":1{token}}}")).unwrap();
        let request =
            CallRequest { name: self.tool, arguments: Some(&arguments), others: None, meta: None, token: None };
        match call(&self.ctx, request).await {
            Outcome::Result(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
            Outcome::Error { message, .. } => message,
            Outcome::RawError(bytes) => panic!("{bytes:?}"),
        }
    }

    /// The token for `consent`, and the request that it belongs to.
    async fn token(&self, case: &Case) -> (Option<String>, Option<String>) {
        if case.consent == Consent::Missing {
            return (None, None);
        }
        if case.access.3 != Access::Ask || case.consent == Consent::Foreign {
            return (Some("00".repeat(16)), None);
        }
        let refusal = self.call(None).await;
        let after = |start: &str, end: char| {
            let (_, rest) = refusal.split_once(start).unwrap_or_else(|| panic!("{refusal}"));
            rest.split(end).next().unwrap().to_owned()
        };
        let (id, token) = (after("approvals approve ", '`'), after("_evokore_approval_token\\\": \\\"", '\\'));
        match case.consent {
            Consent::Approved => drop(decide(&self.requests, &id, Decision::Approved(None)).unwrap()),
            Consent::Denied => drop(decide(&self.requests, &id, Decision::Denied).unwrap()),
            Consent::Missing | Consent::Foreign | Consent::Waiting => {}
        }
        (Some(token), Some(id))
    }
}

#[tokio::test]
async fn the_first_closed_gate_answers_and_nothing_is_spent() {
    let sandbox = Sandbox::new("gates");
    let heard = sandbox.path("work/replay");
    let said = "\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"here I am\"}]}";
    sandbox.write("work/replay", format!("tools/call write_file\t{said}\ntools/call list_directory\t{said}\n"));
    let habit = format!("replay={}", heard.display());
    if !sandbox.play("bin/files", &[&habit, "tool=write_file", "tool=list_directory"]) {
        return;
    }
    let home = sandbox.path("home");
    let (fs, up) = start(&sandbox.path("bin/files"), &home);
    let (_, gone) = start(&sandbox.path("bin/no-such-program"), &home);
    up.ready(fs).await.unwrap();
    gone.ready(fs).await.unwrap_err();
    let calls = || std::fs::read_to_string(heard.with_extension("heard")).unwrap().matches("\"tools/call\"").count();
    let mut answered = 0;
    for case in Case::all() {
        let stage = Stage::set(&case, &home, fs, if case.child_is_up { &up } else { &gone });
        let (token, request) = stage.token(&case).await;
        stage.close(&case);
        let asked_before = stage.asked();
        let said = stage.call(token.as_deref()).await;
        assert!(said.contains(case.expected()), "{case:?}: {said}");
        let is_asked = case.expected().ends_with("approval") || case.expected().starts_with("that token");
        assert_eq!(stage.asked() > asked_before, is_asked, "who is bothered with it: {case:?}");
        answered += usize::from(said.contains("here I am"));
        assert_eq!(calls(), answered, "the child hears of no call that a gate refuses: {case:?}");

        let reaches = case.reaches_the_child();
        let left =
            request.map(|id| ["json", "decision"].map(|kind| stage.requests.join(format!("{id}.{kind}")).exists()));
        let (wrong, why) = match case.consent {
            Consent::Approved => ([reaches; 2], "a consent is spent with the call alone"),
            Consent::Waiting => ([false; 2], "the person can still decide"),
            Consent::Denied if said.contains("has denied") => ([true; 2], "a denial is final"),
            Consent::Denied => ([false; 2], "it is not heard yet"),
            // There was no request.
            Consent::Missing | Consent::Foreign => ([true; 2], "nothing is left"),
        };
        assert_ne!(left, Some(wrong), "{why}: {case:?}");
        if !case.bucket_is_empty {
            let caller = stage.ctx.session.as_ref().map(|session| session.id());
            let is_there = stage.ctx.app.rate_limits.take(fs, "any", caller).is_ok();
            assert_eq!(is_there, !reaches, "a token is spent with the call alone: {case:?}");
        }
    }
    assert_eq!(answered, Case::all().filter(|case| case.expected() == "here I am").count());
    assert!(answered > 20, "{answered}");
    up.shutdown().await;
    gone.shutdown().await;
}
