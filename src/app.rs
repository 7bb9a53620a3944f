//! What one process shares between its sessions: settings, the merged catalog, child servers, skills.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use bytes::Bytes;
use evokore_catalog::lock::diff::Change;
use evokore_catalog::lock::drift::Drift;
use evokore_catalog::permission::Access;
use evokore_catalog::server::OnDrift;
use tokio::sync::SetOnce;

use crate::audit::{self, Audit, Event, Kind};
use crate::calls::approval::Approvals;
use crate::calls::cooldown::Cooldowns;
use crate::calls::park::Park;
use crate::calls::rate_limit::RateLimits;
use crate::calls::state::States;
use crate::catalog::CATALOG;
use crate::child::{
    ChildEntry, ChildSink, ChildStatus, ChildTool, Children, Client, DriftStatus, Life, SkippedTool, Taken,
};
use crate::listing::drift::{self, Report};
use crate::listing::live;
use crate::listing::merged::Merged;
use crate::listing::projection::{self, Revealed};
use crate::offers::{self, Offered, Shelf};
use crate::resources;
use crate::results::Results;
use crate::session::{Notify, Session, When};
use crate::settings::Settings;
use crate::skills::Library;
use crate::state::approvals::Requests;
use crate::state::grants::Records;
use crate::tasks::Known;

/// One per process.
pub struct App {
    /// What the environment decided at start.
    pub settings: Settings,
    /// Who called what, and what came of it.
    pub audit: Audit,
    /// Calls that wait for a person.
    pub approvals: Approvals,
    /// What clients keep between two rounds of a call.
    pub states: States,
    /// Calls that go on when their client comes back.
    pub park: Park,
    /// How often child servers may be called.
    pub rate_limits: RateLimits,
    /// Tasks that the client has been told of.
    pub tasks: Arc<Known>,
    /// Large results that can be read on.
    pub results: Results,
    /// Calls without a session that are refused for a while.
    pub cooldowns: Cooldowns,
    /// Compiled skills, with what `refresh_skills` found on disk.
    pub skills: Library,
    merged: Mutex<Arc<Merged>>,
    offered: Mutex<Arc<Offered>>,
    children: SetOnce<Children>,
    sessions: Mutex<Vec<Weak<Session>>>,
    modern: OnceLock<Arc<dyn Notify>>,
    client: OnceLock<Arc<dyn Client>>,
}

impl App {
    /// The state of a process that has just started; no child runs yet.
    pub fn new(settings: Settings, skills: Library) -> Arc<App> {
        let home = settings.home.as_deref();
        let requests = Requests::at(home.map(Requests::folder));
        let records = Records::at(home.map(Records::folder));
        let audit = Audit::new(&settings);
        Arc::new(App {
            settings,
            approvals: Approvals::new(requests, records, audit.clone(), CATALOG.policy.approvals),
            audit,
            states: States::default(),
            park: Park::default(),
            rate_limits: RateLimits::new(CATALOG.servers),
            tasks: Arc::default(),
            results: Results::default(),
            cooldowns: Cooldowns::default(),
            skills,
            merged: Mutex::default(),
            offered: Mutex::default(),
            children: SetOnce::new(),
            sessions: Mutex::default(),
            modern: OnceLock::new(),
            client: OnceLock::new(),
        })
    }

    /// The merged catalog of this moment.
    pub fn merged(&self) -> Arc<Merged> {
        lock(&self.merged).clone()
    }

    /// The child servers. Before [`App::set_children`] there are none.
    pub fn children(&self) -> Children {
        self.children.get().cloned().unwrap_or_else(Children::none)
    }

    /// The child servers, once they are started. The server starts them soon after its first answer.
    pub async fn started_children(&self) -> Children {
        self.children.wait().await.clone()
    }

    /// What children offer besides tools at this moment.
    pub fn offered(&self) -> Arc<Offered> {
        lock(&self.offered).clone()
    }

