//! Budgets beside the list's own: what a model sees, and the first use of a tool.

use std::fs;

use evokore_catalog::answers::{self, DEFAULT_LIMIT};
use evokore_catalog::project::always_visible;
use evokore_codegen::tokens::{Counter, Encoding, Known};
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

/// Answers are added up from the counts of their parts, since a digest lock keeps no texts. The whole text never costs
/// more: what a tokenizer joins across two parts costs less than the parts. It joins a full stop with the line break
/// after it, so a part may be counted one token too dear.
#[test]
fn the_sum_of_the_parts_is_no_less_than_the_whole() {
    let mut small = Small::new(&config(r#"{ "one": { "alwaysVisible": ["discover_tools"] } }"#));
    small.0.locks.clear();
    let model = small.compile().model;
    let one = model.profiles.iter().find(|profile| profile.entry.name == "one").unwrap();
    let lines: Vec<String> = model
        .tools
        .iter()
        .filter(|tool| !always_visible(&one.entry, tool.name, true))
        .map(|tool| answers::found_line(tool.name, "native", tool.description))
        .collect();
    assert_eq!(lines.len(), 2, "`describe_tool` is shown by every profile");
    let whole = answers::found_head(2, 2) + &lines.concat() + answers::HOW_TO_CALL;
    let whole = Counter::new(&Encoding::ALL, Known::default()).count("whole", &whole).of(Encoding::Cl100k);
    assert!((whole..=whole + 3).contains(&one.session.answer), "{} counted, {whole} sent", one.session.answer);
}

/// The counted answer is as long as the one that a model gets.
#[test]
fn the_default_limit_is_the_declared_one() {
    let text = fs::read_to_string(repository().join("src/native/discovery.tools.json")).unwrap();
    let tools: serde_json::Value = serde_json::from_str(&text).unwrap();
    let tool = tools.as_array().unwrap().iter().find(|tool| tool["name"] == "discover_tools").unwrap();
    assert_eq!(tool["inputSchema"]["properties"]["limit"]["default"], DEFAULT_LIMIT);
}
