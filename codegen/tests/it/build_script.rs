//! The build script: what it writes, what it tells Cargo.

use std::fs;

use evokore_codegen::build::run;
use expect_test::expect;

use crate::support::{folder, repository};

#[test]
fn a_foreign_configuration() {
    let root = folder("build_script_foreign");
    let (config, out) = (root.join("config"), root.join("out"));
    fs::create_dir_all(config.join("locks")).unwrap();
    fs::create_dir_all(&out).unwrap();
    fs::write(config.join("mcp.config.json"), r#"{ "mcpServers": { "mine": { "command": "x" } } }"#).unwrap();
    let variable = |name: &str| (name == "EVOKORE_CONFIG_DIR").then(|| config.display().to_string());
    let script = run(repository(), &out, &variable);
    let catalog = fs::read_to_string(out.join("catalog.rs")).unwrap();
    assert!(catalog.contains("id: \"mine\"") && !catalog.contains("id: \"github\""));
    let told = script.lines.join("\n").replace(&config.display().to_string(), "CONFIG");
    expect![[r#"
        cargo::rerun-if-env-changed=EVOKORE_CONFIG_DIR
        cargo::rerun-if-env-changed=EVOKORE_PROFILE_SET
        cargo::rerun-if-changed=CONFIG/mcp.config.json
        cargo::rerun-if-changed=CONFIG/locks
        cargo::rerun-if-changed=CONFIG
        cargo::rerun-if-changed=REPOSITORY/src/native
        cargo::rerun-if-changed=REPOSITORY/generated/token-counts.tsv"#]]
    .assert_eq(&told.replace(&repository().display().to_string(), "REPOSITORY"));
}

#[test]
fn problems_become_lines_for_cargo_and_nothing_is_written() {
    let root = folder("build_script_problems");
    let out = root.join("out");
    fs::create_dir_all(&out).unwrap();
    fs::write(root.join("mcp.config.json"), "{ \"servers\": {\n  \"a\": { \"comand\": \"x\" }\n} }").unwrap();
    let variable = |name: &str| (name == "EVOKORE_CONFIG_DIR").then(|| root.display().to_string());
    let script = run(repository(), &out, &variable);
    let told: Vec<&str> = script.lines.iter().filter_map(|line| line.strip_prefix("cargo::error=")).collect();
    expect![[r#"
        unknown key `comand` in server `a`
          --> mcp.config.json:2:10
          |
        2 |   "a": { "comand": "x" }
          |          ^^^^^^^^
        hint: did you mean `command`?"#]]
    .assert_eq(&told.join("\n"));
    assert_eq!(fs::read_dir(out).unwrap().count(), 0);
}

#[test]
fn a_second_build_counts_nothing_and_writes_nothing() {
    let out = folder("build_script_twice");
    let variable = |name: &str| (name == "EVOKORE_PROFILE_SET").then(|| "lean, voice".to_owned());
    let first = run(repository(), &out, &variable);
    let catalog = out.join("catalog.rs");
    assert!(fs::read_to_string(&catalog).unwrap().contains("VERSION_PROFILE_SET: &str = \"lean,voice\""));
    let written = fs::metadata(&catalog).unwrap().modified().unwrap();
    assert_eq!(run(repository(), &out, &variable).lines, first.lines);
    assert_eq!(fs::metadata(&catalog).unwrap().modified().unwrap(), written);
}
