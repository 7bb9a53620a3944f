//! `cargo codegen`.

use std::fs;
use std::path::Path;

use evokore_codegen::cli::{FOUND, OK, USAGE, run};
use expect_test::expect;

use crate::support::{NATIVES, folder};

/// A repository of its own with a small configuration.
fn small_repository(test: &str) -> std::path::PathBuf {
    let root = folder(test);
    fs::create_dir_all(root.join("src/native")).unwrap();
    fs::write(root.join("src/native/some.tools.json"), NATIVES).unwrap();
    fs::write(root.join("mcp.config.json"), r#"{ "servers": { "fs": { "command": "x" } } }"#).unwrap();
    root
}

fn codegen(root: &Path, arguments: &[&str]) -> (u8, String) {
    let arguments: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
    let mut out = Vec::new();
    let code = run(&arguments, root, &|_| None, &mut out);
    (code, String::from_utf8(out).unwrap().replace(&root.display().to_string(), "ROOT"))
}

#[test]
fn writes_checks_and_says_what_is_stale() {
    let root = small_repository("cli_stale");
    assert_eq!(codegen(&root, &["--check"]).0, FOUND);
    let (code, text) = codegen(&root, &[]);
    assert_eq!((code, text.lines().count()), (OK, 9), "{text}");
    assert_eq!(codegen(&root, &["--check"]), (OK, "generated/ is up to date\n".to_owned()));
    assert_eq!(codegen(&root, &[]), (OK, "generated/ is up to date\n".to_owned()));

    let profiles = root.join("generated/profiles.tsv");
    fs::write(&profiles, fs::read_to_string(&profiles).unwrap().replace("default\t", "other\t")).unwrap();
    fs::write(root.join("generated/projections/gone.tsv"), "").unwrap();
    let (code, text) = codegen(&root, &["--check"]);
    assert_eq!(code, FOUND);
    expect![[r#"
        error: generated/ is stale
        generated/profiles.tsv
          - other	list	-	4	455	100	175	76	104	-	-	-	0	0	100	-
          + default	list	-	4	455	100	175	76	104	-	-	-	0	0	100	-
        generated/projections/gone.tsv
          no longer belongs there
        hint: run `cargo codegen` and commit the result
    "#]]
    .assert_eq(&text);
}

#[test]
fn locks_are_made_and_used() {
    let root = small_repository("cli_lock");
    let list = root.join("list.json");
    fs::write(&list, r#"{"tools":[{"name":"read","inputSchema":{"type":"object"}},{"title":"?"}]}"#).unwrap();
    let list = list.display().to_string();
    let (code, text) = codegen(&root, &["lock", "--server", "fs", "--from", &list, "--server-info", "x@1.0"]);
    expect![[r#"
        note: left out entry 2: it has no `name`
        locked 1 tools of `fs` in ROOT/generated/locks/fs.json
    "#]]
    .assert_eq(&text);
    assert_eq!(code, OK);
    assert_eq!(codegen(&root, &[]).0, OK);
    let all = fs::read_to_string(root.join("generated/permissions.tsv")).unwrap();
    assert!(all.contains("\nfs_read\t"), "{all}");
}

#[test]
fn wrong_arguments() {
    let root = small_repository("cli_wrong");
    for (arguments, expected) in [
        (
            &["--chek"][..],
            expect![[r#"
            error: unknown argument `--chek`
            hint: cargo codegen --help
        "#]],
        ),
        (
            &["lock"],
            expect![[r#"
            error: `lock` needs `--server` and `--from`
            hint: cargo codegen --help
        "#]],
        ),
        (
            &["lock", "--server"],
            expect![[r#"
            error: `--server` needs a value
            hint: cargo codegen --help
        "#]],
        ),
        (
            &["lock", "--server", "a/b", "--from", "x"],
            expect![[r#"
            error: `a/b` is no server id
            hint: use letters, digits, `-` and `_`
        "#]],
        ),
        (
            &["lock", "--server", "a", "--from", "x", "--server-info", "y"],
            expect![[r#"
            error: `y` is not of the form NAME@VERSION
            hint: cargo codegen --help
        "#]],
        ),
    ] {
        let (code, text) = codegen(&root, arguments);
        assert_eq!(code, USAGE);
        expected.assert_eq(&text);
    }
}

#[test]
fn a_broken_configuration_writes_nothing() {
    let root = small_repository("cli_broken");
    fs::write(root.join("mcp.config.json"), "{").unwrap();
    let (code, text) = codegen(&root, &[]);
    assert_eq!(code, USAGE);
    expect![[r#"
        error: no valid JSON: unterminated object
          --> mcp.config.json:1:1
          |
        1 | {
          | ^
        hint: is a `}` missing?

        error: the configuration has errors; nothing was written
    "#]]
    .assert_eq(&text);
    assert!(!root.join("generated").exists());
}
