//! The commands, run as processes in an environment that holds nothing but what a test puts there.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]
#![expect(clippy::disallowed_methods, reason = "variables of the test run, which evokore itself never reads")]

mod commands;
mod dotenv;
mod import;
mod init;
mod lock;
mod usage;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Root of the repository.
pub(crate) fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A home, a working directory and a `PATH` of one test's own.
pub(crate) struct Sandbox {
    root: PathBuf,
    binary: PathBuf,
    variables: Vec<(String, String)>,
}

/// What a command left.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Sandbox {
    /// An empty one. `name` must be unique among the tests.
    pub(crate) fn new(name: &str) -> Sandbox {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cli-{name}"));
        if root.exists() {
            fs::remove_dir_all(&root).unwrap();
        }
        for folder in ["home", "bin", "work", "conf"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        let root = fs::canonicalize(root).unwrap();
        let set = |name: &str, folder: &str| (name.to_owned(), root.join(folder).to_str().unwrap().to_owned());
        // The configuration's folder is named, so that no `.env` of the repository has a say.
        let variables = vec![set("HOME", "home"), set("PATH", "bin"), set("EVOKORE_CONFIG_DIR", "conf")];
        Sandbox { root, binary: env!("CARGO_BIN_EXE_evokore").into(), variables }
    }

    /// Runs another build of evokore.
    pub(crate) fn set_binary(&mut self, binary: impl Into<PathBuf>) {
        self.binary = binary.into();
    }

    /// Sets a variable for every command.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.variables.retain(|(known, _)| known != name);
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    /// Takes a variable away.
    pub(crate) fn unset(&mut self, name: &str) {
        self.variables.retain(|(known, _)| known != name);
    }

    /// A path below `home`, `bin`, `work` or `conf`.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Writes a file, with the folders above it. Who reads it meanwhile finds the old text or the new one.
    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let new = path.with_added_extension("new");
        fs::write(&new, text).unwrap();
        if let Ok(before) = fs::metadata(&path) {
            fs::set_permissions(&new, before.permissions()).unwrap();
        }
        fs::rename(new, path).unwrap();
    }

    /// Reads a file.
    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Makes `npx` start the test server, so that the configured server `fs` comes up without Node or a network.
    /// Gives back whether this machine can: it needs Python.
    pub(crate) fn with_fs_server(&mut self) -> bool {
        self.with_fs_server_that(&[])
    }

    /// The same with these habits of the test server.
    pub(crate) fn with_fs_server_that(&mut self, habits: &[&str]) -> bool {
        self.play("bin/npx", habits)
    }

    /// Writes a program that is the test server with these habits. Gives back whether this machine can run it.
    pub(crate) fn play(&self, path: &str, habits: &[&str]) -> bool {
        let output = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
        let Some(python) = output.ok().filter(|output| output.status.success()) else {
            let ci = std::env::var("CI").is_ok_and(|value| value == "true");
            assert!(!ci, "the tests of commands with a child server cannot run: python3 not found");
            let _ = writeln!(std::io::stderr(), "skipped a test of a command with a child server: python3 not found");
            return false;
        };
        let python = String::from_utf8(python.stdout).unwrap();
        let server = repository().join("tests/it/support/child.py");
        let habits: String = habits.iter().map(|habit| format!(" '{habit}'")).collect();
        self.write(path, format!("#!/bin/sh\nexec '{}' '{}'{habits}\n", python.trim(), server.display()));
        #[cfg(unix)]
        fs::set_permissions(self.path(path), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        true
    }

    /// Runs `evokore` with `arguments` and nothing on stdin.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with(arguments, "")
    }

    /// `evokore` with `arguments`, yet to be started.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(arguments).env_clear().envs(self.variables.iter().cloned()).current_dir(self.path("work"));
        command
    }

    /// Runs `evokore` with `arguments` and `input` on stdin.
    pub(crate) fn run_with(&self, arguments: &[&str], input: &str) -> Ran {
        let mut process = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that reads nothing may be gone already.
        let _ = process.stdin.take().unwrap().write_all(input.as_bytes());
        let output = process.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| {
            let text = String::from_utf8(bytes).unwrap();
            text.replace(self.binary.to_str().unwrap(), "<evokore>").replace(self.root.to_str().unwrap(), "<root>")
        };
        Ran { code: output.status.code().unwrap_or(-1), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// One run as a person sees it: the command, what came on both streams, the exit code unless it is 0.
    pub(crate) fn transcript(&self, arguments: &[&str]) -> String {
        let ran = self.run(arguments);
        let words: Vec<String> = arguments
            .iter()
            .map(|word| {
                if word.contains([' ', '{', '\'']) || word.is_empty() {
                    format!("'{word}'")
                } else {
                    (*word).to_owned()
                }
            })
            .collect();
        let code = if ran.code == 0 { String::new() } else { format!("[exit {}]\n", ran.code) };
        format!("$ evokore {}\n{}{}{code}\n", words.join(" "), ran.stdout, ran.stderr)
    }
}

impl Ran {
    /// What it says on stderr, which it must have failed for.
    pub(crate) fn failure(self) -> String {
        assert_ne!(self.code, 0, "{self:?}");
        self.stderr
    }

    /// stdout, after checking that the command was content.
    pub(crate) fn content(self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (0, ""), "stdout: {}", self.stdout);
        self.stdout
    }

    /// stdout as JSON.
    pub(crate) fn json(self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }
}
