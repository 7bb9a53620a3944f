//! What the tools of the skill library answer, in both forms, over a small library.

use std::sync::Arc;

use expect_test::{Expect, expect};
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::calls::CallContext;
use crate::calls::outcome::Outcome;
use crate::catalog::{CATALOG, NativeTool};
use crate::native;
use crate::settings::Settings;
use crate::skills::Library;
use crate::skills::tests::{Folder, compiled};

fn context(library: Library) -> CallContext {
    let (settings, _) = Settings::resolve(&CATALOG, &|_| None).unwrap();
    let app: Arc<App> = App::new(settings, library);
    CallContext::alone(app)
}

async fn call(ctx: &CallContext, tool: NativeTool, arguments: Value) -> Value {
    let arguments: Map<String, Value> = serde_json::from_value(arguments).unwrap();
    match native::call(tool, &arguments, ctx).await.into_outcome() {
        Outcome::Result(bytes) => serde_json::from_slice(&bytes).unwrap(),
        other => panic!("{other:?}"),
    }
}

/// Text and data of an answer; the data must be what the tool's output schema says.
async fn check(tool: NativeTool, arguments: Value, expected: Expect) {
    let ctx = context(Library::with(compiled(), None));
    let answer = call(&ctx, tool, arguments).await;
    let text = answer["content"][0]["text"].as_str().unwrap();
    let mut shown = format!("{text}\n");
    if answer["isError"] == true {
        shown.insert_str(0, "isError: ");
    } else {
        conforms(&answer["structuredContent"], &output_schema(tool), "");
        let data = answer["structuredContent"].as_object().unwrap();
        shown.push_str("---\n");
        data.iter().for_each(|(key, value)| shown.push_str(&format!("{key}: {value}\n")));
    }
    expected.assert_eq(&shown);
}

fn output_schema(tool: NativeTool) -> Value {
    let described = CATALOG.tools.iter().find(|entry| entry.name == tool.name()).unwrap().json.unwrap().described;
    serde_json::from_str::<Value>(described).unwrap()["outputSchema"].clone()
}

/// The parts of JSON Schema that our own output schemas use. Members that the schema does not name are refused, so that
/// none is forgotten there.
fn conforms(value: &Value, schema: &Value, path: &str) {
    let is_kind = match schema["type"].as_str().unwrap_or_else(|| panic!("{path}: no type in the schema")) {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64(),
        "number" => value.is_number(),
        other => panic!("{path}: type {other}"),
    };
    assert!(is_kind, "{path}: {value} is not {}", schema["type"]);
    if let Some(number) = value.as_f64() {
        assert!(schema["minimum"].as_f64().is_none_or(|least| number >= least), "{path}: {number}");
        assert!(schema["maximum"].as_f64().is_none_or(|most| number <= most), "{path}: {number}");
    }
    for (at, item) in value.as_array().into_iter().flatten().enumerate() {
        conforms(item, &schema["items"], &format!("{path}[{at}]"));
    }
    for (key, member) in value.as_object().into_iter().flatten() {
        let of_member = schema["properties"].get(key).unwrap_or_else(|| panic!("{path}.{key} is not declared"));
        conforms(member, of_member, &format!("{path}.{key}"));
    }
    for key in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        assert!(value.get(key).is_some(), "{path}.{key} is missing");
    }
}

