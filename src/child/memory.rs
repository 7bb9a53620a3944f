//! Which servers speak nothing but 2026-07-28, so that each is asked in its own way at once: of this process and, through
//! a file, of earlier ones. Wrong memory costs one request.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use evokore_catalog::canonical::hex;
use evokore_catalog::server::ServerSpec;
use sha2::{Digest as _, Sha256};
use tokio::sync::OnceCell;
use tokio::task::spawn_blocking;

use super::resolve::{Target, resolve};
use super::settings::{ChildSettings, Lookup, Say};
use crate::state;
use crate::state::eras::{self, Eras};

/// What is remembered of the servers of a process.
pub(super) struct Memory {
    lookup: Lookup,
    base: PathBuf,
    say: Say,
    /// Without a home nothing outlives the process.
    path: Option<PathBuf>,
    /// Read when the first server is about to be spoken to.
    eras: OnceCell<Mutex<Eras>>,
}

impl Memory {
    /// Reads nothing yet.
    pub(super) fn new(settings: &ChildSettings) -> Memory {
        Memory {
            lookup: settings.lookup.clone(),
            base: settings.base.clone(),
            say: settings.say.clone(),
            path: state::home(&*settings.lookup).map(|home| eras::path(&home)),
            eras: OnceCell::new(),
        }
    }

    /// Whether `spec` is known to speak 2026-07-28.
    pub(super) async fn is_modern(&self, spec: &ServerSpec) -> bool {
        let Some(key) = self.key(spec) else { return false };
        self.eras().await.is_modern(&key)
    }

    /// Notes how `spec` speaks. That gets to the disk by itself.
    pub(super) async fn note(&self, spec: &ServerSpec, is_modern: bool) {
        let Some(key) = self.key(spec) else { return };
        {
            let mut eras = self.eras().await;
            if eras.is_modern(&key) == is_modern {
                return;
            }
            eras.note(&key, is_modern);
        }
        let Some(path) = self.path.clone() else { return };
        let say = self.say.clone();
        spawn_blocking(move || {
            if let Err(error) = eras::note(&path, &key, is_modern) {
                say(&unusable(&path, &error));
            }
        });
    }

    async fn eras(&self) -> MutexGuard<'_, Eras> {
        let eras = self.eras.get_or_init(|| async {
            let Some(path) = self.path.clone() else { return Mutex::default() };
            let say = self.say.clone();
            let read = spawn_blocking(move || eras::read(&path).inspect_err(|error| say(&unusable(&path, error))));
            Mutex::new(read.await.ok().and_then(Result::ok).unwrap_or_default())
        });
        eras.await.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The server's id with a digest of what starts or reaches it: a changed server is another one. `None` for one that
    /// cannot be started.
    fn key(&self, spec: &ServerSpec) -> Option<String> {
        let parts = match resolve(spec, &*self.lookup, &self.base).ok()? {
            Target::Command(command) => {
                let cwd = command.cwd.unwrap_or_default().display().to_string();
                [vec![command.program, cwd], command.args].concat()
            }
            Target::Remote(remote) => vec![remote.url],
        };
        let mut digest = Sha256::new();
        for part in parts {
            digest.update(part.len().to_le_bytes());
            digest.update(part);
        }
        Some(format!("{}-{}", spec.id, hex(&digest.finalize()[..8])))
    }
}

fn unusable(path: &std::path::Path, error: &std::io::Error) -> String {
    format!("how servers speak is not remembered from start to start: `{}`: {error}", path.display())
}
