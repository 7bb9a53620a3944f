//! Large results: how much memory they take on their way, and what happens to those that are too large.

use serde_json::json;

use super::{LONG, Sandbox, Session, modern, text};

/// The most memory that a process has had since it was started, in kB.
#[cfg(target_os = "linux")]
fn peak(session: &Session) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", session.process.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn a_large_result_is_held_once() {
    for (name, is_modern) in [("results-peak", false), ("results-peak-modern", true)] {
        let mut sandbox = Sandbox::new(name);
        if !sandbox.with_fs_server() {
            return;
        }
        let mut session = Session::greeted(&sandbox);
        session.wait_for_child();
        let params = json!({"name": "fs_huge", "arguments": {"megabytes": 48}});
        let before = peak(&session);
        session.request("tools/call", if is_modern { modern(params) } else { params });
        let line = std::iter::from_fn(|| session.lines.recv_timeout(LONG).ok()).find(|line| line.len() > 1 << 20);
        let size = line.unwrap().len() / 1024;
        let grown = peak(&session) - before;
        assert!(size > 46_000 && grown < size * 3 / 2, "{size} kB took {grown} kB");
    }
}

#[test]
fn a_result_over_the_limit_is_an_error_at_once_and_costs_nothing_else() {
    let mut sandbox = Sandbox::new("results-limit");
    if !sandbox.with_fs_server() {
        return;
    }
    sandbox.set("EVOKORE_MAX_RESULT_BYTES", "1000000");
    let mut session = Session::greeted(&sandbox);
    let pid = session.wait_for_child()["pid"].clone();
    for (megabytes, size) in [(1.1, "it has 110"), (12.0, "bytes had come when it was cut off"), (60.0, "cut off")] {
        let result = session.call("fs_huge", json!({"megabytes": megabytes}));
        let told = text(&result);
        assert_eq!(result["isError"], true, "{told}");
        for part in ["`fs`", size, "the limit is 1000000 bytes", "`maxResultBytes`", "EVOKORE_MAX_RESULT_BYTES"] {
            assert!(told.contains(part), "{told}");
        }
    }
    assert_eq!(text(&session.call("fs_huge", json!({"megabytes": 0.5}))).len(), 500_000);
    assert_eq!(session.wait_for_child()["pid"], pid, "it is the same child");
}
