//! Budgets beside the list's own: what a model sees, and the first use of a tool.

use std::fs;

use evokore_catalog::answers::DEFAULT_LIMIT;
use expect_test::expect;

use crate::support::{Small, repository};

fn config(profiles: &str) -> String {
    format!(
        "{{\n  \"servers\": {{ \"fs\": {{ \"command\": \"files\" }} }},\n  \"discovery\": {{ \"profiles\": {profiles} }}\n}}\n"
    )
}

#[test]
fn what_a_model_may_see() {
    let config = config(
        r#"{
    "default": { "visibleTokenBudget": 77 },
    "over": { "alwaysVisible": "all", "visibleTokenBudget": 200 }
  }"#,
    );
    expect![[r#"
        error: what a model sees of the list of profile `over` costs 236 tokens (cl100k_base), 36 over its budget of 200
          --> mcp.config.json:5:61
          |
        5 |     "over": { "alwaysVisible": "all", "visibleTokenBudget": 200 }
          |                                                             ^^^
        hint: dearest tools: `fs_read_file` 80, `fs_write_file` 80, `execute_skill` 19, `resolve_workflow` 19, `describe_tool` 18; show fewer, or raise the budget
    "#]].assert_eq(&Small::new(&config).shown());
}

#[test]
fn a_first_use() {
    let config = config(
        r#"{
    "over": { "alwaysVisible": ["discover_tools", "describe_tool"], "sessionTokenBudget": 100 },
    "within": { "alwaysVisible": ["discover_tools", "describe_tool"], "sessionTokenBudget": 400 },
    "everything": { "alwaysVisible": "all", "sessionTokenBudget": 401 }
  }"#,
    );
    expect![[r#"
        error: a first use of profile `over` costs 249 tokens (cl100k_base), 149 over its budget of 100
          --> mcp.config.json:4:91
          |
        4 |     "over": { "alwaysVisible": ["discover_tools", "describe_tool"], "sessionTokenBudget": 100 },
          |                                                                                           ^^^
        hint: its list 54, an answer of `discover_tools` 88, one of `describe_tool` 107; show fewer tools, shorten the first sentences of descriptions, or raise the budget
    "#]].assert_eq(&Small::new(&config).shown());
}

#[test]
fn what_a_first_use_consists_of() {
    let config = config(
        r#"{
    "stable": { "alwaysVisible": ["discover_tools", "describe_tool"], "activation": "stable" },
    "deferred": { "alwaysVisible": ["discover_tools", "describe_tool"], "schemaMode": "deferred" },
    "everything": { "alwaysVisible": "all" }
  }"#,
    );
    let model = Small::new(&config).compile().model;
    let shown: Vec<String> =
        model.profiles.iter().map(|profile| format!("{} {:?}", profile.entry.name, profile.session)).collect();
    expect![[r#"
        default Session { list: 100, answer: 68, schema: 207 }
        deferred Session { list: 79, answer: 88, schema: 107 }
        everything Session { list: 400, answer: 0, schema: 0 }
        stable Session { list: 54, answer: 81, schema: 107 }"#]]
    .assert_eq(&shown.join("\n"));
}

/// The counted answer is as long as the one that a model gets.
#[test]
fn the_default_limit_is_the_declared_one() {
    let text = fs::read_to_string(repository().join("src/native/discovery.tools.json")).unwrap();
    let tools: serde_json::Value = serde_json::from_str(&text).unwrap();
    let tool = tools.as_array().unwrap().iter().find(|tool| tool["name"] == "discover_tools").unwrap();
    assert_eq!(tool["inputSchema"]["properties"]["limit"]["default"], DEFAULT_LIMIT);
}
