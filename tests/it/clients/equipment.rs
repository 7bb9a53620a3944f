//! What the client tests need around them: the installed clients, a binary that knows the child servers, a sandbox,
//! and a way to run a driver.

#![expect(clippy::disallowed_methods, reason = "variables of the test run, which evokore itself never reads")]

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Once;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use super::scenario::{Client, Scenario};

/// The slowest driver, on a loaded machine, needs a fraction of it.
const DRIVER_LIMIT: Duration = Duration::from_secs(240);
/// How soon after a client's end no process of its session may be left.
const END_LIMIT: Duration = Duration::from_secs(3);

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Everything a driver needs.
#[derive(Debug)]
pub(crate) struct Equipment {
    installed: PathBuf,
    binary: PathBuf,
}

/// What a driver left.
#[derive(Debug)]
pub(super) struct Outcome {
    /// One JSON line per step.
    pub(super) lines: Vec<Value>,
    /// Standard error of the driver, and through it of the server.
    pub(super) stderr: String,
}

impl Equipment {
    /// The equipment, or `None`, with a word on it, where this machine lacks it. In CI that is a failure.
    pub(super) fn ready() -> Option<Equipment> {
        let installed =
            std::env::var_os("EVOKORE_IT_DIR").map_or_else(|| repository().join("target/it"), PathBuf::from);
        let installed = std::path::absolute(installed).expect("a working directory");
        if let Some(lack) = lack(&installed) {
            let ci = std::env::var("CI").is_ok_and(|value| value == "true");
            assert!(!ci, "the client tests cannot run: {lack}");
            // Not `eprintln!`, which the test runner swallows; and once for all tests of a process.
            static SAID: Once = Once::new();
            SAID.call_once(|| _ = writeln!(std::io::stderr(), "skipped the tests with real clients: {lack}"));
            return None;
        }
        let binary = build(&installed);
        Some(Equipment { installed, binary })
    }

    /// The binary alone, for tests that need nothing else of this: one that is named, or one that is built where
    /// everything is installed.
    #[cfg(feature = "http")]
    pub(crate) fn binary() -> Option<PathBuf> {
        let named = std::env::var_os("EVOKORE_IT_BIN").map(PathBuf::from);
        named.or_else(|| Equipment::ready().map(|equipment| equipment.binary))
    }

    /// The binary, yet to be started, with the variables that the configuration of `tests/children` needs.
    pub(super) fn server(&self, sandbox: &Sandbox) -> Command {
        let mut command = Command::new(&self.binary);
        command
            .arg("serve")
            .current_dir(sandbox.path())
            .env("EVOKORE_IT_DIR", &self.installed)
            .env("EVOKORE_IT_SANDBOX", sandbox.path())
            .env("EVOKORE_HOME", sandbox.path().join(".evokore"))
            .env("HOME", sandbox.path());
        command
    }

    /// Where the sets are installed.
    pub(super) fn installed(&self) -> &Path {
        &self.installed
    }

