//! Skills in a whole compilation: what they add to it, and what a broken one looks like among other problems.

use std::collections::BTreeSet;

use evokore_codegen::{skill_graph, skills};
use expect_test::expect;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use crate::support::{CONFIG, Small, folder, repository};

#[test]
fn skills_are_inputs_entries_and_index() {
    let skills = folder("skills_compiled");
    let compilation = Small::new(CONFIG)
        .skill(&skills, "dev/lint/SKILL.md", "---\nname: lint\ndescription: Finds faults.\n---\nUse the fmt skill.\n")
        .skill(&skills, "dev/fmt/SKILL.md", "---\nname: fmt\ndescription: Lays code out.\n---\nNothing.\n")
        .compile();
    assert!(!compilation.has_errors());
    let model = compilation.model;
    let names: Vec<&str> = model.skills.iter().map(|skill| skill.name).collect();
    assert_eq!(names, ["fmt", "lint"]);
    assert_eq!(model.skills[1].next_steps[0].skill, "fmt");
    assert!(model.skills.iter().all(|skill| skill.tokens > 0));
    assert!(model.inputs.iter().any(|(path, _)| path == "SKILLS/dev/lint/SKILL.md"));
    assert!(!model.skill_index.is_empty());
}

#[test]
fn a_skill_with_a_broken_head() {
    let skills = folder("skills_broken");
    let small = Small::new(CONFIG).skill(
        &skills,
        "dev/lint/SKILL.md",
        "---\nname: lint\ndescription: Finds faults.\nmetadata:\n\tauthor: me\n---\nBody\n",
    );
    expect![[r#"
        error: a tab indents the front matter, which YAML does not allow
          --> SKILLS/dev/lint/SKILL.md:5:1
          |
        5 |  author: me
          | ^^^^^^^^^^^
        hint: indent with blanks
    "#]]
    .assert_eq(&small.shown());
}

/// The shipped library is an example of what the compiler asks for.
#[test]
fn the_shipped_skills_are_beyond_reproach() {
    let mut problems = Vec::new();
    let skills = skills::compile(&repository().join("SKILLS"), &mut |_, _| 1, &mut problems);
    assert_eq!(problems, []);
    let categories: BTreeSet<&str> = skills.entries.iter().map(|skill| skill.category).collect();
    assert!(skills.entries.len() >= 24 && categories.len() >= 6, "{} in {categories:?}", skills.entries.len());
    for skill in skills.entries {
        let of_panel = skill.name != skill_graph::PANEL || skill.next_steps.len() >= 7;
        assert!(skill.description.contains("Use ") && of_panel, "{}", skill.path);
    }
}

/// The splitter of the runtime finds the code blocks that a Markdown reader finds.
#[test]
fn code_blocks_are_those_of_markdown() {
    let mut problems = Vec::new();
    let skills = skills::compile(&repository().join("SKILLS"), &mut |_, _| 1, &mut problems);
    let mut blocks = 0;
    for skill in skills.entries {
        let mut read: Vec<String> = Vec::new();
        let mut open = false;
        for event in Parser::new_ext(skill.body, Options::ENABLE_TABLES) {
            match event {
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) => {
                    open = true;
                    read.push(String::new());
                }
                Event::End(TagEnd::CodeBlock) => open = false,
                Event::Text(text) if open => read.last_mut().unwrap().push_str(&text),
                _ => {}
            }
        }
        let split: Vec<&str> = skill.blocks.iter().map(|block| block.code).collect();
        assert_eq!(split, read.iter().map(|code| code.trim_end_matches('\n')).collect::<Vec<_>>(), "{}", skill.path);
        blocks += split.len();
    }
    assert!(blocks > 10, "{blocks}");
}
