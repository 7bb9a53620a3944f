//! Approval requests on disk, so that a person in another terminal can see and decide them.
//!
//! `approvals/<id>.json` is a request, written by the serving process; `approvals/<id>.decision` holds one word,
//! written by `evokore approvals`. Both disappear when the request is settled.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use evokore_catalog::hostile::visible;
use evokore_catalog::markdown::cut;
use serde::{Deserialize, Serialize};

use super::grants::Scope;
use super::preview::preview;
use super::{create_private_dir, write_atomic};
use crate::calls::approval::Proposal;

/// What a person decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The call may be made, once; with a scope, those like it until the session ends.
    Approved(Option<Scope>),
    /// The call must not be made.
    Denied,
}

/// A request as a person sees it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Pending {
    /// Eight hexadecimal digits.
    pub id: String,
    /// Exposed name of the tool.
    pub tool: String,
    /// The server that would be called.
    #[serde(default)]
    pub server: String,
    /// Arguments with secrets masked, cut to a readable length.
    pub arguments: String,
    /// Seconds since 1970.
    #[serde(rename = "createdAt")]
    pub created_at: u64,
    /// Seconds since 1970.
    #[serde(rename = "expiresAt")]
    pub expires_at: u64,
    /// The serving process.
    pub pid: u32,
    /// Which numbering of processes that is of, see `numbering`.
    #[serde(rename = "pidSpace", default, skip_serializing_if = "Option::is_none")]
    pub pid_space: Option<String>,
    /// What the client calls itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The role that the process has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Why it is asked for, beside the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Pending {
    /// A request that starts now.
    pub fn new(id: &str, proposal: &Proposal<'_>, lifetime: Duration) -> Pending {
        let now = now();
        Pending {
            id: id.to_owned(),
            tool: proposal.tool.to_owned(),
            server: proposal.server.to_owned(),
            arguments: masked(proposal.arguments.unwrap_or("{}")),
            created_at: now,
            expires_at: now + lifetime.as_secs(),
            pid: std::process::id(),
            pid_space: super::numbering(),
            client: proposal.client.map(|name| cut(&visible(name), MAX_CLIENT)),
            role: proposal.role.map(str::to_owned),
            reason: proposal.reason.map(str::to_owned),
        }
    }
}

/// The requests of one serving process.
#[derive(Debug, Clone)]
pub struct Requests {
    folder: Option<PathBuf>,
}

impl Requests {
    /// Keeps requests in `folder`; without one nothing can be asked.
    pub fn at(folder: Option<PathBuf>) -> Requests {
        Requests { folder }
    }

    /// The folder below the state folder `home`.
    pub fn folder(home: &Path) -> PathBuf {
        home.join("approvals")
    }

    /// Writes a request.
    ///
    /// # Errors
    /// Why it could not be written, for a person.
    pub async fn add(&self, pending: Pending) -> Result<(), String> {
        let folder = self.folder.clone().ok_or("there is no home folder; set EVOKORE_HOME")?;
        blocking(move || {
            let json = serde_json::to_vec_pretty(&pending).map_err(|error| error.to_string())?;
            create_private_dir(&folder)
                .and_then(|()| super::check_private(&folder))
                .and_then(|()| write_atomic(&request_path(&folder, &pending.id), &json))
                .map_err(|error| format!("{}: {error}", folder.display()))
        })
        .await
        .unwrap_or_else(|| Err("the process is ending".to_owned()))
    }

    /// What a person decided on request `id`, if anything.
    pub async fn decision(&self, id: &str) -> Option<Decision> {
        let path = decision_path(self.folder.as_ref()?, id);
        blocking(move || decided(&path)).await?
    }

    /// Removes a settled request.
    pub async fn remove(&self, id: &str) {
        if let Some(folder) = self.folder.clone() {
            let id = id.to_owned();
            // Whether the files were still there does not matter.
            blocking(move || remove(&folder, &id)).await;
        }
    }
}

/// The requests in `folder` that have not ended, oldest first; ended ones are removed.
///
/// # Errors
/// The folder cannot be read.
pub fn list(folder: &Path) -> std::io::Result<Vec<Pending>> {
    let mut pending = Vec::new();
    for (id, request) in super::read_all::<Pending>(folder)? {
        if request.expires_at <= now()
            || !super::may_live(request.pid, request.pid_space.as_deref(), request.created_at)
        {
            remove(folder, &id);
        } else if request.id == id {
            pending.push(request);
        }
    }
    pending.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
    Ok(pending)
}

