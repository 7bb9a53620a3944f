//! What one process shares between its sessions: settings, the merged catalog, child servers, skills.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use crate::calls::approval::Approvals;
use crate::child::{ChildSink, ChildTool, Children, SkippedTool};
use crate::listing::live;
use crate::listing::merged::Merged;
use crate::listing::projection;
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
    /// Compiled skills, with what `refresh_skills` found on disk.
    pub skills: Library,
    merged: Mutex<Arc<Merged>>,
    children: OnceLock<Children>,
    sessions: Mutex<Vec<Weak<Session>>>,
    modern: OnceLock<Arc<dyn Notify>>,
}

impl App {
    /// The state of a process that has just started; no child runs yet.
    pub fn new(settings: Settings, skills: Library) -> Arc<App> {
        let requests = Requests::at(settings.home.as_deref().map(Requests::folder));
        Arc::new(App {
            settings,
            approvals: Approvals::new(requests),
            skills,
            merged: Mutex::default(),
            children: OnceLock::new(),
            sessions: Mutex::default(),
            modern: OnceLock::new(),
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
    fn tools(&self, server: u16, tools: Vec<ChildTool>) -> Vec<SkippedTool> {
        let (live, skipped) = live::render(server, &tools);
        self.swap(server, Some(Arc::new(live)));
        skipped
    }

    fn gone(&self, server: u16) {
        self.swap(server, None);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code that could panic runs under these locks, so a poisoned one still holds a consistent value.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
