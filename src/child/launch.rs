//! Starts child processes. The only file that does.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
#[cfg(unix)]
use std::sync::Arc;

use evokore_catalog::server::{ServerSpec, Transport};
use tokio::io::{AsyncRead, AsyncWrite};

use super::environment::{EVERYTHING, inherited, is_own};
#[cfg(unix)]
use super::guard::Guard;
use super::process::{Exit, Group};
use super::programs::find_on_windows;
use super::remote::Remotes;
use super::resolve::{Command, ResolveError, Target, resolve};
use super::settings::{ChildSettings, Lookup, Names, Say};
use crate::dotenv;

/// Starts child servers; tests script them instead.
pub trait Launcher: Send + Sync {
    /// Starts `spec`.
    ///
    /// # Errors
    /// Why it did not start, and whether it may later.
    fn launch(&self, spec: &ServerSpec) -> Result<Launched, LaunchError>;
}

/// A child that has been started.
pub struct Launched {
    /// How it is spoken to.
    pub wires: Wires,
    /// Where it complains.
    pub stderr: Option<Box<dyn AsyncRead + Send + Unpin>>,
    /// Its end.
    pub exit: Exit,
    /// Its processes.
    pub group: Box<dyn Group>,
}

/// How a child is spoken to.
pub enum Wires {
    /// Frames are lines of two streams.
    Streams {
        /// Where it reads.
        stdin: Box<dyn AsyncWrite + Send + Unpin>,
        /// Where it speaks.
        stdout: Box<dyn AsyncRead + Send + Unpin>,
    },
    /// Frames are posted.
    #[cfg(feature = "http")]
    Http(Box<super::http::Line>),
}

/// A child that could not be started. The texts complete "child server `x` …" or stand behind a colon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LaunchError {
    /// Variables are not set.
    Missing(String),
    /// It cannot start with this configuration.
    Never(String),
    /// It did not start this time.
    Failed(String),
}

/// Starts real processes.
pub(super) struct Processes {
    lookup: Lookup,
    names: Names,
    say: Say,
    base: PathBuf,
    remotes: Remotes,
    #[cfg(unix)]
    guard: Option<Arc<Guard>>,
}

impl Processes {
    pub(super) fn new(settings: &ChildSettings) -> Processes {
        Processes {
            lookup: settings.lookup.clone(),
            names: settings.names.clone(),
            say: settings.say.clone(),
            base: settings.base.clone(),
            remotes: Remotes::new(settings),
            #[cfg(unix)]
            guard: settings.guard.clone().map(|program| Guard::new(program, settings.say.clone())),
        }
    }

    /// The variables of `command`; later ones win over earlier ones of the same name.
    fn environment(&self, spec: &ServerSpec, command: &mut Command) -> Result<Environment, LaunchError> {
        let mut set = inherited(&*self.lookup, &*self.names, spec.inherit_env);
        if let (Some(file), Some(written)) = (&command.env_file, spec.env_file) {
            set.extend(self.env_file(spec, file, written)?);
        }
        set.append(&mut command.env);
        let everything = spec.inherit_env.contains(&EVERYTHING);
        let removed = everything.then(|| (self.names)().into_iter().filter(|name| is_own(name)).collect());
        Ok(Environment { set, removed })
    }

    /// What stands in `file`, the `envFile` of `spec`, which messages call by what is `written`. Values get into none.
    fn env_file(&self, spec: &ServerSpec, file: &Path, written: &str) -> Result<BTreeMap<String, String>, LaunchError> {
        let text = dotenv::read(file).map_err(|error| {
            LaunchError::Failed(format!(
                "could not start: its `envFile` `{written}` cannot be read: {error}\nhint: create it, or correct `envFile`"
            ))
        })?;
        let parsed = dotenv::parse(&text);
        for problem in parsed.problems {
            (self.say)(&format!("child server `{}`: {written}:{}: {problem}", spec.id, problem.line));
        }
        Ok(parsed.values)
    }
}

/// The environment of a child.
struct Environment {
    set: Vec<(String, String)>,
    /// The process's own environment lies below `set`, without these; `None`: it does not.
    removed: Option<Vec<String>>,
}

impl Launcher for Processes {
    fn launch(&self, spec: &ServerSpec) -> Result<Launched, LaunchError> {
        let target = resolve(spec, &*self.lookup, &self.base).map_err(|error| match error {
            ResolveError::Missing(_) => LaunchError::Missing(error.to_string()),
            ResolveError::Placeholder { .. } => LaunchError::Never(error.to_string()),
        })?;
        let mut command = match target {
            Target::Command(command) => command,
            Target::Remote(remote) => return self.remotes.reach(&remote),
        };
        let environment = self.environment(spec, &mut command)?;
        self.start(&command, environment).map_err(|error| LaunchError::Failed(explain(spec, &command, &error)))
    }
}