    /// Runs the driver of `client` through `scenario`.
    pub(super) async fn drive(&self, client: Client, scenario: &Scenario, sandbox: &Sandbox) -> Outcome {
        let mut driver = tokio::process::Command::new("bash")
            .arg(repository().join("tests/clients/drive.sh"))
            .args([client.name, "--mode", client.mode, "--server-cmd"])
            .arg(&self.binary)
            .current_dir(sandbox.path())
            .env("EVOKORE_IT_DIR", &self.installed)
            .env("EVOKORE_IT_SANDBOX", sandbox.path())
            .env("EVOKORE_HOME", sandbox.path().join(".evokore"))
            .envs(scenario.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("bash starts");
        let steps = json!({ "steps": scenario.steps }).to_string();
        driver.stdin.take().expect("stdin is piped").write_all(steps.as_bytes()).await.expect("the driver reads");
        let output = tokio::time::timeout(DRIVER_LIMIT, driver.wait_with_output())
            .await
            .unwrap_or_else(|_| panic!("{client}: the driver did not end within {DRIVER_LIMIT:?}"))
            .expect("the driver can be waited for");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{client}: the driver failed ({}):\n{stderr}", output.status);
        let text = String::from_utf8(output.stdout).expect("a driver prints UTF-8");
        let line =
            |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{client}: {error} in: {line}"));
        Outcome { lines: text.lines().map(line).collect(), stderr }
    }
}

/// What this machine lacks, if anything.
fn lack(installed: &Path) -> Option<String> {
    let runs =
        |program: &str| Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    let missing: Vec<&str> = ["bash", "git", "node", "python3"].into_iter().filter(|program| !runs(program)).collect();
    if !missing.is_empty() {
        return Some(format!("{} not found", missing.join(", ")));
    }
    let sets = [
        "clients/ts1",
        "clients/ts2",
        "clients/inspector",
        "clients/py1",
        "clients/py2",
        "children/npm",
        "children/pip1",
        "children/pip2",
    ];
    let set = sets.into_iter().find(|set| !installed.join(set).join(".stamp").is_file())?;
    Some(format!("`{set}` is not installed in {}\nhint: run tests/clients/install.sh", installed.display()))
}

/// Builds evokore with the configuration of `tests/children`. It has a target folder of its own, so that it and the
/// build of the repository's own configuration do not undo each other.
fn build(installed: &Path) -> PathBuf {
    if let Some(binary) = std::env::var_os("EVOKORE_IT_BIN") {
        return PathBuf::from(binary);
    }
    let target = installed.join("build");
    let output = Command::new(env!("CARGO"))
        .current_dir(repository())
        .args(["build", "--locked", "--quiet", "--bin", "evokore", "--target-dir"])
        .arg(&target)
        .env("EVOKORE_CONFIG_DIR", "tests/children")
        .env_remove("EVOKORE_PROFILE_SET")
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "evokore does not build:\n{}", String::from_utf8_lossy(&output.stderr));
    target.join("debug/evokore")
}

/// A folder with a note to read, itself a git repository, for one run; it goes when the run ends.
#[derive(Debug)]
pub(super) struct Sandbox {
    path: PathBuf,
}

impl Sandbox {
    /// A new sandbox. Its path is unique to this run, so that it marks the processes of the run.
    pub(super) fn new(name: &str) -> Sandbox {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("the sandbox can be made");
        let sandbox = Sandbox { path: path.canonicalize().expect("it is there") };
        let note = sandbox.path.join("note.txt");
        sandbox.git(&["init", "--quiet", "--initial-branch=main"]);
        fs::write(&note, "Please water the plants.\n").expect("the note can be written");
        sandbox.git(&["add", "note.txt"]);
        sandbox.git(&["commit", "--quiet", "--message=Put up a note"]);
        fs::write(&note, "Please water the plants.\nAnd feed the cat.\n").expect("the note can be changed");
        sandbox
    }

    /// Where it lies.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn git(&self, arguments: &[&str]) {
        let status = Command::new("git")
            .current_dir(&self.path)
            .args(["-c", "user.name=test", "-c", "user.email=test@example.invalid", "-c", "commit.gpgsign=false"])
            .args(arguments)
            .envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")])
            .status()
            .expect("git starts");
        assert!(status.success(), "git {arguments:?} failed");
    }

    /// Processes of this run that are left once it has had time to end: evokore and, through their command lines,
    /// the child servers. Elsewhere than on Linux nobody can tell.
    pub(super) async fn survivors(&self) -> Vec<String> {
        let end = Instant::now() + END_LIMIT;
        loop {
            let left = self.processes();
            if left.is_empty() || Instant::now() >= end {
                return left;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Processes of this run: id and command line of each.
    pub(super) fn processes(&self) -> Vec<String> {
        let marker = self.path.to_string_lossy();
        let own = std::process::id().to_string();
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        processes
            .filter(|process| {
                let name = process.file_name();
                name != *own && name.as_encoded_bytes().iter().all(u8::is_ascii_digit)
            })
            .filter_map(|process| {
                let read = |file| fs::read(process.path().join(file)).unwrap_or_default();
                let command = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
                let belongs =
                    command.contains(&*marker) || String::from_utf8_lossy(&read("environ")).contains(&*marker);
                // A process that has ended but was not waited for yet has no command line.
                (belongs && !command.is_empty()).then(|| format!("{} {command}", process.file_name().to_string_lossy()))
            })
            .collect()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // What stays behind lies in the target folder.
        let _ = fs::remove_dir_all(&self.path);
    }
}
