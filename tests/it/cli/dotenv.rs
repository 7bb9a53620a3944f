//! `.env`: where it is found, what it may say, and that it never overrides or tells.

use expect_test::expect;

use super::Sandbox;

fn profile(sandbox: &Sandbox) -> String {
    let told = sandbox.run(&["tools", "--json"]).json();
    format!("{} ({})", told["profile"].as_str().unwrap(), told["profileSource"].as_str().unwrap())
}

#[test]
fn places_and_precedence() {
    let mut sandbox = Sandbox::new("dotenv-places");
    assert_eq!(profile(&sandbox), "default (builtin-default)");
    sandbox.write("work/.env", "EVOKORE_DISCOVERY_PROFILE=lean\n");
    assert_eq!(profile(&sandbox), "lean (env)", "the working directory's");
    sandbox.write("conf/.env", "\u{feff}export EVOKORE_DISCOVERY_PROFILE='coding'\r\n");
    assert_eq!(profile(&sandbox), "coding (env)", "the configuration's comes first");
    sandbox.set("EVOKORE_DISCOVERY_PROFILE", "research");
    assert_eq!(profile(&sandbox), "research (env)", "what is set is not overridden");
    sandbox.unset("EVOKORE_DISCOVERY_PROFILE");
    sandbox.unset("EVOKORE_CONFIG_DIR");
    let beside = sandbox.path("conf/other.json").to_str().unwrap().to_owned();
    sandbox.set("EVOKORE_MCP_CONFIG_PATH", &beside);
    assert_eq!(profile(&sandbox), "coding (env)", "beside the configuration file");
}

#[test]
fn a_line_that_means_nothing() {
    let sandbox = Sandbox::new("dotenv-broken");
    sandbox
        .write("work/.env", "secret words\nTOKEN=\"secret\nEVOKORE_DISCOVERY_PROFILE=lean\nEVOKORE_HOME=/tmp/secret\n");
    let ran = sandbox.run(&["tools", "--json"]);
    expect![[r#"
        [EVOKORE] warning: .env:1: no `=` in the line
        [EVOKORE] warning: .env:2: `TOKEN`: the quote is never closed
        [EVOKORE] warning: .env: `EVOKORE_HOME` is not read from here, only from the environment
    "#]]
    .assert_eq(&ran.stderr);
    assert_eq!(ran.json()["profile"], "lean", "the other lines hold");

    // Going on without one of evokore's own variables would fail open.
    sandbox.write("work/.env", "A=1\n\nEVOKORE_ROLE=\"readonly\n");
    let mut told = String::new();
    for arguments in [&[][..], &["serve"], &["tools"]] {
        let ran = sandbox.run(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
        told.push_str(&ran.stderr);
    }
    expect![[r#"
        error: .env:3: `EVOKORE_ROLE`: the quote is never closed
        hint: mend the line, or set the variable in the environment and remove it here
        error: .env:3: `EVOKORE_ROLE`: the quote is never closed
        hint: mend the line, or set the variable in the environment and remove it here
        error: .env:3: `EVOKORE_ROLE`: the quote is never closed
        hint: mend the line, or set the variable in the environment and remove it here
    "#]]
    .assert_eq(&told);
}

#[test]
fn serving_names_what_it_read_but_not_the_values() {
    let sandbox = Sandbox::new("dotenv-serve");
    let text =
        "EVOKORE_DISCOVERY_PROFILE=lean\nEVOKORE_FS_ROOT=secret\nPATH=/elsewhere\nHTTPS_PROXY=http://elsewhere\n";
    sandbox.write("work/.env", text);
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let ran = sandbox.run_with(&[], &format!("{initialize}\n"));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.stdout.lines().count(), 1, "{ran:?}");
    assert!(
        ran.stderr.starts_with("[EVOKORE] read from `.env`: EVOKORE_DISCOVERY_PROFILE, EVOKORE_FS_ROOT\n"),
        "{ran:?}"
    );
    assert!(!ran.stderr.contains("secret"), "{ran:?}");
}

#[test]
fn only_the_configurations_own_file_reaches_the_servers_surroundings() {
    let mut sandbox = Sandbox::new("dotenv-trust");
    if !sandbox.with_fs_server() {
        return;
    }
    let proxy = |sandbox: &Sandbox| {
        let told = sandbox.run(&["call", "fs_about", "--json"]).json();
        told["structuredContent"]["env"]["HTTPS_PROXY"].as_str().map(str::to_owned)
    };
    sandbox.write("work/.env", "HTTPS_PROXY=http://elsewhere\n");
    assert_eq!(proxy(&sandbox), None, "the working directory may be anyone's");
    sandbox.write("conf/.env", "HTTPS_PROXY=http://proxy\n");
    assert_eq!(proxy(&sandbox).as_deref(), Some("http://proxy"));
}

#[test]
fn help_and_version_need_no_dotenv() {
    let sandbox = Sandbox::new("dotenv-help");
    sandbox.write("work/.env", "EVOKORE_DISCOVERY_PROFILE=\"lean\n");
    assert_eq!(sandbox.run(&["tools"]).code, 2, "the file is wrong");
    for arguments in [&["--help"][..], &["tools", "--help"], &["version"], &["completions", "bash"]] {
        assert!(!sandbox.run(arguments).content().is_empty(), "{arguments:?}");
    }
}
