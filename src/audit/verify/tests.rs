//! A log is written, somebody meddles with it, and the check says where.

use std::fs;
use std::path::PathBuf;

use proptest::prelude::{ProptestConfig, any, proptest};

use super::*;
use crate::audit::append::Appender;
use crate::audit::event::{Event, Outcome, Stamp};
use crate::state::approvals::scratch;

/// A log of a test's own.
struct Log {
    root: PathBuf,
    appender: Appender,
}

impl Log {
    fn new(name: &str, max_file: u64) -> Log {
        let root = scratch(&format!("audit-{name}"));
        let stamp = Stamp { run: "r".to_owned(), settings: None };
        Log { appender: Appender { folder: Folder::below(&root), stamp, max_file, keep: 2 }, root }
    }

    /// Writes so many events, a write for each.
    fn write(&self, count: usize) {
        for n in 0..count {
            let event = Event::new(Kind::Call, Outcome::Allowed).tool(&format!("tool{n}"));
            self.appender.append(&[event]).expect("written");
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.appender.folder.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("a file of the log")
    }

    /// Changes the lines of a file.
    fn change(&self, name: &str, change: impl FnOnce(&mut Vec<String>)) {
        let mut lines: Vec<String> = self.text(name).lines().map(str::to_owned).collect();
        change(&mut lines);
        fs::write(self.path(name), lines.join("\n") + "\n").expect("written");
    }

    fn check(&self) -> Report {
        verify(&self.appender.folder, None).expect("it can be read")
    }

    /// Where the log is not what was written, and what is wrong.
    fn fault(&self) -> String {
        let fault = self.check().fault.expect("something is wrong");
        let name = fault.file.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        format!("{name}:{}: {}", fault.line, fault.what)
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

#[test]
fn a_log_as_written_is_in_order() {
    let log = Log::new("order", 1 << 20);
    assert_eq!(log.check(), Report::default(), "no log is no fault");
    log.write(5);
    let report = log.check();
    assert_eq!((report.files, report.lines, report.first, report.last.seq, report.fault), (1, 5, 1, 5, None));
    let noted = report.last.hash;
    log.write(1);
    assert_eq!(verify(&log.appender.folder, Some(noted)).expect("read").fault, None);
    let other = verify(&log.appender.folder, Some(Hash::of(b"x"))).expect("read").fault.expect("a fault");
    assert_eq!(other.what, "no line has the digest that was noted");
    #[cfg(unix)]
    for (path, mode) in [("", 0o700), ("audit.jsonl", 0o600), ("head", 0o600), ("lock", 0o600)] {
        use std::os::unix::fs::PermissionsExt as _;
        let found = fs::metadata(log.path(path)).expect("it is there").permissions().mode() & 0o777;
        assert_eq!(found, mode, "{path}");
    }
}

#[test]
fn what_was_meddled_with_is_named() {
    type Meddle = fn(&mut Vec<String>);
    let cases: [(&str, Meddle, &str, u64); 9] = [
        ("removed", |lines| drop(lines.remove(2)), "audit.jsonl:3: the line before it is missing, number 3", 2),
        (
            "removed-two",
            |lines| drop(lines.drain(1..3)),
            "audit.jsonl:2: the lines before it are missing, numbers 2 to 3",
            1,
        ),
        ("first", |lines| drop(lines.remove(0)), "audit.jsonl:1: the lines before it are missing, from line 1 on", 0),
        (
            "changed",
            |lines| lines[1] = lines[1].replace("tool1", "tool7"),
            "audit.jsonl:2: it was changed: the next line has the digest of another one",
            1,
        ),
        (
            "changed-last",
            |lines| lines[4] = lines[4].replace("tool4", "tool7"),
            "audit.jsonl:5: line number 5 was changed: it is not the one that `head` names",
            4,
        ),
        ("swapped", |lines| lines.swap(1, 2), "audit.jsonl:2: the line before it is missing, number 2", 1),
        (
            "twice",
            |lines| lines.insert(2, lines[1].clone()),
            "audit.jsonl:3: it is number 2, and stands after number 2",
            2,
        ),
        (
            "cut-within",
            |lines| lines[2].truncate(40),
            "audit.jsonl:3: it is no line of the log: it was changed, or put there",
            2,
        ),
        (
            "cut-off",
            |lines| lines.truncate(3),
            "audit.jsonl:3: lines 4 to 5 are missing after it: the end was cut off",
            3,
        ),
    ];
    for (name, meddle, expected, in_order) in cases {
        let log = Log::new(name, 1 << 20);
        log.write(5);
        log.change("audit.jsonl", meddle);
        assert_eq!((log.fault().as_str(), log.check().lines), (expected, in_order), "{name}");
        // What is written afterwards hides nothing.
        log.write(2);
        assert!(log.check().fault.is_some(), "{name}");
    }
}

#[test]
fn an_end_that_was_cut_off_is_written_down() {
    let log = Log::new("gone", 1 << 20);
    log.write(5);
    log.change("audit.jsonl", |lines| lines.truncate(3));
    log.write(1);
    assert_eq!(
        log.fault(),
        "audit.jsonl:4: when this was written, the log before it was not what it should be: the end is missing, to line 5"
    );
    let log = Log::new("gone-all", 1 << 20);
    log.write(5);
    fs::remove_file(log.path("audit.jsonl")).expect("removed");
    assert!(log.fault().ends_with("lines 1 to 5 are missing after it: the end was cut off"), "{}", log.fault());
    log.write(1);
    assert!(log.fault().ends_with("missing, from line 1 on"), "{}", log.fault());
}

#[test]
fn a_head_that_is_gone_or_damaged_is_told() {
    for (name, text) in [("head-gone", None), ("head-odd", Some("x"))] {
        let log = Log::new(name, 1 << 20);
        log.write(3);
        match text {
            None => fs::remove_file(log.path("head")).expect("removed"),
            Some(text) => fs::write(log.path("head"), text).expect("written"),
        }
        assert!(log.fault().starts_with("head:0: it is "), "{}", log.fault());
        log.write(1);
        assert!(log.fault().starts_with("audit.jsonl:4: when this was written"), "{}", log.fault());
    }
}

#[test]
fn a_line_that_was_not_finished_is_no_meddling() {
    let log = Log::new("torn", 1 << 20);
    log.write(3);
    let whole = log.text("audit.jsonl");
    for length in [1, 20, 150] {
        // As a process leaves it that dies while it writes: the head names the line before.
        let next = &whole.lines().next().expect("a line")[..length];
        fs::write(log.path("audit.jsonl"), log.text("audit.jsonl") + next).expect("written");
        let before = log.check();
        assert_eq!(before.fault, None, "{length}");
        log.write(2);
        let after = log.check();
        assert_eq!((after.fault, after.torn, after.lines), (None, before.torn, before.lines + 3), "{length}");
    }
    assert_eq!(log.check().torn, 3);
    // What is left of a line must not be changed either.
    log.change("audit.jsonl", |lines| lines[3] = "y".to_owned());
    assert_eq!(log.fault(), "audit.jsonl:4: it is no line of the log: it was changed, or put there");
}

#[test]
fn a_last_line_that_had_been_finished_cannot_be_torn() {
    let log = Log::new("torn-late", 1 << 20);
    log.write(3);
    let text = log.text("audit.jsonl");
    fs::write(log.path("audit.jsonl"), &text[..text.len() - 9]).expect("written");
    assert_eq!(log.fault(), "audit.jsonl:2: line 3 is missing after it: the end was cut off");
}

#[test]
fn lines_after_what_the_head_names_are_in_order() {
    let log = Log::new("behind", 1 << 20);
    log.write(3);
    let head = fs::read(log.path("head")).expect("a head");
    log.write(2);
    // A process has died between its lines and the head.
    fs::write(log.path("head"), head).expect("written");
    assert_eq!(log.check().fault, None);
    log.write(1);
    assert_eq!((log.check().fault, log.check().lines), (None, 6));
}

#[test]
fn the_chain_goes_on_from_file_to_file() {
    let log = Log::new("rotated", 1200);
    log.write(20);
    let report = log.check();
    assert_eq!((report.fault.as_ref(), report.files, report.last.seq), (None, 3, 20), "{report:?}");
    assert!(report.first > 1 && report.lines == 21 - report.first, "{report:?}");
    assert!(!log.path("audit.3.jsonl").exists());
    for name in ["audit.jsonl", "audit.1.jsonl", "audit.2.jsonl"] {
        assert!(log.text(name).len() <= 1200, "{name}");
    }
    let oldest = fs::read(log.path("audit.2.jsonl")).expect("read");
    fs::remove_file(log.path("audit.2.jsonl")).expect("removed");
    assert!(log.fault().starts_with("audit.1.jsonl:1: the lines before it are missing, from line "));
    fs::write(log.path("audit.2.jsonl"), oldest).expect("written");
    fs::remove_file(log.path("audit.1.jsonl")).expect("removed");
    assert!(log.fault().starts_with("audit.jsonl:1: the lines before it are missing, numbers "), "{}", log.fault());
}

#[test]
fn a_new_file_that_has_no_line_yet_follows_the_old_one() {
    let log = Log::new("moved", 1 << 20);
    log.write(3);
    fs::rename(log.path("audit.jsonl"), log.path("audit.1.jsonl")).expect("moved");
    assert_eq!(log.check().fault, None);
    fs::write(log.path("audit.jsonl"), "{\"se").expect("written");
    assert_eq!((log.check().fault, log.check().torn), (None, 1));
    log.write(1);
    let report = log.check();
    assert_eq!((report.fault, report.lines, report.torn, report.last.seq), (None, 5, 1, 5));
}

#[test]
fn several_write_one_log() {
    let log = Log::new("several", 4000);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| log.write(25));
        }
    });
    let report = log.check();
    assert_eq!((report.fault, report.last.seq), (None, 100));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever byte is changed, the check neither fails nor is content.
    #[test]
    fn no_changed_byte_stays_unseen(at in any::<proptest::sample::Index>(), byte in any::<u8>()) {
        let log = Log::new("bytes", 1 << 20);
        log.write(4);
        let mut bytes = fs::read(log.path("audit.jsonl")).expect("read");
        let at = at.index(bytes.len());
        if bytes[at] != byte {
            bytes[at] = byte;
            fs::write(log.path("audit.jsonl"), bytes).expect("written");
            assert!(log.check().fault.is_some(), "byte {at} became {byte}");
        }
    }
}
