//! Standard streams that are shared or missing.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{LONG, Sandbox, eventually};

const REQUESTS: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
    "\n",
    r#"{"jsonrpc":"2.0","id":2,"method":"prompts/list"}"#,
    "\n",
    r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"search_skills","arguments":{"query":"x"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","id":4,"method":"tools/list"}"#,
);

/// Waits for the end, and no longer than anything may take.
fn ended(command: &mut Command) -> ExitStatus {
    let mut process = command.stderr(Stdio::null()).spawn().unwrap();
    let end = Instant::now() + LONG;
    loop {
        if let Some(status) = process.try_wait().unwrap() {
            return status;
        }
        if Instant::now() > end {
            let _ = process.kill();
            panic!("it does not end: {command:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The ids of the answers, sorted; each line must be one.
fn answered(lines: &str) -> Vec<u64> {
    let mut ids: Vec<u64> = lines
        .lines()
        .map(|line| {
            let answer: Value = serde_json::from_str(line).unwrap();
            assert!(answer["result"].is_object(), "{line}");
            answer["id"].as_u64().unwrap()
        })
        .collect();
    ids.sort_unstable();
    ids
}

#[test]
fn one_socket_serves_both_ways_and_keeps_its_mode() {
    let sandbox = Sandbox::new("streams-socket");
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let ways: [OwnedFd; 2] = [theirs.try_clone().unwrap().into(), theirs.try_clone().unwrap().into()];
    let [stdin, stdout] = ways;
    let mut process = sandbox.command(&["serve"]).stdin(stdin).stdout(stdout).stderr(Stdio::null()).spawn().unwrap();
    ours.set_read_timeout(Some(LONG)).unwrap();
    ours.write_all(REQUESTS.as_bytes()).unwrap();
    ours.write_all(b"\n").unwrap();
    let lines: Vec<String> = BufReader::new(ours.try_clone().unwrap()).lines().take(4).map(Result::unwrap).collect();
    assert_eq!(answered(&lines.join("\n")), [1, 2, 3, 4]);
    let flags = || rustix::fs::fcntl_getfl(&theirs).unwrap();
    assert!(flags().contains(rustix::fs::OFlags::NONBLOCK), "while it serves");
    ours.shutdown(Shutdown::Write).unwrap();
    eventually("it ends", || process.try_wait().unwrap().is_some());
    assert!(!flags().contains(rustix::fs::OFlags::NONBLOCK), "whoever holds the socket next finds it as it was");
}

#[test]
fn missing_streams_are_no_reason_to_stay() {
    let sandbox = Sandbox::new("streams-missing");
    sandbox.write("work/in", REQUESTS);
    for closed in ["<&-", ">&-", "<&- >&- 2>&-"] {
        let serve = sandbox.command(&["serve"]);
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &format!("exec \"$0\" serve {closed}")]).arg(serve.get_program());
        for (name, value) in serve.get_envs() {
            shell.env(name, value.unwrap_or_default());
        }
        shell.stdin(File::open(sandbox.path("work/in")).unwrap()).stdout(Stdio::null());
        assert!(ended(&mut shell).success(), "{closed}");
    }
}
