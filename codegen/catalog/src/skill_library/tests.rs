//! Libraries as trees in memory, read and reported.

use std::collections::BTreeMap;

use expect_test::{Expect, expect};

use super::{Entry, EntryKind, Library, Tree, read};

/// Files by path; `path -> None` is a link.
struct Memory(BTreeMap<String, Option<Vec<u8>>>);

impl Tree for Memory {
    fn list(&mut self, path: &str) -> Result<Vec<Entry>, String> {
        let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
        let mut entries = Vec::new();
        for (file, contents) in &self.0 {
            let Some(rest) = file.strip_prefix(&prefix) else { continue };
            let (name, kind) = match (rest.split_once('/'), contents) {
                (Some((folder, _)), _) => (folder, EntryKind::Folder),
                (None, Some(bytes)) => (rest, EntryKind::File(bytes.len() as u64)),
                (None, None) => (rest, EntryKind::Link),
            };
            entries.push(Entry { name: name.to_owned(), kind });
        }
        entries.dedup();
        // Whatever order the file system has, the library has its own.
        entries.reverse();
        Ok(entries)
    }

    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        self.0[path].clone().ok_or_else(|| "a link".to_owned())
    }
}

fn skill(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name}.\n---\nBody of {name}\n")
}

fn library(files: &[(&str, &str)]) -> Library {
    read(&mut Memory(files.iter().map(|(path, text)| ((*path).to_owned(), Some(text.as_bytes().to_vec()))).collect()))
}

fn shown(library: &Library) -> String {
    let skills =
        library.skills.iter().map(|it| format!("{} [{}|{}] {}\n", it.name, it.category, it.subcategory, it.uri));
    let findings = library.findings.iter().map(|finding| format!("{finding}\n"));
    skills.chain(findings).collect()
}

fn check(files: &[(&str, &str)], expected: Expect) {
    expected.assert_eq(&shown(&library(files)));
}

