//! The server's inside without its front, for commands that ask one thing: settings, child servers, calls.

use std::future::Future;
use std::sync::Arc;

use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::process;
use crate::app::App;
use crate::audit;
use crate::catalog::CATALOG;
use crate::child::{ChildSettings, Children};
use crate::error::Failure;
use crate::settings::Settings;

/// An app that nobody connects to.
pub(crate) struct Live {
    /// The app.
    pub(crate) app: Arc<App>,
    runtime: Runtime,
    children: ChildSettings,
}

impl Live {
    /// With these settings; no child server runs yet.
    ///
    /// # Errors
    /// The runtime cannot be built.
    pub(crate) fn new(mut settings: Settings) -> Result<Live, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::runtime(format!("cannot start the runtime: {error}")))?;
        // What is kept of a result ends with the command.
        settings.can_read_on = false;
        // Why a server is not up stands in its status.
        let (app, children) = process::app(settings, Arc::new(|_| {}));
        Ok(Live { app, runtime, children })
    }

    /// Runs `work` with no child server.
    pub(crate) fn without_servers<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// Starts the child servers, runs `work`, and stops them.
    pub(crate) fn with_servers<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(async {
            self.app.set_children(Children::start(CATALOG.servers, self.children.clone(), self.app.clone()));
            let result = work.await;
            self.app.children().shutdown().await;
            result
        })
    }

    /// Waits until every child server is up or has failed; `settled` is told of each. Servers that start on demand
    /// are started.
    pub(crate) async fn all_settled(&self, mut settled: impl FnMut(&'static str)) {
        let mut waiting = JoinSet::new();
        for (index, server) in (0u16..).zip(CATALOG.servers) {
            let children = self.app.children().clone();
            waiting.spawn(async move {
                // Its status says what came of it.
                let _ = children.ready(index).await;
                server.id
            });
        }
        while let Some(done) = waiting.join_next().await {
            if let Ok(id) = done {
                settled(id);
            }
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.app.audit.close(audit::PATIENCE);
    }
}
