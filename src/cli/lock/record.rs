//! Asking child servers for their whole lists.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use evokore_catalog::server::ServerSpec;
use tokio::task::JoinSet;

use crate::child::{ChildSink, ChildTool, Children, Status, Taken};
use crate::cli::output::Progress;
use crate::cli::process;
use crate::error::Failure;

/// What one server said.
pub(super) struct Recorded {
    pub(super) spec: &'static ServerSpec,
    /// Why there is nothing.
    pub(super) missing: Option<Missing>,
    /// Its tools in its own order.
    pub(super) tools: Vec<ChildTool>,
    /// Name and version it gave itself.
    pub(super) server: String,
    /// What was odd about its list, and entries that are no tools.
    pub(super) notes: Vec<String>,
}

/// Why a server has not been asked.
pub(super) struct Missing {
    pub(super) reason: String,
    /// It waits for a variable, as an optional server may.
    pub(super) is_fine: bool,
}

/// Takes every list as it comes.
#[derive(Default)]
struct Lists(Mutex<BTreeMap<u16, Vec<ChildTool>>>);

impl ChildSink for Lists {
    fn tools(&self, server: u16, tools: Vec<ChildTool>) -> Taken {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(server, tools);
        Taken::default()
    }

    fn gone(&self, _server: u16) {}
}

/// Starts `specs`, and nothing else, and reads what each lists.
///
/// # Errors
/// The runtime cannot be built.
pub(super) fn all(specs: &[&'static ServerSpec]) -> Result<Vec<Recorded>, Failure> {
    let (_, settings) = process::app(process::settings(None)?, Arc::new(|_| {}));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::runtime(format!("cannot start the runtime: {error}")))?;
    let lists = Arc::new(Lists::default());
    // A command ends soon after; what it chose may live as long as it does.
    let chosen: &'static [ServerSpec] = specs.iter().map(|spec| **spec).collect::<Vec<_>>().leak();
    let statuses = runtime.block_on(async {
        let children = Children::start(chosen, settings, lists.clone());
        let mut progress = Progress::new();
        let mut waiting: Vec<&str> = chosen.iter().map(|spec| spec.id).collect();
        let mut settling = JoinSet::new();
        for (index, spec) in (0u16..).zip(chosen) {
            let children = children.clone();
            settling.spawn(async move {
                // Its status says what came of it.
                let _ = children.ready(index).await;
                spec.id
            });
        }
        progress.show(&format!("starting {} …", waiting.join(", ")));
        while let Some(done) = settling.join_next().await {
            waiting.retain(|id| done.as_ref().ok() != Some(id));
            progress.show(&format!("starting {} …", waiting.join(", ")));
        }
        let statuses = children.status();
        children.shutdown().await;
        statuses
    });
    let mut lists = std::mem::take(&mut *lists.0.lock().unwrap_or_else(PoisonError::into_inner));
    let recorded = (0u16..).zip(specs).zip(statuses).map(|((index, spec), status)| {
        let missing = (status.status != Status::Connected).then(|| Missing {
            reason: status.reason.unwrap_or_else(|| "it did not come up in time".to_owned()),
            is_fine: status.status == Status::Waiting,
        });
        let skipped = status.skipped_tools.iter().map(|skip| format!("{}: {}", skip.name, skip.reason));
        Recorded {
            spec,
            missing,
            tools: lists.remove(&index).unwrap_or_default(),
            server: status.server,
            notes: skipped.chain(status.notes).collect(),
        }
    });
    Ok(recorded.collect())
}
