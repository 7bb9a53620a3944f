//! Folders of skills on disk: what is compiled, what is said, and that the same folder gives the same bytes.

use std::fs;
use std::path::{Path, PathBuf};

use expect_test::{Expect, expect};

use super::{Skills, compile};
use crate::problem::{Problem, Severity, sort};

/// A folder that goes away with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("evokore-skills-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn write(&self, path: &str, bytes: impl AsRef<[u8]>) -> &Folder {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
        self
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn compiled(folder: &Path) -> (Skills, Vec<Problem>) {
    let mut problems = Vec::new();
    let skills = compile(folder, &mut |_, text| u32::try_from(text.len()).unwrap(), &mut problems);
    sort(&mut problems);
    (skills, problems)
}

fn check_problems(folder: &Folder, expected: Expect) {
    let (_, problems) = compiled(&folder.0);
    expected.assert_eq(&problems.iter().map(|problem| format!("{problem}\n\n")).collect::<String>());
}

#[test]
fn an_entry_holds_what_the_file_says() {
    let folder = Folder::new("entry");
    folder.write(
        "DEV TOOLS/web/lint/SKILL.md",
        "---\r\nname: lint\r\ndescription: >\r\n  Finds\r\n  faults.\r\nversion: 1.10\r\ntags: [style]\r\naliases: Linter\r\n\
         requires: [{name: base, minVersion: 1.0.0}]\r\nconflicts: none-of-that\r\n---\r\n# Lint\r\n\r\n```bash\r\nls\r\n```\r\nUse fmt skill.\r\n",
    );
    folder.write("DEV TOOLS/fmt/SKILL.md", "---\nname: fmt\ndescription: d\n---\nBody\n");
    let (skills, problems) = compiled(&folder.0);
    assert_eq!(problems, []);
    expect![[r##"
        SkillEntry {
            name: "lint",
            category: "DEV TOOLS",
            subcategory: "web",
            description: "Finds faults.",
            uri: "skill://DEV-TOOLS/lint",
            path: "DEV TOOLS/web/lint/SKILL.md",
            version: "1.10",
            tags: [
                "style",
            ],
            aliases: [
                "linter",
            ],
            requires: [
                "base@>=1.0.0",
            ],
            conflicts: [
                "none-of-that",
            ],
            body: "# Lint\n\n```bash\nls\n```\nUse fmt skill.",
            blocks: [
                CodeBlock {
                    language: "bash",
                    code: "ls",
                },
            ],
            next_steps: [
                NextStep {
                    skill: "fmt",
                    reason: "\"Use fmt skill\" (DEV TOOLS/web/lint/SKILL.md:17)",
                    transitive: false,
                },
            ],
            tokens: 37,
        }
    "##]]
    .assert_eq(&format!("{:#?}\n", skills.entries[1]));
    assert_eq!(skills.digests[0].0, "SKILLS/DEV TOOLS/fmt/SKILL.md");
    let (again, _) = compiled(&folder.0);
    assert_eq!((skills.index, skills.graph.to_json()), (again.index, again.graph.to_json()));
}

#[test]
fn no_folder_is_no_skill() {
    let (skills, problems) = compiled(Path::new("/no/such/folder"));
    assert_eq!((skills.entries.len(), problems), (0, Vec::new()));
}

#[test]
fn problems_of_front_matter() {
    let folder = Folder::new("front");
    folder.write("a/unclosed/SKILL.md", "---\nname: unclosed\n\n# Body\n");
    folder.write("a/tab/SKILL.md", "---\nname: tab\ndescription: d\nmetadata:\n\tkey: v\n---\n");
    folder.write("a/quote/SKILL.md", "---\nname: quote\ndescription: \"open\n---\n");
    folder.write("a/latin/SKILL.md", b"---\nname: latin\ndescription: caf\xe9\n---\n");
    folder.write("a/path/SKILL.md", "---\nname: ../path\ndescription: d\n---\n");
    folder.write("a/none/SKILL.md", "# Title\n");
    folder.write("a/colon/SKILL.md", "---\nname: colon\ndescription: Two axes: a and b.\n---\n");
    folder.write("a/other/SKILL.md", "---\nname: another\ndescription: d\n---\n");
    check_problems(
        &folder,
        expect![[r#"
        error: byte 0xe9 is not UTF-8; the file may be Latin-1 or Windows-1252
          --> SKILLS/a/latin/SKILL.md:3:17
        hint: save it as UTF-8

        error: the name `../path` looks like a path
          --> SKILLS/a/path/SKILL.md:2:7
          |
        2 | name: ../path
          |       ^^^^^^^
        hint: call it `path` like its folder

        error: a quote is opened and not closed
          --> SKILLS/a/quote/SKILL.md:3:14
          |
        3 | description: "open
          |              ^^^^^
        hint: close it on the same line

        error: a tab indents the front matter, which YAML does not allow
          --> SKILLS/a/tab/SKILL.md:5:1
          |
        5 |  key: v
          | ^^^^^^^
        hint: indent with blanks

        error: the front matter is not closed
          --> SKILLS/a/unclosed/SKILL.md:1:1
          |
        1 | ---
          | ^^^
        hint: add a line `---` between the front matter and the text

        note: `description` is not YAML as it stands, most likely for a colon in it; the rest of the line was taken as its text
          --> SKILLS/a/colon/SKILL.md:3:14
          |
        3 | description: Two axes: a and b.
          |              ^^^^^^^^^^^^^^^^^^
        hint: put the text in quotes, or write `description: >-` and the text indented on the next line

        note: there is no front matter, so this is no skill
          --> SKILLS/a/none/SKILL.md:1:1
          |
        1 | # Title
          | ^^^^^^^
        hint: start the file with `---`, `name: …`, `description: …`, `---`

        note: the skill is called `another`, its folder `other`
          --> SKILLS/a/other/SKILL.md:2:7
          |
        2 | name: another
          |       ^^^^^^^
        hint: give both the same name

    "#]],
    );
}

#[test]
fn problems_between_skills() {
    let folder = Folder::new("between");
    folder.write("a/same/SKILL.md", "---\nname: same\ndescription: d\n---\nRun the other skill.\n");
    folder.write("b/same/SKILL.md", "---\nname: same\ndescription: d\n---\n");
    folder.write("b/other/SKILL.md", "---\nname: other\ndescription: d\n---\nThen use the same skill.\n");
    folder.write("b/other/inner/SKILL.md", "---\nname: inner\ndescription: d\n---\n");
    check_problems(
        &folder,
        expect![[r#"
        note: "use the same skill" closes a cycle of skills and is left out of the graph: other -> same -> other
          --> SKILLS/b/other/SKILL.md:5:1
          |
        5 | Then use the same skill.
          | ^^^^^^^^^^^^^^^^^^^^^^^^
        hint: let one of them stand alone, or name it without `use … skill`

        note: it lies inside the skill `b/other`, so it is no skill of its own
          --> SKILLS/b/other/inner/SKILL.md
        hint: move its folder out of the other skill's

        note: `same` is also the name of `a/same/SKILL.md`, which the bare name means
          --> SKILLS/b/same/SKILL.md:2:7
          |
        2 | name: same
          |       ^^^^
        hint: ask for `b/same`, or rename one of them

    "#]],
    );
}

#[cfg(unix)]
#[test]
fn links_neither_loop_nor_lead_out() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new("links");
    let skill = |name: &str| format!("---\nname: {name}\ndescription: d\n---\n");
    folder.write("skills/a/demo/SKILL.md", skill("demo")).write("outside/secret/SKILL.md", skill("secret"));
    let at = |path: &str| folder.0.join("skills").join(path);
    fs::create_dir(at("b")).unwrap();
    for (target, link) in [
        ("../demo", "a/demo/demo"),
        ("../..", "a/up"),
        ("../a", "b/to-a"),
        ("../b", "a/to-b"),
        ("../../outside/secret", "a/secret"),
        ("/nonexistent", "a/dangling"),
    ] {
        symlink(target, at(link)).unwrap();
    }
    let (skills, problems) = compiled(&folder.0.join("skills"));
    assert_eq!(skills.entries.iter().map(|skill| skill.name).collect::<Vec<_>>(), ["demo"]);
    let files: Vec<&str> = problems.iter().map(|problem| problem.file.as_str()).collect();
    assert_eq!(files, ["SKILLS/a/dangling", "SKILLS/a/secret", "SKILLS/a/to-b", "SKILLS/a/up", "SKILLS/b/to-a"]);
}

/// The shapes met in the wild, when they lie beside the checkout: each is read, or named with its reason.
#[test]
fn every_handed_file_is_read_or_named() {
    let handed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/faults/handed");
    if !handed.join("skills").is_dir() {
        eprintln!("skipped: {} is not there", handed.display());
        return;
    }
    let (skills, problems) = compiled(&handed);
    let names: Vec<&str> = skills.entries.iter().map(|skill| skill.name).collect();
    let weights = |path: &str| -> Vec<Severity> {
        let file = format!("SKILLS/skills/{path}/SKILL.md");
        problems.iter().filter(|problem| problem.file == file).map(|problem| problem.severity).collect()
    };
    let refused = ["14-unclosed", "23-tab", "24-alias-bomb", "25-latin1", "26-utf16", "29-traversal-name"];
    let noted = ["02-colon", "13-no-frontmatter", "17-name-differs", "18-no-name", "19-long-description"];
    let mut seen = 0;
    for entry in fs::read_dir(handed.join("skills")).unwrap() {
        let folder = entry.unwrap().file_name().into_string().unwrap();
        seen += 1;
        match folder.as_str() {
            it if refused.contains(&it) => assert_eq!(weights(it), [Severity::Error], "{it}"),
            it if noted.contains(&it) => assert_eq!(weights(it), [Severity::Note], "{it}"),
            "22-number-name" => assert!(names.contains(&"123"), "{names:?}"),
            "dup-a" | "dup-b" => {}
            it => {
                assert_eq!(weights(it), [], "{it}");
                assert!(names.contains(&it), "{it}");
            }
        }
    }
    assert_eq!(seen, 32);
    assert!(!names.contains(&"inner") && weights("30-nested/examples/inner") == [Severity::Note]);
    assert_eq!(names.iter().filter(|name| **name == "same").count(), 2);
    assert_eq!(weights("dup-b/same"), [Severity::Note]);
    assert!(["triage-issue-skill", "18-no-name", "02-colon"].iter().all(|name| names.contains(name)), "{names:?}");
}
