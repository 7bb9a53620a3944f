//! Skills in a whole compilation: what they add to it, and what a broken one looks like among other problems.

use expect_test::expect;

use crate::support::{CONFIG, Small, folder};

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
