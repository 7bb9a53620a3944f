//! What is said about profiles: names, skills, budgets, and the choice of profiles.

use expect_test::{Expect, expect};

use crate::support::{Small, folder};

/// The small configuration with these profiles.
fn config(discovery: &str) -> String {
    format!(
        "{{\n  \"servers\": {{ \"fs\": {{ \"command\": \"a\" }}, \"git\": {{ \"command\": \"b\" }} }},\n  \
         \"discovery\": {discovery}\n}}\n"
    )
}

fn check(discovery: &str, expected: Expect) {
    expected.assert_eq(&Small::new(&config(discovery)).shown());
}

#[test]
fn names_of_tools() {
    check(
        r#"{ "profiles": { "p": { "alwaysVisible": [
    "discover_tools",
    "fs_reed_file",
    "fs_unlink",
    "discovr_tools",
    "git_status", "git_log",
    "slack_post",
    "fs_read_file", "fs_read_file"
  ] } } }"#,
        expect![[r#"
            error: profile `p` lists unknown tool `fs_reed_file`
              --> mcp.config.json:5:5
              |
            5 |     "fs_reed_file",
              |     ^^^^^^^^^^^^^^
            hint: did you mean `fs_read_file`?

            error: profile `p` lists unknown tool `fs_unlink`
              --> mcp.config.json:6:5
              |
            6 |     "fs_unlink",
              |     ^^^^^^^^^^^
            hint: the lock of server `fs` has no such tool; make the lock anew if the server has changed

            error: profile `p` lists unknown tool `discovr_tools`
              --> mcp.config.json:7:5
              |
            7 |     "discovr_tools",
              |     ^^^^^^^^^^^^^^^
            hint: did you mean `discover_tools`?

            error: profile `p` lists unknown tool `slack_post`
              --> mcp.config.json:9:5
              |
            9 |     "slack_post",
              |     ^^^^^^^^^^^^
            hint: it is no native tool, and no configured server id starts it (`<id>_<tool>`)

            note: server `git` has no lock, so 2 of its tool names cannot be checked, among them `git_log`
            hint: record its tools: evokore lock git

            note: profile `p` lists `fs_read_file` twice
              --> mcp.config.json:10:21
               |
            10 |     "fs_read_file", "fs_read_file"
               |                     ^^^^^^^^^^^^^^
            hint: delete one of the two
        "#]],
    );
}