    /// What every configured server is doing, in configured order, whether they have been started or not.
    pub fn server_status(&self) -> Vec<ChildStatus> {
        let mut status: Vec<ChildStatus> = match self.children.get() {
            Some(children) => children.status(),
            None => CATALOG.servers.iter().map(ChildStatus::before_start).collect(),
        };
        let sessions: Vec<_> = lock(&self.sessions).iter().filter_map(Weak::upgrade).collect();
        let merged = self.merged();
        for (server, status) in (0u16..).zip(&mut status) {
            if let Some(live) = merged.live(server) {
                let Report { differences, findings } = &live.report;
                let on_drift = self.settings.guard(server).on_drift;
                status.drift = Some(DriftStatus::of(on_drift, differences)).filter(|it| !it.tools.is_empty());
                status.findings.clone_from(findings);
            }
            let mut resting = self.cooldowns.of(server);
            sessions.iter().for_each(|session| resting.add(session.cooldowns().of(server)));
            status.cooling_calls = resting.count;
            status.cooldown_reason = resting.latest.map(|(_, reason)| reason.into());
        }
        status
    }

    /// Hands over the child servers, once.
    pub fn set_children(&self, children: Children) {
        // A second hand-over would be a defect of the caller; the first children stay.
        let _ = self.children.set(children);
    }

    /// Registers a handshake-era session for changes.
    pub fn add_session(&self, session: &Arc<Session>) {
        let mut sessions = lock(&self.sessions);
        sessions.retain(|known| known.strong_count() > 0);
        sessions.push(Arc::downgrade(session));
    }

    /// Registers the way to the subscribers of the modern era, once.
    pub fn set_modern(&self, notify: Arc<dyn Notify>) {
        let _ = self.modern.set(notify);
    }

    /// Registers the client that children may ask outside of any call, once.
    pub fn set_client(&self, client: Arc<dyn Client>) {
        let _ = self.client.set(client);
    }

    /// The skills changed: tells everyone.
    pub fn skills_changed(&self) {
        self.tell(|client| client.resources_changed());
        self.updated(resources::CATEGORIES);
        for skill in self.skills.snapshot().iter() {
            self.updated(skill.uri());
        }
    }

    /// The contents of a resource changed: tells those who watch this address.
    fn updated(&self, address: &str) {
        for session in self.sessions().iter().filter(|session| session.watches(address)) {
            session.client().resource_updated(address);
        }
        if let Some(modern) = self.modern.get() {
            modern.resource_updated(address);
        }
    }

    /// Tells every client.
    fn tell(&self, news: impl Fn(&dyn Notify)) {
        self.sessions().iter().for_each(|session| news(session.client()));
        if let Some(modern) = self.modern.get() {
            news(&**modern);
        }
    }

    fn sessions(&self) -> Vec<Arc<Session>> {
        lock(&self.sessions).iter().filter_map(Weak::upgrade).collect()
    }

    /// Swaps in what `change` makes of a server's shelf, and tells everyone of the lists that it changes.
    fn reshelve(&self, server: u16, change: impl FnOnce(&mut Shelf)) {
        let (old, new) = {
            let mut offered = lock(&self.offered);
            let old = offered.shelf(server);
            let mut new = old.clone();
            change(&mut new);
            *offered = Arc::new(offered.with(server, new.clone()));
            (old, new)
        };
        let seen = |shelf: &Shelf| if shelf.is_open { shelf.clone() } else { Shelf::default() };
        let (old, new) = (seen(&old), seen(&new));
        if old.resources != new.resources || old.templates != new.templates {
            self.tell(|client| client.resources_changed());
        }
        if old.prompts != new.prompts {
            self.tell(|client| client.prompts_changed());
        }
    }

