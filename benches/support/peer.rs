//! A server to talk to over pipes, blocking: evokore, or the child directly.

use std::ffi::OsStr;
use std::io::{Read as _, Write as _};
use std::ops::Range;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use super::Fallible;

/// Before `tools/list` is asked again.
const PAUSE: Duration = Duration::from_millis(5);
/// A server that is not ready by then never will be.
const PATIENCE: Duration = Duration::from_secs(30);

const HELLO: &str = concat!(
    r#"{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n",
);
/// The question for the list, with its line end.
pub(crate) const LIST: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":\"list\",\"method\":\"tools/list\",\"params\":{}}\n";

pub(crate) struct Peer {
    child: Child,
    to: Option<ChildStdin>,
    from: ChildStdout,
    /// One buffer for all answers: the pages of a fresh one would come in while the clock runs.
    buffer: Vec<u8>,
    /// What of the buffer has been read, and what of it has been taken.
    filled: usize,
    taken: usize,
}

impl Peer {
    /// Starts `program` with nothing but `variables` in its environment.
    pub(crate) fn start(program: &Path, arguments: &[&str], variables: &[(&str, &OsStr)]) -> Fallible<Peer> {
        let mut command = Command::new(program);
        command.args(arguments).env_clear().env("HOME", "/nonexistent").env("PATH", "/usr/bin:/bin");
        command.env("EVOKORE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/home"));
        command.envs(variables.iter().copied());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let (to, from) = (child.stdin.take(), child.stdout.take().ok_or("a pipe")?);
        Ok(Peer { child, to, from, buffer: vec![b'\n'; 4 << 20], filled: 0, taken: 0 })
    }

    /// Shakes hands.
    pub(crate) fn greet(&mut self) -> Fallible<()> {
        self.send(HELLO.as_bytes())?;
        self.answer().map(drop)
    }

    /// How many tools it lists.
    pub(crate) fn list(&mut self) -> Fallible<usize> {
        self.send(LIST)?;
        Ok(memchr::memmem::find_iter(self.answer()?, br#""inputSchema""#).count())
    }

    /// Waits until it lists so many tools.
    pub(crate) fn lists(&mut self, tools: usize) -> Fallible<()> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let found = self.list()?;
            if found == tools {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(format!("{found} tools are listed, not {tools}").into());
            }
            std::thread::sleep(PAUSE);
        }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> Fallible<()> {
        Ok(self.to.as_mut().ok_or("its stdin is closed")?.write_all(bytes)?)
    }

    /// The next line, without its end.
    pub(crate) fn line(&mut self) -> Fallible<&[u8]> {
        let line = self.read_line()?;
        Ok(&self.buffer[line])
    }

    /// The next line, if it has been read already.
    pub(crate) fn line_at_hand(&mut self) -> Option<&[u8]> {
        let line = self.take_line(self.taken)?;
        Some(&self.buffer[line])
    }

    /// The next answer; notifications are passed over.
    pub(crate) fn answer(&mut self) -> Fallible<&[u8]> {
        loop {
            let line = self.read_line()?;
            if !is_notification(&self.buffer[line.clone()]) {
                return Ok(&self.buffer[line]);
            }
        }
    }

    /// The next answer, if it has been read already.
    pub(crate) fn answer_at_hand(&mut self) -> Option<&[u8]> {
        loop {
            let line = self.take_line(self.taken)?;
            if !is_notification(&self.buffer[line.clone()]) {
                return Some(&self.buffer[line]);
            }
        }
    }

    fn read_line(&mut self) -> Fallible<Range<usize>> {
        let mut scanned = self.taken;
        loop {
            if let Some(line) = self.take_line(scanned) {
                return Ok(line);
            }
            self.buffer.copy_within(self.taken..self.filled, 0);
            self.filled -= self.taken;
            self.taken = 0;
            scanned = self.filled;
            let n = self.from.read(&mut self.buffer[self.filled..])?;
            if n == 0 {
                return Err("the other side has ended, or said too much".into());
            }
            self.filled += n;
        }
    }

    /// Takes a line off the buffer: where it lies, without its end. None ends before `scanned`.
    fn take_line(&mut self, scanned: usize) -> Option<Range<usize>> {
        let end = scanned + memchr::memchr(b'\n', &self.buffer[scanned..self.filled])?;
        let line = self.taken..end;
        self.taken = end + 1;
        Some(line)
    }

    /// Nanoseconds that its threads have run.
    pub(crate) fn cpu(&self) -> Fallible<f64> {
        let text = std::fs::read_to_string(format!("/proc/{}/schedstat", self.child.id()))?;
        Ok(text.split(' ').next().ok_or("no time")?.parse()?)
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Resident kilobytes.
    pub(crate) fn memory(&self) -> Fallible<f64> {
        resident(self.child.id())
    }

    /// Closes its stdin, and waits for its end: whether it ended well.
    pub(crate) fn end(mut self) -> Fallible<bool> {
        self.to = None;
        Ok(self.child.wait()?.success())
    }
}

/// Resident kilobytes of a process.
pub(crate) fn resident(process: u32) -> Fallible<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

/// evokore and the child both write `jsonrpc` first, and then what tells an answer from the rest.
pub(crate) fn is_notification(line: &[u8]) -> bool {
    line.starts_with(br#"{"jsonrpc":"2.0","method""#)
}

impl Drop for Peer {
    fn drop(&mut self) {
        // A bench that fails leaves nothing behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
