//! The commands that look and call, without and with a child server.

use serde_json::Value;

use super::{Sandbox, repository};

#[test]
fn no_argument_and_no_terminal_serves() {
    let sandbox = Sandbox::new("serve");
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    for arguments in [&[][..], &["serve"]] {
        let ran = sandbox.run_with(arguments, &format!("{initialize}\n"));
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(ran.json()["result"]["protocolVersion"], "2025-11-25");
    }
    assert_eq!(sandbox.run(&[]).code, 0, "an end of input before anything else is no error");
}

/// The rows of a generated table, in columns.
fn rows(table: &str) -> impl Iterator<Item = Vec<&str>> {
    table.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').collect())
}

#[test]
fn tools_are_the_compiled_profiles() {
    let sandbox = Sandbox::new("tools");
    let read = |path: &str| std::fs::read_to_string(repository().join("generated").join(path)).unwrap();
    let permissions = read("permissions.tsv");
    let denied: Vec<&str> = rows(&permissions).filter(|row| row[1] == "deny").map(|row| row[0]).collect();
    let mut seen = 0;
    for row in rows(&read("profiles.tsv")) {
        let told = sandbox.run(&["tools", "--json", "--profile", row[0]]).json();
        let shown: Vec<&str> =
            told["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        let projection = read(&format!("projections/{}.tsv", row[0]));
        let permitted: Vec<&str> = rows(&projection).map(|row| row[1]).filter(|name| !denied.contains(name)).collect();
        assert_eq!(shown, permitted, "{}", row[0]);
        if shown.len().to_string() == row[3] {
            assert_eq!(told["tokens"]["full"].to_string(), row[5], "{}", row[0]);
        }
        let text = sandbox.run(&["tools", "--profile", row[0]]).content();
        assert!(text.starts_with(&format!("profile {} (--profile)", row[0])), "{text}");
        assert!(!text.contains('\u{1b}'), "no colour without a terminal");
        seen += 1;
    }
    assert!(seen >= 7, "every profile has a row");

    let mut sandbox = sandbox;
    let left = |sandbox: &Sandbox| {
        sandbox.run(&["tools"]).content().lines().any(|line| line.starts_with("budget ") && line.ends_with(" left"))
    };
    assert!(left(&sandbox), "the list that the build has counted");
    sandbox.set("EVOKORE_TOOL_DISCOVERY_MODE", "legacy");
    assert!(!left(&sandbox), "the build has not counted this list");
}

#[test]
fn the_policy_is_the_reviewed_one_and_says_why() {
    let mut sandbox = Sandbox::new("policy");
    let table = std::fs::read_to_string(repository().join("generated/permissions.tsv")).unwrap();
    let head: Vec<&str> = table.lines().find(|line| line.starts_with("# tool")).unwrap().split('\t').collect();
    let column_of = |name: &str| head.iter().position(|known| *known == name).unwrap();
    for (column, name) in head.iter().enumerate().skip(1) {
        let mode = name.strip_prefix("in mode ");
        let chosen: &[&str] = match mode {
            Some(mode) => &["--role", "admin", "--mode", mode],
            None if column == 1 => &[],
            None => &["--role", name],
        };
        let told = sandbox.run(&[&["policy", "--json"], chosen].concat()).json();
        let tools = told["tools"].as_array().unwrap();
        assert_eq!(tools.len(), rows(&table).count());
        for (tool, row) in tools.iter().zip(rows(&table)) {
            assert_eq!((&tool["tool"], &tool["access"]), (&row[0].into(), &row[column].into()), "{name}");
            if mode.is_some() {
                assert_eq!(row[column_of("admin")], "allow", "the mode alone decides");
                assert_eq!(tool["decidedBy"], if row[column] == "allow" { "role" } else { "mode" }, "{name}: {tool}");
            }
        }
    }
    let explained = [
        &["fs_write_file"][..],
        &["fs_read_file", "--role", "readonly"],
        &["fs_write_file", "--role", "readonly"],
        &["discover_tools", "--role", "readonly"],
        &["fs_list_directory", "--role", "developer"],
        &["fs_edit_file", "--mode", "debug"],
        &["fs_write_file", "--role", "developer", "--mode", "review"],
        &["fs_write_file", "--role", "readonly", "--mode", "debug"],
        &["call_tool", "--mode", "research"],
    ];
    let told: String =
        explained.iter().map(|of| sandbox.run(&[&["policy", "explain"], *of].concat()).content()).collect();
    expect_test::expect![[r#"
        fs_write_file without a role in mode `dev`: require_approval
          `fs_write_file` (permissions.yml:12) names it, in `rules`
          the mode takes nothing of that away
        fs_read_file as role `readonly` in mode `dev`: allow
          `fs_read_file` (permissions.yml:75) names it, in `overrides` of `readonly`
          the mode takes nothing of that away
        fs_write_file as role `readonly` in mode `dev`: deny
          nothing in `overrides` of `readonly` fits it; this is the role's `default_permission`
          the mode takes nothing of that away
        discover_tools as role `readonly` in mode `dev`: allow
          no rule in `overrides` of `readonly` names it, and a native tool that only informs is allowed then
          the mode takes nothing of that away
        fs_list_directory as role `developer` in mode `dev`: allow
          `fs_list_directory` (permissions.yml:59) names it, in `overrides` of `developer`
          the mode takes nothing of that away
        fs_edit_file without a role in mode `debug`: require_approval
          the mode leaves no more: `*[destructiveHint]` fits it (reads and adds, and is asked before anything is changed or deleted)
          without the mode it is allow:
          nothing in `rules` fits it; `EVOKORE_SECURITY_DEFAULT_DENY` decides on such tools
        fs_write_file as role `developer` in mode `review`: deny
          the mode leaves no more: `*[!readOnlyHint]` fits it (reads what is to be judged, and changes nothing)
          without the mode it is require_approval:
          nothing in `overrides` of `developer` fits it; this is the role's `default_permission`
        fs_write_file as role `readonly` in mode `debug`: deny
          nothing in `overrides` of `readonly` fits it; this is the role's `default_permission`
          the mode takes nothing of that away
        call_tool without a role in mode `research`: allow
          nothing in `rules` fits it; `EVOKORE_SECURITY_DEFAULT_DENY` decides on such tools
          the mode takes nothing of that away
    "#]]
    .assert_eq(&told);
    for chosen in [&[][..], &["--role", "developer", "--mode", "security-audit"], &["--mode", "debug"]] {
        let table = sandbox.run(&[&["policy"], chosen].concat()).content();
        let long: Vec<&str> = table.lines().filter(|line| line.chars().count() > 120).collect();
        assert!(long.is_empty(), "{long:#?}");
    }
    // An option takes the place of a variable, be that right or wrong.
    sandbox.set("EVOKORE_ROLE", "bad");
    sandbox.set("EVOKORE_STEERING_MODE", "bad");
    let chosen = sandbox.run(&["policy", "--role", "admin", "--mode", "review", "--json"]).json();
    assert_eq!((&chosen["role"], &chosen["mode"]), (&"admin".into(), &"review".into()));
    for key in ["roleDescription", "modeDescription", "others"] {
        assert!(chosen[key].is_string(), "{key}: {chosen}");
    }
    let counts = ["allow", "require_approval", "deny"].map(|level| chosen["counts"][level].as_u64().unwrap());
    assert_eq!(counts.iter().sum::<u64>(), chosen["tools"].as_array().unwrap().len() as u64);
    let written = chosen["tools"].as_array().unwrap().iter().find(|tool| tool["tool"] == "fs_write_file").unwrap();
    assert_eq!((&written["ofRole"]["access"], &written["ofMode"]["access"]), (&"allow".into(), &"deny".into()));
    assert_eq!(sandbox.run(&["policy", "--role", "admin"]).code, 2, "the mode is still wrong");
    sandbox.set("EVOKORE_ROLE", "readonly");
    sandbox.set("EVOKORE_STEERING_MODE", "review");
    let told = sandbox.run(&["policy", "--json"]).json();
    assert_eq!((&told["role"], &told["mode"]), (&"readonly".into(), &"review".into()));
    assert!(sandbox.run(&["policy"]).content().contains("\nmode review: "));
    for (arguments, said) in [
        (&["policy", "--role", "reedonly"][..], "did you mean `readonly`?"),
        (&["policy", "--mode", "reserch"], "did you mean `research`? modes: `debug`, "),
        (&["policy", "explain", "fs_writefile"], "did you mean `fs_write_file`?"),
        (&["policy", "explain", "nobody"], "`evokore policy` lists all"),
    ] {
        let ran = sandbox.run(arguments);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.stderr.contains(said), "{ran:?}");
    }
}

#[test]
fn search_finds_an_exact_name_first() {
    let sandbox = Sandbox::new("search");
    let told = sandbox.run(&["search", "--json", "proxy_server_status"]).json();
    assert_eq!(told["matches"][0]["name"], "proxy_server_status");
    assert_eq!(told["matches"][0]["server"], "native");
    let text = sandbox.run(&["search", "qqqq", "zzzz"]).content();
    assert!(text.starts_with("no tool matches `qqqq zzzz`\n"), "{text}");
    assert!(text.contains("hint: `--live` searches the tools of "), "{text}");
}

#[test]
fn search_finds_what_only_a_name_tells() {
    let sandbox = Sandbox::new("search-names");
    for query in ["open a pull request", "github_create_pull_request"] {
        let told = sandbox.run(&["search", "--json", query]).json();
        let names: Vec<&str> =
            told["byNameOnly"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert!(names.contains(&"github_create_pull_request"), "{told}");
        let text = sandbox.run(&["search", query]).content();
        assert!(text.contains("by name alone, since the server is not up:\n  github_"), "{text}");
        assert!(!text.contains("no tool matches") && !text.contains("no tool knows: request"), "{text}");
    }
    let mut sandbox = Sandbox::new("search-denied");
    sandbox.set("EVOKORE_ROLE", "readonly");
    let told = sandbox.run(&["search", "--json", "github_create_pull_request"]).json();
    let names = told["byNameOnly"].as_array().unwrap().iter().map(|tool| &tool["name"]);
    assert!(names.clone().count() > 0, "near names are: {told}");
    assert!(names.into_iter().all(|name| name != "github_create_pull_request"), "a denied tool is not found: {told}");
}

#[test]
fn version_tells_the_build() {
    let sandbox = Sandbox::new("version");
    let told = sandbox.run(&["version", "--json"]).json();
    assert_eq!(told["version"], env!("CARGO_PKG_VERSION"));
    for hash in ["catalogSha256", "policySha256", "inputsSha256"] {
        assert_eq!(told[hash].as_str().unwrap().len(), 64, "{hash}");
        assert!(sandbox.run(&["version"]).content().contains(told[hash].as_str().unwrap()), "{hash}");
    }
    assert_eq!(told["profileSet"], "all");
    assert!(told["profiles"].as_array().unwrap().contains(&Value::from("lean")));
}

#[test]
fn completions_for_every_shell() {
    let sandbox = Sandbox::new("completions");
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = sandbox.run(&["completions", shell]).content();
        assert!(script.contains("doctor") && script.contains("profile"), "{shell}");
    }
}

#[test]
#[cfg(feature = "http")]
fn a_program_is_not_logged_in_to() {
    let sandbox = Sandbox::new("login-program");
    let told = ["login github", "logout fs", "login nobody"].map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        sandbox.transcript(&words)
    });
    expect_test::expect![[r#"
        $ evokore login github
        error: login of child server `github`: it is started by a `command`, so there is nothing to log in to
        hint: it takes its credentials from its environment: set `GITHUB_PERSONAL_ACCESS_TOKEN`
        [exit 3]

        $ evokore logout fs
        error: logout of child server `fs`: it is started by a `command`, so there is nothing to log in to
        hint: such a program takes credentials from its environment: give them to it in `env` of its entry, as `"NAME": "${NAME}"`
        [exit 3]

        $ evokore login nobody
        error: there is no child server `nobody` in this build
        hint: known: github, fs, elevenlabs, supabase
        [exit 2]

    "#]].assert_eq(&told.concat());
}

#[test]
fn calls_without_a_server() {
    let sandbox = Sandbox::new("call");
    let ran = sandbox.run(&["call", "describe_tool", r#"{"tools": ["call_tool", "nope"]}"#, "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.json()["structuredContent"]["unknown"][0], "nope");
    let ran = sandbox.run_with(&["call", "describe_tool", "-"], "{\"tools\": 3}");
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""), "an error of the tool: {ran:?}");
    assert!(ran.stdout.contains("`tools`"), "{ran:?}");
    let ran = sandbox.run(&["call", "fs_echo", "{}"]);
    assert_eq!(ran.code, 1, "its server cannot start: {ran:?}");
    assert!(ran.stdout.contains("npx"), "{ran:?}");
    let ran = sandbox.run(&["call", "fs_write_file", "{}"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.starts_with("error: `fs_write_file` needs approval, and "), "{ran:?}");
    assert_eq!(ran.stdout, "", "a token that is void at once is not shown");
}

#[test]
fn a_child_server_is_called_searched_and_examined() {
    let mut sandbox = Sandbox::new("child");
    if !sandbox.with_fs_server() {
        return;
    }
    assert_eq!(sandbox.run(&["call", "fs_echo", r#"{"a":1}"#]).content(), "{\"a\": 1}\n");
    let found = sandbox.run(&["search", "--live", "--json", "fs_echo"]).json();
    assert_eq!(found["matches"][0]["name"], "fs_echo");
    let ran = sandbox.run(&["doctor", "--json"]);
    let told = ran.json();
    let fs = told["servers"].as_array().unwrap().iter().find(|server| server["id"] == "fs").unwrap();
    assert_eq!((&fs["status"], &fs["registeredToolCount"]), (&"connected".into(), &3.into()));
}

#[test]
fn doctor_tells_what_is_wrong() {
    let mut sandbox = Sandbox::new("doctor");
    let root = repository().to_str().unwrap().to_owned();
    let folder = sandbox.path("conf").to_str().unwrap().to_owned();
    let weights = |sandbox: &Sandbox| -> Vec<(String, String, String)> {
        let ran = sandbox.run(&["doctor", "--json"]);
        let told = serde_json::from_str::<Value>(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
        let problems = told["problems"].as_u64().unwrap();
        assert_eq!(ran.code, i32::from(problems > 0), "{ran:?}");
        let text = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
        let findings = told["findings"].as_array().unwrap().iter();
        findings.map(|it| (text(it, "about"), text(it, "weight"), text(it, "text"))).collect()
    };
    let of = |found: &[(String, String, String)], about: &str| {
        let (_, weight, text) =
            found.iter().find(|(it, ..)| it == about).unwrap_or_else(|| panic!("{about}: {found:?}"));
        format!("{weight}: {text}")
    };

    // An empty folder is not what was compiled, and there is no `npx`.
    let found = weights(&sandbox);
    assert!(of(&found, "inputs").starts_with("problem: `<root>/conf` is not what was compiled: gone "), "{found:?}");
    assert!(of(&found, "fs").starts_with("problem: ") && of(&found, "fs").contains("npx"), "{found:?}");
    sandbox.set("EVOKORE_DISCOVERY_PROFILE", "research");
    let told = of(&weights(&sandbox), "profile");
    assert!(told.starts_with("note: `research` names ") && told.contains(" of servers that are not up: `"), "{told}");
    sandbox.unset("EVOKORE_DISCOVERY_PROFILE");
    assert!(of(&found, "github").starts_with("note: waits: `env.GITHUB_PERSONAL_ACCESS_TOKEN`"), "{found:?}");

    // The repository is what was compiled.
    sandbox.set("EVOKORE_CONFIG_DIR", &root);
    let found = weights(&sandbox);
    assert!(of(&found, "inputs").starts_with("ok: "), "{found:?}");

    // A folder that is not there, and a variable that is misspelt.
    sandbox.set("EVOKORE_CONFIG_DIR", "/no/such/folder");
    sandbox.set("EVOKORE_DISCOVERY_PROFIL", "lean");
    sandbox.set("EVOKORE_FS_ROOT", ".");
    let found = weights(&sandbox);
    assert_eq!(of(&found, "inputs"), "problem: there is no folder `/no/such/folder`");
    let notes: Vec<&str> =
        found.iter().filter(|it| it.0 == "settings" && it.1 == "note").map(|it| it.2.as_str()).collect();
    assert_eq!(notes, ["`EVOKORE_DISCOVERY_PROFIL` is set and means nothing to evokore"]);
    sandbox.unset("EVOKORE_DISCOVERY_PROFIL");

    // Changed, new and gone files are told.
    sandbox.set("EVOKORE_CONFIG_DIR", &folder);
    sandbox.write("conf/mcp.config.json", "{}");
    sandbox.write("conf/SKILLS/a/b/SKILL.md", "---\n");
    let told = of(&weights(&sandbox), "inputs");
    assert!(told.contains("changed `mcp.config.json`") && told.contains("new `SKILLS/a/b/SKILL.md`"), "{told}");
    for lock in ["fs", "strange"] {
        sandbox.write(&format!("conf/generated/locks/{lock}.json"), "{}");
    }
    let told = sandbox.run(&["doctor", "--json"]).json();
    assert_eq!(told["inputs"]["changed"], serde_json::json!(["generated/locks/fs.json", "mcp.config.json"]));
    let new = ["SKILLS/a/b/SKILL.md", "generated/locks/strange.json"];
    assert_eq!(told["inputs"]["new"], serde_json::json!(new));
    let gone = told["inputs"]["gone"].as_array().unwrap();
    for path in ["permissions.yml", "generated/locks/github.json"] {
        assert!(gone.contains(&path.into()), "{path}: {told}");
    }
    // The hashes are those of the build, whatever lies on disk.
    let version = sandbox.run(&["version", "--json"]).json();
    for key in ["catalogSha256", "policySha256", "inputsSha256", "profileSet"] {
        assert_eq!(told["build"][key], version[key], "{key}");
    }
    let text = sandbox.run(&["doctor"]).stdout;
    for key in ["catalogSha256", "policySha256"] {
        assert!(text.contains(version[key].as_str().unwrap()), "{key}: {text}");
    }

    // What becomes of the audit log.
    let told = of(&weights(&sandbox), "state");
    assert!(told.starts_with("ok: audit log in `") && told.ends_with("/.evokore/audit`"), "{told}");
    std::fs::remove_dir_all(sandbox.path("home/.evokore/audit")).unwrap();
    sandbox.write("home/.evokore/audit", "in the way");
    let told = of(&weights(&sandbox), "state");
    assert!(told.starts_with("problem: the audit log in `") && told.contains("cannot be written"), "{told}");
    sandbox.set("EVOKORE_AUDIT_LOG", "false");
    assert_eq!(of(&weights(&sandbox), "state"), "note: there is no audit log, because `EVOKORE_AUDIT_LOG` says so");

    sandbox.set("EVOKORE_ROLE", "nobody");
    assert!(of(&weights(&sandbox), "settings").starts_with("problem: EVOKORE_ROLE is `nobody`"));
}

#[test]
fn trying_needs_neither_node_nor_keys() {
    let sandbox = Sandbox::new("try");
    let text = sandbox.run(&["try"]).content();
    let headings: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with(' '))
        .map(|line| line.split([' ', ',', ':']).next().unwrap_or_default())
        .filter(|word| !word.is_empty())
        .collect();
    assert_eq!(headings, ["evokore", "start-up", "profiles", "servers", "search", "call", "end", "next"], "{text}");
    assert!(text.contains("profile default (builtin-default)"), "{text}");
    assert!(text.contains("initialize") && text.contains(" ms"), "{text}");
    for profile in ["coding", "research", "voice", "lean", "legacy-full", "legacy-dynamic"] {
        assert!(text.contains(&format!(" {profile} ")), "{profile}: {text}");
    }
    assert!(text.contains("npx"), "it says why `fs` is not up: {text}");
    let searched = text.split("search for \"").nth(1).unwrap();
    assert!(searched.contains("\n  proxy_server_status "), "the default search finds something: {text}");
    let called = text.split("\ncall ").nth(1).unwrap();
    assert!(called.lines().nth(1).is_some_and(|line| line.starts_with("  ")), "the call answers: {text}");
}

#[test]
fn trying_a_profile_with_a_server() {
    let mut sandbox = Sandbox::new("try-child");
    if !sandbox.with_fs_server() {
        return;
    }
    let text = sandbox.run(&["try", "--profile", "lean", "fs_echo"]).content();
    assert!(text.contains("profile lean (--profile)"), "{text}");
    assert!(text.contains("  fs          connected     3 tools\n"), "{text}");
    assert!(text.contains("\n  fs_echo "), "{text}");
}

#[test]
fn a_person_settles_what_waits() {
    let sandbox = Sandbox::new("approvals");
    assert_eq!(sandbox.run(&["approvals"]).content(), "nothing waits for approval\n");
    let request = |id: &str, ends: u64| {
        let request = serde_json::json!({
            "id": id, "tool": "fs_write_file", "arguments": "{\"path\":\"a\"}", "createdAt": 1, "expiresAt": ends, "pid": 1,
        });
        sandbox.write(&format!("home/.evokore/approvals/{id}.json"), request.to_string());
    };
    request("1f0c2a3b", 32_503_680_000);
    request("1f0c9999", 32_503_680_000);
    // A file that names another request settles none.
    sandbox.write("home/.evokore/approvals/cafe0000.json", sandbox.read("home/.evokore/approvals/1f0c2a3b.json"));
    request("deadbeef", 2);
    let told = sandbox.run(&["approvals", "--json"]).json();
    assert_eq!(told["pending"].as_array().unwrap().len(), 2, "ended requests are gone: {told}");
    let text = sandbox.run(&["approvals", "list"]).content();
    assert!(text.contains("1f0c2a3b  ") && text.contains("  fs_write_file  {\"path\":\"a\"}\n"), "{text}");
    let ran = sandbox.run(&["approvals", "approve", "1f0c"]);
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (2, "error: `1f0c` fits 2 of them; give more digits\nhint: `evokore approvals` lists what waits\n")
    );
    let text = sandbox.run(&["approvals", "approve", "1f0c2"]).content();
    assert_eq!(text, "approved 1f0c2a3b: fs_write_file {\"path\":\"a\"}\n");
    assert_eq!(sandbox.read("home/.evokore/approvals/1f0c2a3b.decision"), "approved\n");
    assert_eq!(sandbox.run(&["approvals", "deny", "1f0c9999", "--json"]).json()["decision"], "denied");
}