    /// Notes what is not as the lock of `server` says.
    fn note_drift(&self, server: u16, report: &Report, on_drift: OnDrift) {
        let Some(id) = self.server_id(server).filter(|_| self.audit.is_on() && !report.differences.is_empty()) else {
            return;
        };
        let kinds = |change: &Change| match change {
            Change::Changed { .. } => "changed",
            Change::Added => "new",
            Change::Removed => "gone",
            Change::Renamed { .. } => "renamed",
        };
        let count = |kind| report.differences.iter().filter(|it| kinds(&it.change) == kind).count();
        let counts: Vec<String> = ["changed", "new", "gone", "renamed"]
            .into_iter()
            .map(|kind| (kind, count(kind)))
            .filter(|(_, count)| *count > 0)
            .map(|(kind, count)| format!("{count} {kind}"))
            .collect();
        let reason = format!("{}; {}", counts.join(", "), becomes(on_drift));
        let tools = report.differences.iter().map(|it| live::exposed_name(id, &it.name)).collect();
        let event = Event::new(Kind::Drift, audit::Outcome::Failure).because(&reason);
        self.audit.record(Event { server: Some(id), tools, ..event });
    }

    fn server_id(&self, server: u16) -> Option<&'static str> {
        CATALOG.servers.get(usize::from(server)).map(|spec| spec.id)
    }

    /// Swaps in the tools of one server (`None`: it is not up) and tells each client whose list changes by it.
    fn swap(&self, server: u16, live: Option<Arc<crate::listing::merged::LiveServer>>) {
        let (old, new) = {
            let mut merged = lock(&self.merged);
            let new = Arc::new(merged.with(server, live));
            (std::mem::replace(&mut *merged, new.clone()), new)
        };
        for session in self.sessions() {
            if projection::differs(&self.settings, &old, &new, server, &session.revealed()) {
                session.tools_changed(When::Debounced);
            }
        }
        if let Some(modern) =
            self.modern.get().filter(|_| projection::differs(&self.settings, &old, &new, server, &Revealed::NONE))
        {
            modern.tools_changed(When::Debounced);
        }
        self.updated(resources::STATUS);
    }
}

impl ChildSink for App {
    fn tools(&self, server: u16, tools: Vec<ChildTool>) -> Taken {
        let judgement = drift::judge(server, &tools, &self.merged());
        let (mut live, mut taken) = live::render(server, &tools, judgement);
        live::advertise(&self.settings, server, &mut live);
        let guard = self.settings.guard(server);
        for tool in live.tools.iter().filter(|tool| guard.access(tool.drift, tool.is_dangerous) == Access::Deny) {
            let why = if tool.drift == Drift::None { "it has hostile content" } else { "it is not what was locked" };
            let name = tool.original.to_string();
            taken.skipped.push(SkippedTool { name, reason: format!("withheld, because {why}") });
        }
        taken.told = live.report.lines(tools.len(), becomes(guard.on_drift));
        self.note_drift(server, &live.report, guard.on_drift);
        self.swap(server, Some(Arc::new(live)));
        let is_open = offers::is_open(&self.settings, &self.merged(), server);
        if self.offered().shelf(server).is_open != is_open {
            self.reshelve(server, |shelf| shelf.is_open = is_open);
        }
        taken
    }

    fn gone(&self, server: u16) {
        self.swap(server, None);
    }

    fn life(&self, server: u16, what: Life<'_>) {
        let (kind, outcome, reason, count) = match what {
            Life::Started(restarts) => (Kind::ChildStart, audit::Outcome::Success, None, Some(restarts.into())),
            Life::Stopped => (Kind::ChildEnd, audit::Outcome::Success, Some("evokore ends"), None),
            Life::Asleep => (Kind::ChildEnd, audit::Outcome::Success, Some("nobody called it for a while"), None),
            Life::Unstarted(reason) | Life::Ended(reason) => {
                (Kind::ChildEnd, audit::Outcome::Failure, Some(reason), None)
            }
        };
        let event = Event { server: self.server_id(server), count, ..Event::new(kind, outcome) };
        self.audit.record(match reason {
            Some(reason) => event.because(reason),
            None => event,
        });
    }

