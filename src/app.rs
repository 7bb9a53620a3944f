//! What one process shares between its sessions: settings, the merged catalog, child servers, skills.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use crate::calls::approval::Approvals;
use crate::calls::cooldown::Cooldowns;
use crate::calls::rate_limit::RateLimits;
use crate::catalog::CATALOG;
use crate::child::{ChildSink, ChildStatus, ChildTool, Children, Client, Taken};
use crate::listing::live;
use crate::listing::merged::Merged;
use crate::listing::projection;
use crate::results::Results;
use crate::session::{Notify, Session, When};
use crate::settings::Settings;
use crate::skills::Library;
use crate::state::approvals::Requests;

/// One per process.
pub struct App {
    /// What the environment decided at start.
    pub settings: Settings,
    /// Calls that wait for a person.
    pub approvals: Approvals,
    /// How often child servers may be called.
    pub rate_limits: RateLimits,
    /// Large results that can be read on.
    pub results: Results,
    /// Calls without a session that are refused for a while.
    pub cooldowns: Cooldowns,
    /// Compiled skills, with what `refresh_skills` found on disk.
    pub skills: Library,
    merged: Mutex<Arc<Merged>>,
    children: OnceLock<Children>,
    sessions: Mutex<Vec<Weak<Session>>>,
    modern: OnceLock<Arc<dyn Notify>>,
    client: OnceLock<Arc<dyn Client>>,
}

impl App {
    /// The state of a process that has just started; no child runs yet.
    pub fn new(settings: Settings, skills: Library) -> Arc<App> {
        let requests = Requests::at(settings.home.as_deref().map(Requests::folder));
        Arc::new(App {
            settings,
            approvals: Approvals::new(requests),
            rate_limits: RateLimits::new(CATALOG.servers),
            results: Results::default(),
            cooldowns: Cooldowns::default(),
            skills,
            merged: Mutex::default(),
            children: OnceLock::new(),
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

    /// What every configured server is doing, in configured order, whether they have been started or not.
    pub fn server_status(&self) -> Vec<ChildStatus> {
        let mut status: Vec<ChildStatus> = match self.children.get() {
            Some(children) => children.status(),
            None => CATALOG.servers.iter().map(ChildStatus::before_start).collect(),
        };
        let sessions: Vec<_> = lock(&self.sessions).iter().filter_map(Weak::upgrade).collect();
        for (server, status) in (0u16..).zip(&mut status) {
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

    /// The resources changed: tells everyone.
    pub fn resources_changed(&self) {
        for session in lock(&self.sessions).iter().filter_map(Weak::upgrade) {
            session.resources_changed();
        }
        if let Some(modern) = self.modern.get() {
            modern.resources_changed();
        }
    }

    /// Swaps in the tools of one server (`None`: it is not up) and tells each client whose list changes by it.
    fn swap(&self, server: u16, live: Option<Arc<crate::listing::merged::LiveServer>>) {
        let (old, new) = {
            let mut merged = lock(&self.merged);
            let new = Arc::new(merged.with(server, live));
            (std::mem::replace(&mut *merged, new.clone()), new)
        };
        let sessions: Vec<_> = lock(&self.sessions).iter().filter_map(Weak::upgrade).collect();
        for session in sessions {
            if projection::differs(&self.settings, &old, &new, server, &session.activated()) {
                session.tools_changed(When::Debounced);
            }
        }
        if let Some(modern) = self.modern.get().filter(|_| projection::differs(&self.settings, &old, &new, server, &[]))
        {
            modern.tools_changed(When::Debounced);
        }
    }
}

impl ChildSink for App {
    fn tools(&self, server: u16, tools: Vec<ChildTool>) -> Taken {
        let (live, taken) = live::render(server, &tools);
        self.swap(server, Some(Arc::new(live)));
        taken
    }

    fn gone(&self, server: u16) {
        self.swap(server, None);
    }

    fn client(&self) -> Option<Arc<dyn Client>> {
        self.client.get().cloned()
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