/// Records a person's decision on the request whose id starts with `prefix` (at least four digits, of either case), and
/// gives back what has been decided with it: an approval with a scope is not narrowed by one that has none or a lesser one.
///
/// # Errors
/// No such request, more than one, it has been decided otherwise, or the decision cannot be written.
pub fn decide(folder: &Path, prefix: &str, decision: Decision) -> Result<(Pending, Decision), String> {
    let pending = list(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let request = one_of(pending, prefix, |request| &request.id, "request")?;
    let decision = match decision {
        // Of a tool that is not what it was, each call is looked at.
        Decision::Approved(_) if request.reason.is_some() => Decision::Approved(None),
        decision => decision,
    };
    let path = decision_path(folder, &request.id);
    let unwritten = |error: std::io::Error| format!("{}: {error}", path.display());
    // Of two persons who decide at the same time one is first.
    let decision = match write_new(&path, word(decision)) {
        Ok(()) => decision,
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            let known = decided(&path);
            let decision = match (known, decision) {
                // What an interrupted command has left is no decision.
                (None, _) => decision,
                (Some(Decision::Approved(known)), Decision::Approved(scope)) => Decision::Approved(scope.max(known)),
                (Some(known), decision) if known == decision => decision,
                (Some(known), _) => {
                    let state = state(known);
                    return Err(format!(
                        "the request `{}` is {state} already, which is not changed any more",
                        request.id
                    ));
                }
            };
            if known != Some(decision) {
                write_atomic(&path, word(decision).as_bytes()).map_err(unwritten)?;
            }
            decision
        }
        Err(error) => return Err(unwritten(error)),
    };
    if !request_path(folder, &request.id).exists() {
        // It ended meanwhile, and nobody would take the decision away.
        let _ = std::fs::remove_file(&path);
        return Err(format!("the request `{}` has just ended", request.id));
    }
    Ok((request, decision))
}

/// What has been decided on request `id`, for a person: `None` while nobody has.
pub fn settled(folder: &Path, id: &str) -> Option<&'static str> {
    decided(&decision_path(folder, id)).map(state)
}

fn state(decision: Decision) -> &'static str {
    match decision {
        Decision::Approved(_) => "approved",
        Decision::Denied => "denied",
    }
}

fn word(decision: Decision) -> &'static str {
    match decision {
        Decision::Approved(None) => "approved\n",
        Decision::Approved(Some(Scope::Arguments)) => "approved arguments\n",
        Decision::Approved(Some(Scope::Tool)) => "approved tool\n",
        Decision::Denied => "denied\n",
    }
}

/// The decision in the file `path`, if it holds one.
fn decided(path: &Path) -> Option<Decision> {
    let all = [None, Some(Scope::Arguments), Some(Scope::Tool)].map(Decision::Approved);
    let text = super::read_small(path).ok()?;
    all.into_iter().chain([Decision::Denied]).find(|decision| text == word(*decision).as_bytes())
}

/// Writes a file that is not there yet.
fn write_new(path: &Path, text: &str) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(text.as_bytes())
}

/// The one of `known` whose id starts with `prefix`.
pub(super) fn one_of<T>(known: Vec<T>, prefix: &str, id: fn(&T) -> &String, what: &str) -> Result<T, String> {
    if prefix.len() < 4 || !prefix.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(format!("`{prefix}` is no id of a {what}: give at least four hexadecimal digits of it"));
    }
    let digits = prefix.to_ascii_lowercase();
    let mut matching: Vec<T> = known.into_iter().filter(|one| id(one).starts_with(&digits)).collect();
    match matching.len() {
        0 => Err(format!("there is no {what} `{prefix}`; it may have ended")),
        1 => Ok(matching.remove(0)),
        n => Err(format!("`{prefix}` fits {n} of them; give more digits")),
    }
}

/// Removes what processes that are gone have left in `folder`: their requests, decisions on requests that are not there,
/// and files that were never finished.
pub(super) fn sweep(folder: &Path) {
    // Removes those that have ended, too.
    let _ = list(folder);
    super::sweep(folder, |name| {
        let id = name.strip_suffix(".decision")?;
        Some(!request_path(folder, id).exists())
    });
}

fn request_path(folder: &Path, id: &str) -> PathBuf {
    folder.join(format!("{id}.json"))
}

fn decision_path(folder: &Path, id: &str) -> PathBuf {
    folder.join(format!("{id}.decision"))
}

fn remove(folder: &Path, id: &str) {
    let _ = std::fs::remove_file(request_path(folder, id));
    let _ = std::fs::remove_file(decision_path(folder, id));
}

pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}

/// Most characters of what a client calls itself.
const MAX_CLIENT: usize = 80;

/// Longest preview of arguments, in characters.
const PREVIEW: usize = 2_000;

/// Arguments for a person ([`preview`]).
pub fn masked(arguments: &str) -> String {
    preview(arguments, PREVIEW)
}

/// A fresh folder for a test.
#[cfg(test)]
pub(crate) fn scratch(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("evokore-approvals-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    folder
}