    fn client(&self) -> Option<Arc<dyn Client>> {
        self.client.get().cloned()
    }

    fn resources(&self, server: u16, resources: Vec<ChildEntry>, templates: Vec<ChildEntry>) -> Taken {
        let mut notes = Vec::new();
        let resources = offers::resources(server, "uri", &resources, &mut notes);
        let templates = offers::resources(server, "uriTemplate", &templates, &mut notes);
        self.reshelve(server, |shelf| (shelf.resources, shelf.templates) = (resources, templates));
        Taken { notes, ..Taken::default() }
    }

    fn prompts(&self, server: u16, prompts: Vec<ChildEntry>) -> Taken {
        let mut notes = Vec::new();
        let prompts = offers::prompts(server, &prompts, &mut notes);
        self.reshelve(server, |shelf| shelf.prompts = prompts);
        Taken { notes, ..Taken::default() }
    }

    fn updated(&self, server: u16, uri: &str) {
        if let Some(spec) = CATALOG.servers.get(usize::from(server)).filter(|_| self.offered().shelf(server).is_open) {
            App::updated(self, &offers::exposed(spec.id, uri));
            App::updated(self, uri);
        }
    }

    fn task(&self, id: String, params: Bytes) {
        let Some(client) = ChildSink::client(self) else { return };
        let known = self.tasks.clone();
        // In turn: whoever waits for an answer that came before this one has been woken before, and sends it before.
        tokio::spawn(async move {
            if known.has(&id) {
                client.tell("notifications/tasks/status", Some(&params));
            }
        });
    }
}

/// What becomes of tools that are not what was locked.
fn becomes(on_drift: OnDrift) -> &'static str {
    match on_drift {
        OnDrift::Warn => "they are served as they are, since `lock.onDrift` is `warn`",
        OnDrift::Approve => "changed and new ones need approval until they are locked anew",
        OnDrift::Block => "changed and new ones are withheld until they are locked anew",
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code that could panic runs under these locks, so a poisoned one still holds a consistent value.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::calls::CallContext;
    use crate::calls::outcome::Outcome;
    use crate::catalog::NativeTool;
    use crate::child::Status;
    use crate::{native, resources};

    fn ids(servers: &Value) -> Vec<&str> {
        let servers = servers.as_array().expect("a list of servers");
        servers.iter().map(|server| server["id"].as_str().expect("an id")).collect()
    }

    #[tokio::test]
    async fn every_server_is_accounted_for_before_any_is_started() {
        let (settings, _) = Settings::resolve(&CATALOG, &|_| None).expect("the defaults");
        let app = App::new(settings, Library::default());
        let mut configured: Vec<&str> = CATALOG.servers.iter().map(|spec| spec.id).collect();
        assert!(!configured.is_empty());

        let document = resources::read(&app, "evokore://server/status").expect("it is listed");
        let text = document["contents"][0]["text"].as_str().expect("a text");
        let overview: Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(ids(&overview["childServers"]), configured);

        let ctx = CallContext::alone(app);
        let answer = native::call(NativeTool::ProxyServerStatus, &Map::new(), &ctx).await.into_outcome();
        let Outcome::Result(bytes) = answer else { panic!("{answer:?}") };
        let answer: Value = serde_json::from_slice(&bytes).expect("JSON");
        let status = &answer["structuredContent"];
        configured.sort_unstable();
        assert_eq!((ids(&status["servers"]), &status["totalServers"]), (configured, &json!(CATALOG.servers.len())));

        let about_to_start = CATALOG.servers.iter().filter(|spec| !spec.disabled).count();
        let told = ctx.app.server_status();
        let booting = told.iter().filter(|server| server.status == Status::Booting && server.reason.is_none());
        assert_eq!(booting.count(), about_to_start, "every enabled server of this repository is eager");
    }
}