#[tokio::test]
async fn search() {
    check(NativeTool::SearchSkills, json!({"query": "review changes"}), expect![[r#"
        2 skills
        **code-review** [DEV] Reviews changes for faults before they are merged. (matched on name, description)
        **checklist** [DEV > review > references] Points to review in changes. (matched on category, description)
        ---
        skills: [{"name":"code-review","category":"DEV","description":"Reviews changes for faults before they are merged.","uri":"skill://DEV/code-review","score":0.78,"matchedOn":["name","description"]},{"name":"checklist","category":"DEV","subcategory":"review/references","description":"Points to review in changes.","uri":"skill://DEV/checklist","score":0.57,"matchedOn":["category","description"]}]
        unmatched: []
    "#]]).await;
    check(NativeTool::SearchSkills, json!({"query": "lint", "limit": 1}), expect![[r#"
        1 skill
        **lint** [DEV] Finds style faults in source code. (matched on exact name)
        ---
        skills: [{"name":"lint","category":"DEV","description":"Finds style faults in source code.","uri":"skill://DEV/lint","score":1.0,"matchedOn":["exact name"]}]
        unmatched: []
    "#]]).await;
    check(
        NativeTool::SearchSkills,
        json!({"query": "zebra"}),
        expect![[r#"
        No skill fits "zebra".
        No skill knows: zebra.
        ---
        skills: []
        unmatched: ["zebra"]
    "#]],
    )
    .await;
    check(
        NativeTool::SearchSkills,
        json!({}),
        expect![[r#"
        isError: `query` is missing: give a text that is not empty
    "#]],
    )
    .await;
    check(
        NativeTool::SearchSkills,
        json!({"query": ["x"]}),
        expect![[r#"
        isError: `query` must be a text, not a list
    "#]],
    )
    .await;
}

#[tokio::test]
async fn workflow() {
    check(NativeTool::ResolveWorkflow, json!({"objective": "review changes"}), expect![[r##"
        WORKFLOW: code-review [DEV]
        Reviews changes for faults before they are merged.
        Matched on name, description.
        <activated_skill name="code-review" category="DEV">
        # Review

        Read the diff twice.

        ```bash
        git diff --stat
        git log -1
        ```

        ```
        plain
        ```
        </activated_skill>

        WORKFLOW: checklist [DEV > review > references]
        Points to review in changes.
        Matched on category, description.
        <activated_skill name="checklist" category="DEV">
        Many points.
        </activated_skill>

        Warning: `code-review` requires `format@>=1.0.0`, which is not in the library
        Warning: `code-review` must not be combined with `release`
        ---
        objective: "review changes"
        skills: [{"name":"code-review","category":"DEV","description":"Reviews changes for faults before they are merged.","uri":"skill://DEV/code-review","score":0.78,"matchedOn":["name","description"],"warnings":["`code-review` requires `format@>=1.0.0`, which is not in the library","`code-review` must not be combined with `release`"],"body":"# Review\n\nRead the diff twice.\n\n```bash\ngit diff --stat\ngit log -1\n```\n\n```\nplain\n```"},{"name":"checklist","category":"DEV","subcategory":"review/references","description":"Points to review in changes.","uri":"skill://DEV/checklist","score":0.57,"matchedOn":["category","description"],"warnings":[],"body":"Many points."}]
        tools: []
    "##]]).await;
    check(
        NativeTool::ResolveWorkflow,
        json!({"objective": "zebra"}),
        expect![[r#"
        No skill fits "zebra"; go by general knowledge.
        ---
        objective: "zebra"
        skills: []
        tools: []
    "#]],
    )
    .await;
}

#[tokio::test]
async fn help() {
    check(NativeTool::GetSkillHelp, json!({"skill_name": "dev/code-review"}), expect![[r##"
        # code-review

        Category: DEV
        Version: 1.2.0
        Requires: lint, format@>=1.0.0
        Conflicts with: release
        Also called: inspect

        Reviews changes for faults before they are merged.

        ---

        # Review

        Read the diff twice.

        ```bash
        git diff --stat
        git log -1
        ```

        ```
        plain
        ```

        Go on with:
        - release: "use the release skill" (x:9)

        Warning: `code-review` requires `format@>=1.0.0`, which is not in the library

        Warning: `code-review` must not be combined with `release`
        ---
        name: "code-review"
        category: "DEV"
        subcategory: ""
        version: "1.2.0"
        description: "Reviews changes for faults before they are merged."
        uri: "skill://DEV/code-review"
        aliases: ["inspect"]
        tags: ["quality"]
        requires: ["lint","format@>=1.0.0"]
        conflicts: ["release"]
        steps: 2
        nextSteps: [{"skill":"release","reason":"\"use the release skill\" (x:9)"}]
        warnings: ["`code-review` requires `format@>=1.0.0`, which is not in the library","`code-review` must not be combined with `release`"]
        body: "# Review\n\nRead the diff twice.\n\n```bash\ngit diff --stat\ngit log -1\n```\n\n```\nplain\n```"
    "##]]).await;
    check(
        NativeTool::GetSkillHelp,
        json!({"skill_name": "code-reviw"}),
        expect![[r#"
            isError: no skill is called `code-reviw`; did you mean `code-review`?
        "#]],
    )
    .await;
    check(
        NativeTool::GetSkillHelp,
        json!({"skill_name": "../../etc/passwd"}),
        expect![[r#"
        isError: no skill is called `../../etc/passwd`; search_skills lists what there is
    "#]],
    )
    .await;
}

#[tokio::test]
async fn steps() {
    check(NativeTool::ExecuteSkill, json!({"skill_name": "code-review"}), expect![[r#"
        code-review has 2 code blocks:
        1. bash (2 lines): git diff --stat
        2. text (1 line): plain
        Go on with:
        - release: "use the release skill" (x:9)
        ---
        skill: "code-review"
        uri: "skill://DEV/code-review"
        steps: [{"index":1,"language":"bash","lines":2,"preview":"git diff --stat"},{"index":2,"language":"text","lines":1,"preview":"plain"}]
        nextSteps: [{"skill":"release","reason":"\"use the release skill\" (x:9)"}]
    "#]]).await;
    check(
        NativeTool::ExecuteSkill,
        json!({"skill_name": "deploy"}),
        expect![[r#"
        deploy has no code blocks; follow its text (get_skill_help).
        ---
        skill: "deploy"
        uri: "skill://OPS/deploy"
        steps: []
        nextSteps: []
    "#]],
    )
    .await;
    check(NativeTool::ExecuteSkill, json!({"skill_name": "code-review", "step": 1, "env": {"A": "b"}}), expect![[r#"
        isError: this build does not run steps; nothing was run. Step 1 of `code-review`, bash, to be run by your own means once it has been checked:

        git diff --stat
        git log -1
    "#]])
        .await;
    check(
        NativeTool::ExecuteSkill,
        json!({"skill_name": "code-review", "step": 3}),
        expect![[r#"
        isError: `code-review` has no step 3: it has 1 to 2
    "#]],
    )
    .await;
    check(
        NativeTool::ExecuteSkill,
        json!({"skill_name": "code-review", "step": 0}),
        expect![[r#"
        isError: `code-review` has no step 0: it has 1 to 2
    "#]],
    )
    .await;
    check(
        NativeTool::ExecuteSkill,
        json!({"skill_name": "code-review", "env": {"A": 1}}),
        expect![[r#"
        isError: `env.A` must be a text
    "#]],
    )
    .await;
}

#[tokio::test]
async fn refresh() {
    check(
        NativeTool::RefreshSkills,
        json!({}),
        expect![[r#"
        isError: there is no folder of skills to read, so the compiled ones stay as they are
        hint: set EVOKORE_CONFIG_DIR to the folder that holds `SKILLS`, or EVOKORE_MCP_CONFIG_PATH to a file beside it
    "#]],
    )
    .await;
    let folder = Folder::new("native");
    folder.write("NEW/brew", "---\nname: brew\ndescription: Makes coffee.\n---\nHot.\n");
    folder.write("NEW/bad", "---\nname: bad\n");
    let ctx = context(Library::with(compiled(), Some(folder.0.clone())));
    let answer = call(&ctx, NativeTool::RefreshSkills, json!({})).await;
    let mut data = answer["structuredContent"].clone();
    conforms(&data, &output_schema(NativeTool::RefreshSkills), "");
    data["ms"] = json!(0);
    assert_eq!(
        data,
        json!({"ms": 0, "added": 1, "removed": 0, "changed": 0, "unchanged": 6, "total": 7, "onlyCompiled": 6,
            "problems": ["NEW/bad/SKILL.md:1:1: not read: the front matter is not closed (hint: add a line `---` between the front matter and the text)"]})
    );
    let text = answer["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("1 added") && text.contains("NEW/bad/SKILL.md:1:1"), "{text}");
    assert_eq!(call(&ctx, NativeTool::GetSkillHelp, json!({"skill_name": "brew"})).await["isError"], Value::Null);
}