#[test]
fn names_and_values_of_profiles() {
    check(
        r#"{
    "activeProfil": "p",
    "tokenizer": "gpt2",
    "profiles": {
      "default": { "alwaysVisible": "all", "tokenBudget": 1 },
      "a b": { "alwaysVisible": "everything" },
      "c": { "description": 1, "tokenBudget": -1, "schemaMode": "compact", "activation": "list" },
      "d": { "alwaysVisible": ["discover_tools", 7], "maxTokens": 5000, "visible": [] }
    }
  }"#,
        expect![[r#"
            error: unknown key `activeProfil` in `discovery`
              --> mcp.config.json:4:5
              |
            4 |     "activeProfil": "p",
              |     ^^^^^^^^^^^^^^
            hint: did you mean `activeProfile`?

            error: `discovery.tokenizer` is `gpt2`, which is none of `cl100k_base`, `o200k_base`
              --> mcp.config.json:5:18
              |
            5 |     "tokenizer": "gpt2",
              |                  ^^^^^^

            error: the profile `default` always shows every native tool and no other
              --> mcp.config.json:7:7
              |
            7 |       "default": { "alwaysVisible": "all", "tokenBudget": 1 },
              |       ^^^^^^^^^
            hint: choose another name for this one and set `activeProfile` to it

            error: the list of profile `default` costs 100 tokens (cl100k_base, mode full), 99 over its budget of 1
              --> mcp.config.json:7:59
              |
            7 |       "default": { "alwaysVisible": "all", "tokenBudget": 1 },
              |                                                           ^
            hint: dearest tools: `describe_tool` 29, `execute_skill` 23, `resolve_workflow` 23, `discover_tools` 22; show fewer, or raise the budget

            error: `a b` is no name for a profile
              --> mcp.config.json:8:7
              |
            8 |       "a b": { "alwaysVisible": "everything" },
              |       ^^^^^
            hint: use 1 to 64 letters, digits, `-`, `_` or `.`, and no dot in front

            error: `alwaysVisible` of profile `a b` is `everything`, which is none of `all`, `all-native`
              --> mcp.config.json:8:33
              |
            8 |       "a b": { "alwaysVisible": "everything" },
              |                                 ^^^^^^^^^^^^

            error: profile `c` has no `alwaysVisible`
              --> mcp.config.json:9:7
              |
            9 |       "c": { "description": 1, "tokenBudget": -1, "schemaMode": "compact", "activation": "list" },
              |       ^^^
            hint: add a list of tool names, "all" or "all-native"

            error: `description` of profile `c` must be a string, but is 1
              --> mcp.config.json:9:29
              |
            9 |       "c": { "description": 1, "tokenBudget": -1, "schemaMode": "compact", "activation": "list" },
              |                             ^
            hint: write it in quotes: "1"

            error: `tokenBudget` of profile `c` must be a whole number above 0, but is -1
              --> mcp.config.json:9:47
              |
            9 |       "c": { "description": 1, "tokenBudget": -1, "schemaMode": "compact", "activation": "list" },
              |                                               ^^

            error: `schemaMode` of profile `c` is `compact`, which is none of `full`, `deferred`
              --> mcp.config.json:9:65
              |
            9 |       "c": { "description": 1, "tokenBudget": -1, "schemaMode": "compact", "activation": "list" },
              |                                                                 ^^^^^^^^^

            error: an element of `alwaysVisible` of profile `d` must be a string, but is 7
              --> mcp.config.json:10:50
               |
            10 |       "d": { "alwaysVisible": ["discover_tools", 7], "maxTokens": 5000, "visible": [] }
               |                                                  ^
            hint: write it in quotes: "7"

            note: the key `visible` in profile `d` has no meaning here and is ignored
              --> mcp.config.json:10:73
               |
            10 |       "d": { "alwaysVisible": ["discover_tools", 7], "maxTokens": 5000, "visible": [] }
               |                                                                         ^^^^^^^^^
            hint: keys read here: alwaysVisible, description, mandatoryInjectionSkills, tokenBudget, visibleTokenBudget, sessionTokenBudget, schemaMode, activation
        "#]],
    );
}

#[test]
fn the_active_profile() {
    check(
        r#"{ "activeProfile": "codnig", "profiles": { "coding": { "alwaysVisible": "all" } } }"#,
        expect![[r#"
        error: the active profile `codnig` is not defined
          --> mcp.config.json:3:35
          |
        3 |   "discovery": { "activeProfile": "codnig", "profiles": { "coding": { "alwaysVisible": "all" } } }
          |                                   ^^^^^^^^
        hint: did you mean `coding`?
    "#]],
    );
    check(
        r#"{ "activeProfile": "x", "profiles": { "coding": { "alwaysVisible": "all" } } }"#,
        expect![[r#"
        error: the active profile `x` is not defined
          --> mcp.config.json:3:35
          |
        3 |   "discovery": { "activeProfile": "x", "profiles": { "coding": { "alwaysVisible": "all" } } }
          |                                   ^^^
        hint: known profiles: `coding`, `default`
    "#]],
    );
    check(r#"{ "activeProfile": "default" }"#, expect![[""]]);
}

#[test]
fn the_built_in_profile_takes_a_budget() {
    check(r#"{ "profiles": { "default": { "tokenBudget": 5000, "schemaMode": "deferred" } } }"#, expect![[""]]);
    check(
        r#"{ "profiles": { "default": { "alwaysVisible": "all-native", "tokenBudget": 50 } } }"#,
        expect![[r#"
        error: the list of profile `default` costs 100 tokens (cl100k_base, mode full), 50 over its budget of 50
          --> mcp.config.json:3:91
          |
        3 |   "discovery": { "profiles": { "default": { "alwaysVisible": "all-native", "tokenBudget": 50 } } }
          |                                                                                           ^^
        hint: dearest tools: `describe_tool` 29, `execute_skill` 23, `resolve_workflow` 23, `discover_tools` 22; show fewer, or raise the budget
    "#]],
    );
}

#[test]
fn budgets() {
    check(
        r#"{ "profiles": {
    "over": { "alwaysVisible": "all", "tokenBudget": 300 },
    "within": { "alwaysVisible": "all", "tokenBudget": 450 },
    "deferred": { "alwaysVisible": "all", "schemaMode": "deferred", "tokenBudget": 300 }
  } }"#,
        expect![[r#"
            error: the list of profile `over` costs 400 tokens (cl100k_base, mode full), 100 over its budget of 300
              --> mcp.config.json:4:54
              |
            4 |     "over": { "alwaysVisible": "all", "tokenBudget": 300 },
              |                                                      ^^^
            hint: dearest tools: `fs_write_file` 200, `fs_read_file` 100, `describe_tool` 29, `execute_skill` 23, `resolve_workflow` 23; show fewer, or raise the budget
        "#]],
    );
}

#[test]
fn mandatory_skills() {
    check(
        r#"{ "profiles": {
    "p": {
      "alwaysVisible": ["discover_tools"],
      "mandatoryInjectionSkills": ["orch-plan"]
    }
  } }"#,
        expect![[r#"
            error: profile `p` declares mandatory skills but shows no tool that reaches them
              --> mcp.config.json:6:36
              |
            6 |       "mandatoryInjectionSkills": ["orch-plan"]
              |                                    ^^^^^^^^^^^
            hint: add `execute_skill`, and `resolve_workflow` or `get_skill_help` to its `alwaysVisible`

            error: profile `p` declares the mandatory skill `orch-plan`, which does not exist
              --> mcp.config.json:6:36
              |
            6 |       "mandatoryInjectionSkills": ["orch-plan"]
              |                                    ^^^^^^^^^^^
            hint: write it under SKILLS/, or take it off the list
        "#]],
    );
}

#[test]
fn mandatory_skills_that_are_there_and_in_reach() {
    let skills = folder("profiles_skills");
    let listed = r#"["discover_tools", "execute_skill", "resolve_workflow"]"#;
    let discovery = format!(
        r#"{{ "profiles": {{
    "p": {{ "alwaysVisible": {listed}, "mandatoryInjectionSkills": ["orch-plan", "plans/Orch-Plan", "orch-plna"] }}
  }} }}"#
    );
    let text = "---\nname: orch-plan\ndescription: Plans work when it is large.\n---\nPlan.\n";
    let small = Small::new(&config(&discovery)).skill(&skills, "plans/orch-plan/SKILL.md", text);
    expect![[r#"
        error: profile `p` declares the mandatory skill `orch-plna`, which does not exist
          --> mcp.config.json:4:147
          |
        4 |     "p": { "alwaysVisible": ["discover_tools", "execute_skill", "resolve_workflow"], "mandatoryInjectionSkills": ["orch-plan", "plans/Orch-Plan", "orch-plna"] }
          |                                                                                                                                                   ^^^^^^^^^^^
        hint: did you mean `orch-plan`?
    "#]].assert_eq(&small.shown());
}

#[test]
fn a_choice_of_profiles() {
    let config = config(
        r#"{ "activeProfile": "b", "profiles": {
    "a": { "alwaysVisible": "all" }, "b": { "alwaysVisible": "all", "tokenBudget": 1 } } }"#,
    );
    let names = |set: &[&str]| {
        let compilation = Small::new(&config).only(set).compile();
        compilation.model.profiles.iter().map(|profile| profile.entry.name).collect::<Vec<_>>()
    };
    assert_eq!(names(&["a"]), ["default", "a"]);
    assert_eq!(names(&["default"]), ["default"]);
    expect![[r#"
        error: `EVOKORE_PROFILE_SET` names the unknown profile `bb`
        hint: did you mean `b`?

        error: the active profile `b` is left out by `EVOKORE_PROFILE_SET`
          --> mcp.config.json:3:35
          |
        3 |   "discovery": { "activeProfile": "b", "profiles": {
          |                                   ^^^
        hint: add `b` to the set, or make another profile active
    "#]]
    .assert_eq(&Small::new(&config).only(&["a", "bb"]).shown());
}

#[test]
fn what_a_profile_shows_and_costs() {
    let config = config(
        r#"{ "tokenizer": "o200k_base", "profiles": {
    "named": { "alwaysVisible": ["fs_write_file", "discover_tools"] }, "all": { "alwaysVisible": "all" } } }"#,
    );
    let compilation = Small::new(&config).compile();
    let shown: Vec<String> = compilation
        .model
        .profiles
        .iter()
        .map(|profile| format!("{} {:?} {:?}", profile.entry.name, profile.entry.bits, profile.entry.tokens))
        .collect();
    expect![[r#"
        default [15] ProfileTokens { tools: 4, bytes: 455, full: 104, deferred: 176, visible: 77 }
        all [63] ProfileTokens { tools: 6, bytes: 455, full: 424, deferred: 286, visible: 257 }
        named [35] ProfileTokens { tools: 3, bytes: 250, full: 267, deferred: 136, visible: 128 }"#]]
    .assert_eq(&shown.join("\n"));
}
