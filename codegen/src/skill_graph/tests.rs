//! Graphs of small libraries, as they are written and as skills see them.

use std::collections::BTreeMap;

use evokore_catalog::skill_library::{self, Entry, EntryKind, Tree};
use expect_test::{Expect, expect};

use super::{Graph, build};

struct Bodies(BTreeMap<String, String>);

impl Tree for Bodies {
    fn list(&mut self, path: &str) -> Result<Vec<Entry>, String> {
        let folder = |name: &str| Entry { name: name.to_owned(), kind: EntryKind::Folder };
        Ok(match path.split('/').count() {
            1 if path.is_empty() => vec![folder("lib")],
            1 => self.0.keys().map(|name| folder(name)).collect(),
            _ => vec![Entry { name: "SKILL.md".to_owned(), kind: EntryKind::File(1) }],
        })
    }

    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        let name = path.split('/').nth(1).unwrap_or_default();
        Ok(format!("---\nname: {name}\ndescription: d\n---\n\n{}", self.0[name]).into_bytes())
    }
}

fn graph(bodies: &[(&str, &str)]) -> Graph {
    let bodies = bodies.iter().map(|(name, body)| ((*name).to_owned(), (*body).to_owned())).collect();
    let library = skill_library::read(&mut Bodies(bodies));
    assert_eq!(library.findings, []);
    let tokens: Vec<u32> = (1..).take(library.skills.len()).collect();
    build(&library.skills, &tokens)
}

/// Next steps of every skill that has some, then the warnings.
fn check(bodies: &[(&str, &str)], expected: Expect) {
    let graph = graph(bodies);
    let mut text = String::new();
    for at in 0..graph.skills.len() {
        for (skill, reason, far) in graph.next_steps(at) {
            let far = if far { "~> " } else { "-> " };
            text.push_str(&format!("{} {far}{skill}: {reason}\n", graph.skills[at].name));
        }
    }
    graph.warnings.iter().for_each(|warning| text.push_str(&format!("{warning}\n")));
    expected.assert_eq(&text);
}

const PANEL: &str = "# Panel\n\nRun the orch-plan skill.\n\n## Injection Points\n\n### Optional\n\n| a |\n|---|\n| `tdd` |\n\n\
### Mandatory Injection Points (Always Run)\n\n| Skill | Why |\n|---|---|\n| `orch-review (late)` | uses `tdd` |\n\
| **`orch-plan`** | x |\n| `nobody` | y |\n\n## After\n\n| b |\n|---|\n| `tdd` |\n";

