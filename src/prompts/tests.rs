//! The prompts over a small library.

use std::sync::Arc;

use expect_test::{Expect, expect};
use serde_json::{Map, Value, json};

use super::{complete, get, list};
use crate::app::App;
use crate::catalog::CATALOG;
use crate::settings::Settings;
use crate::skills::Library;
use crate::skills::tests::compiled;

fn app() -> Arc<App> {
    let (settings, _) = Settings::resolve(&CATALOG, &|_| None).unwrap();
    App::new(settings, Library::with(compiled(), None))
}

fn check(name: &str, arguments: Value, expected: Expect) {
    let arguments: Map<String, Value> = serde_json::from_value(arguments).unwrap();
    let shown = match get(&app(), name, &arguments) {
        Err(error) => format!("error: {error}\n"),
        Ok(prompt) => {
            let messages = prompt["messages"].as_array().unwrap().iter();
            let line = |message: &Value| {
                assert_eq!(message["content"]["type"], "text");
                format!("{}: {}\n", message["role"].as_str().unwrap(), message["content"]["text"].as_str().unwrap())
            };
            messages.map(line).collect()
        }
    };
    expected.assert_eq(&shown);
}

#[test]
fn a_workflow_for_an_objective() {
    check(
        "resolve-workflow",
        json!({"objective": "bring a service to production"}),
        expect![[r#"
        user: Find the way of working that fits this objective: bring a service to production
        assistant: ## deploy [OPS]

        Brings a service into production.

        Ship it.
    "#]],
    );
    check(
        "resolve-workflow",
        json!({"objective": "zebra"}),
        expect![[r#"
        user: Find the way of working that fits this objective: zebra
        assistant: No skill fits this objective; go by general knowledge.
    "#]],
    );
}

#[test]
fn help_about_a_skill() {
    check(
        "skill-help",
        json!({"skill_name": "ops/lint"}),
        expect![[r#"
        user: Show me the skill lint.
        assistant: # lint

        Category: OPS

        Checks manifests of the cluster.

        ---

        Check.
    "#]],
    );
    check(
        "skill-help",
        json!({"skill_name": "lnt"}),
        expect![[r#"
        error: no skill is called `lnt`; did you mean `lint`?
    "#]],
    );
}

#[test]
fn what_is_missing_is_said() {
    check(
        "resolve-workflow",
        json!({}),
        expect![[r#"
        error: prompt `resolve-workflow` needs the argument `objective`: a text that is not empty
    "#]],
    );
    check(
        "resolve-workflow",
        json!({"objective": " "}),
        expect![[r#"
        error: prompt `resolve-workflow` needs the argument `objective`: a text that is not empty
    "#]],
    );
    check(
        "skill-help",
        json!({"objective": "x"}),
        expect![[r#"
        error: prompt `skill-help` needs the argument `skill_name`: a text that is not empty
    "#]],
    );
    check(
        "no-prompt",
        json!({}),
        expect![[r#"
        error: no prompt `no-prompt`; there are `resolve-workflow`, `skill-help`, `server-overview`
    "#]],
    );
}

#[test]
fn the_overview_names_servers_and_categories() {
    let prompt = get(&app(), "server-overview", &Map::new()).unwrap();
    let text = prompt["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.starts_with(concat!("evokore ", env!("CARGO_PKG_VERSION"), ", mode dynamic, profile ")), "{text}");
    assert!(text.ends_with("Skills by category:\n- DEV: 3\n- OPS: 3"), "{text}");
}

#[test]
fn every_declared_argument_is_required_and_completed() {
    let app = app();
    for prompt in list()["prompts"].as_array().unwrap() {
        for argument in prompt["arguments"].as_array().into_iter().flatten() {
            assert_eq!(argument["required"], true);
            let reference = json!({"type": "ref/prompt", "name": prompt["name"]});
            let answer = complete(&app, &reference, argument["name"].as_str().unwrap(), "rel");
            assert_eq!(answer, json!({"completion": {"hasMore": false, "total": 1, "values": ["release"]}}));
        }
    }
    let template = json!({"type": "ref/resource", "uri": "skill://{category}/{name}"});
    assert_eq!(complete(&app, &template, "name", "de")["completion"]["values"], json!(["deploy"]));
    let nobody = json!({"type": "ref/prompt", "name": "no-prompt"});
    assert_eq!(complete(&app, &nobody, "x", "y")["completion"]["total"], 0);
}
