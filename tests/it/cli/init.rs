//! `evokore init`: the files of each client, and what becomes of them.

use expect_test::expect_file;

use super::Sandbox;

const CLIENTS: [(&str, &str, Option<&str>); 5] = [
    ("claude", "home/.claude.json", Some("work/.mcp.json")),
    ("claude-desktop", "home/.config/Claude/claude_desktop_config.json", None),
    ("cursor", "home/.cursor/mcp.json", Some("work/.cursor/mcp.json")),
    ("vscode", "home/.config/Code/User/mcp.json", Some("work/.vscode/mcp.json")),
    ("codex", "home/.codex/config.toml", Some("work/.codex/config.toml")),
];

fn sandbox(name: &str) -> Sandbox {
    let mut sandbox = Sandbox::new(&format!("init-{name}"));
    sandbox.unset("EVOKORE_CONFIG_DIR");
    sandbox
}

/// A run as a person sees it, without the note that depends on where the tests were built.
fn transcript(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let text = sandbox.transcript(arguments);
    let lines = text.split_inclusive('\n');
    lines.filter(|line| !line.starts_with("note: this executable lies apart from its configuration")).collect()
}

#[test]
#[cfg_attr(not(target_os = "linux"), expect(unused, reason = "the files lie elsewhere"))]
fn every_client_and_scope() {
    let mut text = String::new();
    for (client, user, project) in CLIENTS {
        let sandbox = sandbox(client);
        let (user, project) = (user.to_owned(), project.map(str::to_owned));
        if cfg!(not(target_os = "linux")) {
            continue;
        }
        text.push_str(&transcript(&sandbox, &["init", client, "--dry-run"]));
        assert!(!sandbox.path(&user).exists(), "a dry run writes nothing");
        text.push_str(&transcript(&sandbox, &["init", client]));
        text.push_str(&transcript(&sandbox, &["init", client]));
        text.push_str(&transcript(&sandbox, &["init", client, "--profile", "lean"]));
        if let Some(project) = project {
            text.push_str(&transcript(&sandbox, &["init", client, "--scope", "project"]));
            assert!(sandbox.path(&project).is_file());
        }
        text.push_str(&transcript(&sandbox, &["init", client, "--print"]));
    }
    if cfg!(target_os = "linux") {
        expect_file!["init.txt"].assert_eq(&text);
    }
}

#[test]
fn what_was_there_is_kept_beside_it() {
    let sandbox = sandbox("backup");
    let before = "\u{feff}{\r\n\t// mine\r\n\t\"mcpServers\": {\r\n\t\t\"git\": {}\r\n\t}\r\n}\r\n";
    sandbox.write("home/.cursor/mcp.json", before);
    sandbox.run(&["init", "cursor"]).content();
    let after = sandbox.read("home/.cursor/mcp.json");
    assert_eq!(sandbox.read("home/.cursor/mcp.json.bak"), before);
    assert!(
        after
            .starts_with("\u{feff}{\r\n\t// mine\r\n\t\"mcpServers\": {\r\n\t\t\"git\": {},\r\n\t\t\"evokore\": {\r\n")
    );
    assert_eq!(after.matches('\n').count(), after.matches("\r\n").count(), "{after:?}");
    // Nothing to change: the copy of what was there first stays.
    sandbox.run(&["init", "cursor"]).content();
    assert_eq!(sandbox.read("home/.cursor/mcp.json.bak"), before);
    let names: Vec<_> =
        std::fs::read_dir(sandbox.path("home/.cursor")).unwrap().flatten().map(|it| it.file_name()).collect();
    assert_eq!(names.len(), 2, "no temporary file is left: {names:?}");
}