impl Processes {
    fn start(&self, command: &Command, environment: Environment) -> std::io::Result<Launched> {
        #[cfg(unix)]
        if let Some(guard) = &self.guard {
            guard.ready();
        }
        let mut child = process(command, environment).spawn()?;
        let group = self.group(child.id());
        let missing = || std::io::Error::other("a pipe is missing");
        let stdin = child.stdin.take().ok_or_else(missing)?;
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let stderr = child.stderr.take().ok_or_else(missing)?;
        Ok(Launched {
            wires: Wires::Streams { stdin: Box::new(stdin), stdout: Box::new(stdout) },
            stderr: Some(Box::new(stderr)),
            exit: Box::pin(async move {
                match child.wait().await {
                    Ok(status) => describe(status),
                    Err(error) => format!("ended ({error})"),
                }
            }),
            group,
        })
    }

    #[cfg(unix)]
    fn group(&self, leader: Option<u32>) -> Box<dyn Group> {
        let leader = leader.and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
        if let (Some(guard), Some(leader)) = (&self.guard, leader) {
            guard.watch(leader);
        }
        Box::new(UnixGroup { leader, guard: self.guard.clone() })
    }

    #[cfg(not(unix))]
    fn group(&self, _leader: Option<u32>) -> Box<dyn Group> {
        Box::new(LeaderOnly)
    }
}

fn process(command: &Command, environment: Environment) -> tokio::process::Command {
    let mut process = tokio::process::Command::new(program(command, &environment.set));
    process.args(&command.args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    match environment.removed {
        Some(names) => names.iter().for_each(|name| _ = process.env_remove(name)),
        None => _ = process.env_clear(),
    }
    process.envs(environment.set);
    if let Some(cwd) = &command.cwd {
        process.current_dir(cwd);
    }
    #[cfg(unix)]
    process.process_group(0);
    process
}

fn program(command: &Command, environment: &[(String, String)]) -> String {
    if !cfg!(windows) {
        return command.program.clone();
    }
    let variable = |wanted: &str| {
        let found = environment.iter().rev().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.map(|(_, value)| value.as_str())
    };
    let (path, extensions) =
        (variable("PATH").unwrap_or_default(), variable("PATHEXT").unwrap_or(".COM;.EXE;.BAT;.CMD"));
    let found = find_on_windows(&command.program, path, extensions, &|file| Path::new(file).is_file());
    found.unwrap_or_else(|| command.program.clone())
}

fn describe(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("was ended by signal {signal}");
    }
    status.code().map_or_else(|| "ended".to_owned(), |code| format!("exited with code {code}"))
}

/// Says what was wrong in the words of the configuration, so that no variable's value is shown.
fn explain(spec: &ServerSpec, command: &Command, error: &std::io::Error) -> String {
    let Transport::Stdio { command: written, cwd, .. } = spec.transport else { return error.to_string() };
    if let (Some(folder), Some(cwd)) = (&command.cwd, cwd)
        && !folder.is_dir()
    {
        return format!("could not start: its `cwd` `{cwd}` is no folder\nhint: create it or correct `cwd`");
    }
    match error.kind() {
        std::io::ErrorKind::NotFound => format!(
            "could not start: the program `{written}` was not found\nhint: install it, or write its full path as `command`"
        ),
        std::io::ErrorKind::PermissionDenied => format!(
            "could not start: the program `{written}` may not be executed\nhint: `chmod +x` it, or correct `command`"
        ),
        _ => format!("could not start `{written}`: {error}"),
    }
}

/// A process group, named by its leader's id.
#[cfg(unix)]
struct UnixGroup {
    leader: Option<rustix::process::Pid>,
    guard: Option<Arc<Guard>>,
}

#[cfg(unix)]
impl Group for UnixGroup {
    fn terminate(&self) {
        self.signal(rustix::process::Signal::TERM);
    }

    fn kill(&self) {
        self.signal(rustix::process::Signal::KILL);
    }

    fn is_empty(&self) -> bool {
        self.leader.is_none_or(|leader| rustix::process::test_kill_process_group(leader).is_err())
    }
}

#[cfg(unix)]
impl UnixGroup {
    fn signal(&self, signal: rustix::process::Signal) {
        if let Some(leader) = self.leader {
            // An empty group is what we want.
            let _ = rustix::process::kill_process_group(leader, signal);
        }
    }
}

#[cfg(unix)]
impl Drop for UnixGroup {
    fn drop(&mut self) {
        if let (Some(guard), Some(leader)) = (&self.guard, self.leader) {
            guard.forget(leader);
        }
    }
}

/// Where there are no process groups, the leader dies with the handle that waits for it.
#[cfg(not(unix))]
struct LeaderOnly;

#[cfg(not(unix))]
impl Group for LeaderOnly {
    fn terminate(&self) {}
    fn kill(&self) {}
    fn is_empty(&self) -> bool {
        true
    }
}