#[test]
fn category_subcategory_and_flat_folders() {
    check(
        &[
            ("DEV TOOLS/lint/SKILL.md", &skill("lint")),
            ("DEV TOOLS/lint/notes.md", "no skill"),
            ("DEV TOOLS/web/css/grid/SKILL.md", &skill("grid")),
            ("flat/SKILL.md", &skill("flat")),
            ("README.md", "text"),
            ("DEV TOOLS/node_modules/x/SKILL.md", &skill("x")),
            ("DEV TOOLS/.git/y/SKILL.md", &skill("y")),
        ],
        expect![[r#"
            grid [DEV TOOLS|web/css] skill://DEV-TOOLS/grid
            lint [DEV TOOLS|] skill://DEV-TOOLS/lint
            flat [general|] skill://general/flat
        "#]],
    );
}

#[test]
fn what_cannot_count_is_said() {
    check(
        &[
            ("SKILL.md", &skill("root")),
            ("a/lower/skill.md", &skill("lower")),
            ("a/outer/SKILL.md", &skill("outer")),
            ("a/outer/examples/inner/SKILL.md", &skill("inner")),
            ("a/no-head/SKILL.md", "# Title\n"),
            ("a/traversal/SKILL.md", &skill("../../etc/passwd")),
            ("a/hidden/SKILL.md", &skill(".ssh")),
            ("a/b/c/d/e/f/g/h/i/deep/SKILL.md", &skill("deep")),
        ],
        expect![[r#"
            outer [a|] skill://a/outer
            SKILL.md: not read: the file lies outside of any skill's folder (hint: move it into a folder of its own, `<category>/<name>/`)
            a/b/c/d/e/f/g/h/i: the folder lies deeper than 8 folders and was not looked at (hint: move its skills up)
            a/hidden/SKILL.md:2:7: not read: the name `.ssh` looks like a path (hint: call it `hidden` like its folder)
            a/lower/skill.md: not read: a skill's file is called `SKILL.md`, so this one was not read (hint: rename it)
            a/no-head/SKILL.md:1:1: there is no front matter, so this is no skill (hint: start the file with `---`, `name: …`, `description: …`, `---`)
            a/outer/examples/inner/SKILL.md: it lies inside the skill `a/outer`, so it is no skill of its own (hint: move its folder out of the other skill's)
            a/traversal/SKILL.md:2:7: not read: the name `../../etc/passwd` looks like a path (hint: call it `traversal` like its folder)
        "#]],
    );
}

#[test]
fn names_are_mapped_and_noted() {
    let long = format!("---\nname: wordy\ndescription: {}\n---\n", "word ".repeat(300));
    check(
        &[
            ("a/other/SKILL.md", &skill("Triage Issue")),
            ("a/unnamed/SKILL.md", "---\ndescription: d\n---\n"),
            ("a/silent/SKILL.md", "---\nname: silent\n---\n# Silent\n\nKeeps quiet.\n"),
            ("a/wordy/SKILL.md", &long),
            ("a/colon/SKILL.md", "---\nname: colon\ndescription: a: b\n---\n"),
        ],
        expect![[r#"
            Triage Issue [a|] skill://a/Triage-Issue
            colon [a|] skill://a/colon
            silent [a|] skill://a/silent
            unnamed [a|] skill://a/unnamed
            wordy [a|] skill://a/wordy
            a/colon/SKILL.md:3:14: `description` is not YAML as it stands, most likely for a colon in it; the rest of the line was taken as its text (hint: put the text in quotes, or write `description: >-` and the text indented on the next line)
            a/other/SKILL.md:2:7: `Triage Issue` is no name that every client takes: lower-case letters, digits and single hyphens, at most 64 (hint: call it `triage-issue`)
            a/other/SKILL.md:2:7: the skill is called `Triage Issue`, its folder `other` (hint: give both the same name)
            a/silent/SKILL.md:1:1: there is no `description`, so the first words of the text stand in for it (hint: add `description: what it does and when to use it`)
            a/unnamed/SKILL.md:1:1: there is no `name`, so it is called `unnamed` after its folder (hint: add `name: unnamed`)
            a/wordy/SKILL.md:3:14: `description` has 1499 characters; the format allows 1024 (hint: say what it does and when to use it, in fewer words)
        "#]],
    );
    let library = library(&[("a/other/SKILL.md", &skill("Triage Issue"))]);
    assert_eq!(library.skills[0].file.aliases, ["other"]);
}

#[test]
fn one_name_twice() {
    check(
        &[
            ("dup-b/same/SKILL.md", &skill("same")),
            ("dup-a/same/SKILL.md", &skill("same")),
            ("c/x/one/SKILL.md", &skill("one")),
            ("c/y/one/SKILL.md", &skill("one")),
            ("c/y/uno/SKILL.md", &skill("one")),
            ("d e/n/SKILL.md", &skill("n")),
            ("d+e/n/SKILL.md", &skill("n")),
        ],
        expect![[r#"
            one [c|x] skill://c/one
            one [c|y] skill://c/one-2
            n [d e|] skill://d-e/n
            n [d+e|] skill://d-e/n-2
            same [dup-a|] skill://dup-a/same
            same [dup-b|] skill://dup-b/same
            c/y/one/SKILL.md:2:7: `one` is also the name of `c/x/one/SKILL.md`, which the bare name means (hint: ask for `c/y/one`, or rename one of them)
            c/y/uno/SKILL.md:2:7: not read: `one` is the name of `c/y/one/SKILL.md` in the same folder, so nothing could reach this one (hint: rename one of them)
            c/y/uno/SKILL.md:2:7: the skill is called `one`, its folder `uno` (hint: give both the same name)
            d+e/n/SKILL.md:2:7: `n` is also the name of `d e/n/SKILL.md`, which the bare name means (hint: ask for `d+e/n`, or rename one of them)
            dup-b/same/SKILL.md:2:7: `same` is also the name of `dup-a/same/SKILL.md`, which the bare name means (hint: ask for `dup-b/same`, or rename one of them)
        "#]],
    );
}

#[test]
fn links_are_not_followed() {
    let mut files = BTreeMap::new();
    files.insert("a/real/SKILL.md".to_owned(), Some(skill("real").into_bytes()));
    files.insert("a/real/shared.md".to_owned(), None);
    files.insert("a/loop".to_owned(), None);
    files.insert("a/linked/SKILL.md".to_owned(), None);
    expect![[r#"
        real [a|] skill://a/real
        a/linked/SKILL.md: a link, which is not followed (hint: put the skill itself here, or leave the link out)
        a/loop: a link, which is not followed (hint: put the skill itself here, or leave the link out)
    "#]]
    .assert_eq(&shown(&read(&mut Memory(files))));
}

#[test]
fn a_walk_is_bounded() {
    struct Endless;
    impl Tree for Endless {
        fn list(&mut self, _: &str) -> Result<Vec<Entry>, String> {
            Ok(["x", "y", "z"].map(|name| Entry { name: name.to_owned(), kind: EntryKind::Folder }).to_vec())
        }
        fn read(&mut self, _: &str) -> Result<Vec<u8>, String> {
            Err("nothing here".to_owned())
        }
    }
    let library = read(&mut Endless);
    assert_eq!(library.skills, []);
    assert!((1..=600).contains(&library.findings.len()), "{}", library.findings.len());
}