#[test]
fn sentences_points_and_chains() {
    check(
        &[
            (
                "orch-plan",
                "Invoke the `orch-review` skill, then the orch-review skill. Use no-such skill. Run orch-plan skill.",
            ),
            ("orch-review", "```\nuse tdd skill\n```\nUse lint workflow.\n\nUse `tdd` skill."),
            ("lint", "Call format skill."),
            ("format", "Nothing."),
            ("tdd", "Run the panel-of-experts panel."),
            ("panel-of-experts", PANEL),
        ],
        expect![[r#"
            lint -> format: "Call format skill" (lib/lint/SKILL.md:6)
            orch-plan -> orch-review: "Invoke the orch-review skill" (lib/orch-plan/SKILL.md:6)
            orch-plan ~> format: through orch-review, lint
            orch-plan ~> lint: through orch-review
            orch-plan ~> tdd: through orch-review
            orch-review -> lint: "Use lint workflow" (lib/orch-review/SKILL.md:9)
            orch-review -> tdd: "Use tdd skill" (lib/orch-review/SKILL.md:11)
            orch-review ~> format: through lint
            panel-of-experts -> orch-plan: "Run the orch-plan skill" (lib/panel-of-experts/SKILL.md:8)
            panel-of-experts -> orch-review: mandatory injection point (lib/panel-of-experts/SKILL.md:22)
            lib/tdd/SKILL.md:6:1: "Run the panel-of-experts panel" closes a cycle of skills and is left out of the graph: tdd -> panel-of-experts -> orch-plan -> orch-review -> tdd (hint: let one of them stand alone, or name it without `use … skill`)
            lib/panel-of-experts/SKILL.md:24:1: the mandatory injection point `nobody` is no skill (hint: add the skill, or mend its name)
        "#]],
    );
}

#[test]
fn cycles_are_cut_and_shown() {
    let bodies = [("aaa", "Use bbb skill."), ("bbb", "Use ccc skill."), ("ccc", "One.\n\nUse aaa skill.")];
    check(
        &bodies,
        expect![[r#"
        aaa -> bbb: "Use bbb skill" (lib/aaa/SKILL.md:6)
        bbb -> ccc: "Use ccc skill" (lib/bbb/SKILL.md:6)
        lib/ccc/SKILL.md:8:1: "Use aaa skill" closes a cycle of skills and is left out of the graph: ccc -> aaa -> bbb -> ccc (hint: let one of them stand alone, or name it without `use … skill`)
    "#]],
    );
}

#[test]
fn chains_end_at_five() {
    let names = ["orch-plan", "s1x", "s2x", "s3x", "s4x", "s5x", "s6x"];
    let bodies: Vec<(&str, String)> = names
        .iter()
        .enumerate()
        .map(|(at, name)| (*name, names.get(at + 1).map_or(String::new(), |next| format!("Use {next} skill."))))
        .collect();
    let bodies: Vec<(&str, &str)> = bodies.iter().map(|(name, body)| (*name, body.as_str())).collect();
    let graph = graph(&bodies);
    let steps: Vec<String> = graph.next_steps(0).into_iter().map(|(name, ..)| name).collect();
    assert_eq!(steps, ["s1x", "s2x", "s3x", "s4x", "s5x"]);
    assert_eq!(graph.next_steps(1).len(), 1, "only the listed skills have chains");
}

#[test]
fn a_panel_without_its_table_is_noted() {
    check(
        &[("panel-of-experts", "# Panel\n")],
        expect![[r#"
        lib/panel-of-experts/SKILL.md:1:1: there is no section of mandatory injection points (hint: add `## Injection Points` with `### Mandatory Injection Points (Always Run)` and a table below it)
    "#]],
    );
    check(
        &[("panel-of-experts", "# P\n\n## Mandatory injection points\n\nnone yet\n\n# Q\n\n| x |\n|---|\n| `y` |\n")],
        expect![[r#"
        lib/panel-of-experts/SKILL.md:9:1: the section of mandatory injection points names no skill (hint: name each skill in backticks in the first column of a table)
    "#]],
    );
}

#[test]
fn the_written_form() {
    let graph = graph(&[
        ("orch-plan", "Use bbb skill."),
        ("bbb", "Use ccc skill."),
        ("ccc", "Use bbb skill."),
        ("panel-of-experts", "## Injection\n\n### Mandatory\n\n| s |\n|---|\n| `bbb` |\n"),
    ]);
    expect![[r#"
        {
          "_": "made by `cargo codegen`; edit the inputs, not this file",
          "skills": 4,
          "maxDepth": 5,
          "transitiveSources": [
            "release-readiness",
            "repo-ingestor",
            "docs-architect",
            "orch-review",
            "orch-plan",
            "tool-governance",
            "orch-refactor"
          ],
          "mandatoryInjectionPointsOf": "lib/panel-of-experts/SKILL.md",
          "mandatoryInjectionPoints": [
            {"skill":"bbb","line":12}
          ],
          "edges": [
            {"from":"bbb","to":"ccc","kind":"direct","file":"lib/bbb/SKILL.md","line":6,"tokens":2},
            {"from":"orch-plan","to":"bbb","kind":"direct","file":"lib/orch-plan/SKILL.md","line":6,"tokens":1},
            {"from":"orch-plan","to":"ccc","kind":"transitive","file":"lib/orch-plan/SKILL.md","through":["bbb"],"tokens":2}
          ],
          "rejectedCycles": [
            {"from":"ccc","to":"bbb","file":"lib/ccc/SKILL.md","line":6,"reason":"would close a cycle","path":"ccc -> bbb -> ccc"}
          ]
        }
    "#]].assert_eq(&graph.to_json());
    assert!(serde_json::from_str::<serde_json::Value>(&graph.to_json()).is_ok());
    assert!(serde_json::from_str::<serde_json::Value>(&Graph::default().to_json()).is_ok());
}