#[test]
#[cfg(unix)]
fn a_link_to_nowhere_stays_a_link() {
    let sandbox = sandbox("link");
    let link = sandbox.path("home/.cursor/mcp.json");
    std::fs::create_dir_all(link.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink("../dotfiles/mcp.json", &link).unwrap();
    let ran = sandbox.run(&["init", "cursor"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("is a link to `../dotfiles/mcp.json`, which does not exist\nhint: "), "{ran:?}");
    assert!(link.is_symlink());
    // One that leads somewhere is followed.
    sandbox.write("home/dotfiles/mcp.json", "{}");
    sandbox.run(&["init", "cursor"]).content();
    assert!(link.is_symlink() && sandbox.read("home/dotfiles/mcp.json").contains("\"evokore\""));
}

#[test]
fn the_entry_names_a_configuration_that_the_environment_names() {
    let mut sandbox = sandbox("named");
    sandbox.set("EVOKORE_MCP_CONFIG_PATH", "other/evokore.json");
    let entry = sandbox.run(&["init", "cursor", "--print"]).json();
    let env = &entry["mcpServers"]["evokore"]["env"];
    let path = sandbox.path("work/other/evokore.json").to_str().unwrap().to_owned();
    assert_eq!(
        env["EVOKORE_MCP_CONFIG_PATH"]
            .as_str()
            .unwrap()
            .replace("<root>/", &format!("{}/", sandbox.path("").to_str().unwrap().trim_end_matches('/'))),
        path
    );
}

#[test]
fn broken_files_are_left_alone() {
    let sandbox = sandbox("broken");
    let mut text = String::new();
    for (client, path, contents) in [
        ("cursor", "home/.cursor/mcp.json", &b"{\n  \"mcpServers\": {\n    \"a\": {} \"b\": {}\n  }\n}"[..]),
        ("claude", "home/.claude.json", b"{ \"mcpServers\": [] }"),
        ("codex", "home/.codex/config.toml", b"model = \"x\"\nbroken = = 1\n"),
        ("vscode", "home/.config/Code/User/mcp.json", b"{\n \"\xff\": 1 }"),
    ] {
        sandbox.write(path, contents);
        for arguments in [&["init", client, "--dry-run"][..], &["init", client]] {
            if cfg!(target_os = "linux") {
                text.push_str(&sandbox.transcript(arguments));
            }
        }
        assert_eq!(std::fs::read(sandbox.path(path)).unwrap(), contents);
        assert!(!sandbox.path(&format!("{path}.bak")).exists());
    }
    std::fs::create_dir_all(sandbox.path("work/.mcp.json")).unwrap();
    text.push_str(&transcript(&sandbox, &["init", "claude", "--scope", "project"]));
    if cfg!(target_os = "linux") {
        expect_file!["init-broken.txt"].assert_eq(&text);
    }
}

#[cfg(unix)]
#[test]
fn links_and_permissions_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let sandbox = sandbox("links");
    sandbox.write("conf/dotfiles/claude.json", "{}");
    std::fs::set_permissions(sandbox.path("conf/dotfiles/claude.json"), PermissionsExt::from_mode(0o640)).unwrap();
    symlink(sandbox.path("conf/dotfiles/claude.json"), sandbox.path("home/.claude.json")).unwrap();
    sandbox.run(&["init", "claude"]).content();
    let link = std::fs::symlink_metadata(sandbox.path("home/.claude.json")).unwrap();
    assert!(link.file_type().is_symlink());
    let file = std::fs::metadata(sandbox.path("conf/dotfiles/claude.json")).unwrap();
    assert_eq!(file.permissions().mode() & 0o777, 0o640);
    assert!(sandbox.read("conf/dotfiles/claude.json").contains("\"evokore\""));
}

#[test]
fn a_binary_for_another_folder_is_told_of_it() {
    let mut sandbox = sandbox("folder");
    sandbox.set("EVOKORE_CONFIG_DIR", "../conf");
    let entry = sandbox.run(&["init", "cursor", "--print"]).json();
    assert_eq!(entry["mcpServers"]["evokore"]["env"]["EVOKORE_CONFIG_DIR"], "<root>/work/../conf");
}
