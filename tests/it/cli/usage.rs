//! What a person is told who types something wrong, and what `--help` says: exact texts.

use expect_test::expect_file;

use super::Sandbox;

#[test]
fn wrong_command_lines() {
    let sandbox = Sandbox::new("usage");
    let text: String = [
        &["seach", "x"][..],
        &["xyzzy"],
        &["--nope"],
        &["tools", "--jsn"],
        &["tools", "extra"],
        &["tools", "--profile"],
        &["tools", "--profile", "codin"],
        &["try", "--profile", "codin"],
        &["search"],
        &["search", " "],
        &["search", "x", "--limit", "0"],
        &["search", "x", "--limit", "many"],
        &["call"],
        &["call", "nope"],
        &["call", "search_skill"],
        &["call", "search_skills", "{"],
        &["call", "search_skills", "[1]"],
        &["call", "search_skills", "{}", "{}"],
        &["lock", "fs", "--check", "--full"],
        &["approvals", "aprove"],
        &["approvals", "approve"],
        &["approvals", "approve", "1f"],
        &["audit", "--since", "yesterday"],
        &["audit", "--outcome", "bad"],
        &["audit", "verify", "--noted", "1f"],
        &["init"],
        &["init", "nano"],
        &["init", "claude", "--scope", "world"],
        &["init", "claude", "--print", "--dry-run"],
        &["init", "claude-desktop", "--scope", "project"],
        &["init", "cursor", "--profile", "codin"],
        &["completions"],
        &["completions", "cmd"],
        &["version", "--json=1"],
        &["serve", "--port", "80"],
    ]
    .iter()
    .map(|arguments| sandbox.transcript(arguments))
    .collect();
    expect_file!["usage.txt"].assert_eq(&text);
}

#[test]
fn help() {
    let sandbox = Sandbox::new("help");
    let text: String = [
        &["--help"][..],
        &["serve", "--help"],
        &["try", "--help"],
        &["tools", "--help"],
        &["search", "--help"],
        &["call", "--help"],
        &["lock", "--help"],
        &["approvals", "--help"],
        &["approvals", "approve", "--help"],
        &["audit", "--help"],
        &["audit", "verify", "--help"],
        &["doctor", "--help"],
        &["init", "--help"],
        &["completions", "--help"],
        &["version", "--help"],
    ]
    .iter()
    .map(|arguments| sandbox.transcript(arguments))
    .collect();
    expect_file!["help.txt"].assert_eq(&text);
    assert_eq!(sandbox.run(&["-h"]).content(), sandbox.run(&["--help"]).content());
    assert_eq!(sandbox.run(&["--version"]).content(), format!("evokore {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn settings_that_mean_nothing() {
    let mut text = String::new();
    for (name, value) in [
        ("EVOKORE_DISCOVERY_PROFILE", "codin"),
        ("EVOKORE_TOOL_DISCOVERY_MODE", "legasy"),
        ("EVOKORE_TOOL_SCHEMA_MODE", "tiny"),
        ("EVOKORE_ROLE", "root"),
        ("EVOKORE_STEERING_MODE", "reserch"),
        ("EVOKORE_TOOL_LIST_PAGINATION", "perhaps"),
        ("EVOKORE_CHILD_SERVER_BOOT_TIMEOUT_MS", "soon"),
    ] {
        let mut sandbox = Sandbox::new(&format!("settings-{}", name.to_lowercase()));
        sandbox.set(name, value);
        for arguments in [&["serve"][..], &["tools"], &["try"]] {
            text.push_str(&format!("{name}={value} {}", sandbox.transcript(arguments).trim_start_matches("$ ")));
        }
    }
    expect_file!["settings.txt"].assert_eq(&text);
}

#[test]
fn numbers_out_of_range_count_as_the_nearer_end() {
    let mut sandbox = Sandbox::new("settings-range");
    sandbox.set("EVOKORE_TOOL_LIST_PAGE_SIZE", "1001");
    sandbox.set("EVOKORE_CHILD_SERVER_BOOT_TIMEOUT_MS", "0");
    let ran = sandbox.run(&["tools", "--profile", "lean"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(
        ran.stderr,
        "[EVOKORE] warning: EVOKORE_TOOL_LIST_PAGE_SIZE is 1001, and the most is 1000, which is taken\n\
         [EVOKORE] warning: EVOKORE_CHILD_SERVER_BOOT_TIMEOUT_MS is 0, and the least is 1, which is taken\n"
    );
}
