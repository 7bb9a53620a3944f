//! All servers of a process: started side by side in the background, asked by index, stopped together.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use evokore_catalog::server::{Boot, ServerSpec};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::call::{ChildCall, ChildReply, Method};
use super::client::Client;
use super::error::ChildError;
use super::launch::{Launcher, Processes};
use super::memory::Memory;
use super::noise;
use super::server::{Phase, Server};
use super::settings::{ChildSettings, Say};
use super::status::ChildStatus;
use super::supervisor::{self, Context};
use super::tools::{ChildEntry, ChildTool, Taken};

/// All children are gone within this.
const SHUTDOWN: Duration = Duration::from_millis(800);

/// What becomes of a child server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life<'a> {
    /// It was started, having been started so often before.
    Started(u32),
    /// It could not be started; why.
    Unstarted(&'a str),
    /// It has ended; how, without the end of its stderr.
    Ended(&'a str),
    /// It was ended because evokore ends.
    Stopped,
    /// It was ended because nobody called it.
    Asleep,
}

/// Is told what children offer. Never blocks.
pub trait ChildSink: Send + Sync {
    /// The complete list of a server: after each boot, and whenever it has changed. Gives back what of it is
    /// not offered, or not as it came.
    fn tools(&self, server: u16, tools: Vec<ChildTool>) -> Taken;
    /// The server is not up any more.
    fn gone(&self, server: u16);
    /// The server was started, or has ended.
    fn life(&self, _server: u16, _what: Life<'_>) {}
    /// The client of the process, for what a child asks outside of any call.
    fn client(&self) -> Option<Arc<dyn Client>> {
        None
    }
    /// Its resources and their templates, complete: like its tools, and with nothing in them when it offers none.
    fn resources(&self, _server: u16, _resources: Vec<ChildEntry>, _templates: Vec<ChildEntry>) -> Taken {
        Taken::default()
    }
    /// Its prompts, likewise.
    fn prompts(&self, _server: u16, _prompts: Vec<ChildEntry>) -> Taken {
        Taken::default()
    }
    /// The contents of one of its resources have changed.
    fn updated(&self, _server: u16, _uri: &str) {}
    /// Something has become of a task: its id as clients know it, and the parameters of `notifications/tasks/status`
    /// with that id in them.
    fn task(&self, _id: String, _params: Bytes) {}
}

/// The child servers of the process. A cheap handle; when the last one is dropped, the children are stopped.
#[derive(Debug, Clone)]
pub struct Children {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    servers: Vec<Arc<Server>>,
    stop: CancellationToken,
    tasks: Mutex<Vec<JoinHandle<()>>>,
    _stop_on_drop: DropGuard,
}

impl Children {
    /// Starts every eager server in the background; `sink` is told of every change. Must be called inside a runtime.
    pub fn start(specs: &'static [ServerSpec], settings: ChildSettings, sink: Arc<dyn ChildSink>) -> Children {
        let launcher = Arc::new(Processes::new(&settings));
        Children::start_with(specs, settings, sink, launcher)
    }

    /// Like [`Children::start`], with another way to start a server.
    pub fn start_with(
        specs: &'static [ServerSpec],
        settings: ChildSettings,
        sink: Arc<dyn ChildSink>,
        launcher: Arc<dyn Launcher>,
    ) -> Children {
        let servers = (0u16..).zip(specs).map(|(index, spec)| Arc::new(Server::new(index, spec, &settings)));
        let servers: Vec<_> = servers.collect();
        let stop = CancellationToken::new();
        let context = Arc::new(Context {
            launcher,
            sink,
            say: settings.say.clone(),
            max_list: settings.max_list,
            memory: Memory::new(&settings),
            turns: Arc::new(Semaphore::new(settings.concurrent_boots.clamp(1, Semaphore::MAX_PERMITS))),
            stop: stop.clone(),
        });
        let enabled = servers.iter().filter(|server| !server.spec.disabled);
        let tasks = enabled.map(|server| tokio::spawn(supervisor::run(server.clone(), context.clone()))).collect();
        for server in servers.iter().filter(|server| !server.spec.disabled) {
            tokio::spawn(noise::tell(server.spec.id, server.stats.clone(), settings.say.clone(), stop.clone()));
        }
        tokio::spawn(announce(servers.clone(), settings.say, stop.clone()));
        Children { shared: Shared::new(servers, stop, tasks) }
    }

    /// No servers at all.
    pub fn none() -> Children {
        Children { shared: Shared::new(Vec::new(), CancellationToken::new(), Vec::new()) }
    }

    /// Hands a client's request to server `server` (index into the specs). A server that boots or sleeps is waited for,
    /// at most 30 s.
    ///
    /// # Errors
    /// Anything that kept the child from answering, as text for the caller.
    pub async fn call(&self, server: u16, call: ChildCall) -> Result<ChildReply, ChildError> {
        let server = self.server(server)?;
        let outcome = server.call(call).await;
        if let Err(error) = &outcome {
            server.note(error);
        }
        outcome
    }

    /// Waits, at most 30 s, until server `server` is up.
    ///
    /// # Errors
    /// Why it is not.
    pub async fn ready(&self, server: u16) -> Result<(), ChildError> {
        self.server(server)?.connection().await.map(drop)
    }

    /// Whether server `server` is up and speaks 2026-07-28; `None` while it is not up.
    pub fn speaks_modern(&self, server: u16) -> Option<bool> {
        match self.server(server).ok()?.phase() {
            Phase::Up(connection) => Some(connection.speaks_modern()),
            _ => None,
        }
    }

    /// Whether server `server` is up and lists its tasks.
    pub fn lists_tasks(&self, server: u16) -> bool {
        let phase = self.server(server).map(Server::phase);
        matches!(phase, Ok(Phase::Up(connection)) if connection.offers().lacks(Method::ListTasks).is_none())
    }

    /// How long a call to server `server` may take.
    pub fn longest_call(&self, server: u16) -> Duration {
        self.server(server).map_or(Duration::ZERO, Server::longest_call)
    }

    /// Waits until the lists besides tools of server `server` are known, if it is up or comes up: not for one that has
    /// not been started.
    pub async fn listed(&self, server: u16) {
        if let Ok(server) = self.server(server) {
            server.listed().await;
        }
    }

    /// Waits until every boot that is under way has come to something, and all lists have been read.
    pub async fn all_listed(&self) {
        for server in &self.shared.servers {
            server.listed().await;
        }
    }

    /// Whether a server is up whose lists besides tools are still being read.
    pub fn are_listing(&self) -> bool {
        self.shared.servers.iter().any(|server| matches!(server.phase(), Phase::Up(_)) && !*server.listed.borrow())
    }

    /// A client has subscribed to a resource of server `server`: it is subscribed to again after a restart.
    pub fn watch(&self, server: u16, uri: &str) {
        if let Ok(server) = self.server(server) {
            server.watch(uri);
        }
    }

    /// A client has unsubscribed; true if no other still watches the resource.
    pub fn unwatch(&self, server: u16, uri: &str) -> bool {
        self.server(server).is_ok_and(|server| server.unwatch(uri))
    }

    /// Asks a server that is up for its list again; starts one that waits for its restart now.
    ///
    /// # Errors
    /// There is no such server.
    pub fn refresh(&self, server: u16) -> Result<(), ChildError> {
        self.server(server)?.kick.notify_one();
        Ok(())
    }

    /// Every configured server, in configured order.
    pub fn status(&self) -> Vec<ChildStatus> {
        self.shared.servers.iter().map(|server| ChildStatus::of(server)).collect()
    }

    /// Stops every child with everything it has started, within 0.8 s.
    pub async fn shutdown(&self) {
        self.shared.stop.cancel();
        let tasks = std::mem::take(&mut *self.shared.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        let aborts: Vec<_> = tasks.iter().map(JoinHandle::abort_handle).collect();
        let all = async {
            for task in tasks {
                let _ = task.await;
            }
        };
        if timeout(SHUTDOWN, all).await.is_err() {
            // Dropping a task kills its process group.
            aborts.iter().for_each(tokio::task::AbortHandle::abort);
        }
    }

    fn server(&self, index: u16) -> Result<&Server, ChildError> {
        self.shared.servers.get(usize::from(index)).map(|server| &**server).ok_or(ChildError::Unknown(index))
    }
}

impl Shared {
    fn new(servers: Vec<Arc<Server>>, stop: CancellationToken, tasks: Vec<JoinHandle<()>>) -> Arc<Shared> {
        let _stop_on_drop = stop.clone().drop_guard();
        Arc::new(Shared { servers, stop, tasks: Mutex::new(tasks), _stop_on_drop })
    }
}

/// Writes the line that other software waits for, when every eager server has come to something.
async fn announce(servers: Vec<Arc<Server>>, say: Say, stop: CancellationToken) {
    let mut tools = 0;
    for server in servers.iter().filter(|server| !server.spec.disabled && server.spec.boot == Boot::Eager) {
        let phase = tokio::select! {
            phase = server.settled() => phase,
            () = stop.cancelled() => return,
        };
        if matches!(phase, Phase::Broken) {
            say(&format!("Background proxy bootstrap failed: the task of child server `{}` died", server.spec.id));
            return;
        }
        tools += server.facts().registered;
    }
    say(&format!("Proxy bootstrap complete: {tools} proxied tool(s) registered."));
}
