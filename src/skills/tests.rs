//! A small compiled library, a folder laid over it, and what is found in both.

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use evokore_catalog::documents;
use evokore_catalog::search::write_segment;
use evokore_catalog::skill::{CodeBlock, NextStep, SkillEntry};
use evokore_catalog::skill_library::{self, Entry, EntryKind, Tree, lookup_keys};

use super::resolve::{completions, search, suggestions};
use super::{Compiled, Library, RefreshError};

/// Path and text of the skills of the small library, sorted like the library itself.
const SKILLS: [(&str, &str); 6] = [
    (
        "DEV/code-review",
        "---\nname: code-review\ndescription: Reviews changes for faults before they are merged.\nversion: 1.2.0\n\
         aliases: [inspect]\ntags: [quality]\nrequires: [lint, 'format@>=1.0.0']\nconflicts: [release]\n---\n\
         # Review\n\nRead the diff twice.\n\n```bash\ngit diff --stat\ngit log -1\n```\n\n```\nplain\n```\n",
    ),
    ("DEV/lint", "---\nname: lint\ndescription: Finds style faults in source code.\n---\nRun the linter.\n"),
    (
        "DEV/review/references/checklist",
        "---\nname: checklist\ndescription: Points to review in changes.\n---\nMany points.\n",
    ),
    ("OPS/deploy", "---\nname: deploy\ndescription: Brings a service into production.\n---\nShip it.\n"),
    ("OPS/lint", "---\nname: lint\ndescription: Checks manifests of the cluster.\n---\nCheck.\n"),
    ("OPS/release", "---\nname: release\ndescription: Cuts a version and announces it.\n---\nTag it.\n"),
];

struct Texts;

impl Tree for Texts {
    fn list(&mut self, path: &str) -> Result<Vec<Entry>, String> {
        let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
        let mut entries: Vec<Entry> = Vec::new();
        for (skill, text) in SKILLS {
            let file = format!("{skill}/SKILL.md");
            let Some(rest) = file.strip_prefix(&prefix) else { continue };
            let entry = match rest.split_once('/') {
                Some((folder, _)) => Entry { name: folder.to_owned(), kind: EntryKind::Folder },
                None => Entry { name: rest.to_owned(), kind: EntryKind::File(text.len() as u64) },
            };
            if !entries.contains(&entry) {
                entries.push(entry);
            }
        }
        Ok(entries)
    }

    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        let text = SKILLS.iter().find(|(skill, _)| format!("{skill}/SKILL.md") == path).map(|(_, text)| *text);
        text.map(|text| text.as_bytes().to_vec()).ok_or_else(|| "no such file".to_owned())
    }
}

/// The small library as the compiler would leave it in a binary.
pub(crate) fn compiled() -> Compiled {
    static ENTRIES: OnceLock<(&'static [SkillEntry], &'static [u8])> = OnceLock::new();
    let (skills, index) = *ENTRIES.get_or_init(|| {
        let library = skill_library::read(&mut Texts);
        let index = write_segment(&library.skills.iter().map(documents::of_skill).collect::<Vec<_>>()).unwrap();
        let entries: Vec<SkillEntry> = library.skills.into_iter().map(entry).collect();
        (&*entries.leak(), &*index.leak())
    });
    Compiled {
        skills,
        index,
        by_key: |key| by_key(compiled().skills, key),
        by_uri: |uri| by_uri(compiled().skills, uri),
    }
}

fn entry(skill: skill_library::Skill) -> SkillEntry {
    let leak = |text: String| -> &'static str { text.leak() };
    let leak_all =
        |list: Vec<String>| -> &'static [&'static str] { list.into_iter().map(leak).collect::<Vec<_>>().leak() };
    let blocks = evokore_catalog::markdown::code_blocks(&skill.file.body);
    let blocks = blocks.into_iter().map(|it| CodeBlock { language: leak(it.language), code: leak(it.code) });
    let next: &[NextStep] = match skill.name.as_str() {
        "code-review" => &[NextStep { skill: "release", reason: "\"use the release skill\" (x:9)", transitive: false }],
        _ => &[],
    };
    SkillEntry {
        name: leak(skill.name),
        category: leak(skill.category),
        subcategory: leak(skill.subcategory),
        description: leak(skill.description),
        uri: leak(skill.uri),
        path: leak(skill.path),
        version: leak(skill.file.version.unwrap_or_default()),
        tags: leak_all(skill.file.tags),
        aliases: leak_all(skill.file.aliases),
        requires: leak_all(skill.file.requires),
        conflicts: leak_all(skill.file.conflicts),
        body: leak(skill.file.body),
        blocks: blocks.collect::<Vec<_>>().leak(),
        next_steps: next,
        tokens: 1,
    }
}

fn by_key(skills: &[SkillEntry], key: &str) -> Option<u16> {
    let has =
        |skill: &SkillEntry| lookup_keys(skill.category, skill.subcategory, skill.name).iter().any(|own| own == key);
    skills.iter().position(has).and_then(|at| u16::try_from(at).ok())
}

fn by_uri(skills: &[SkillEntry], uri: &str) -> Option<u16> {
    skills.iter().position(|skill| skill.uri == uri).and_then(|at| u16::try_from(at).ok())
}

/// A folder that goes away with the test.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(test: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("evokore-library-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub(crate) fn write(&self, skill: &str, text: &str) {
        fs::create_dir_all(self.0.join(skill)).unwrap();
        fs::write(self.0.join(skill).join("SKILL.md"), text).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn names(library: &Library, query: &str) -> Vec<String> {
    let snapshot = library.snapshot();
    search(library, &snapshot, query, 5).found.iter().map(|found| snapshot.address(found.at)).collect()
}

#[test]
fn names_are_looked_up_exactly() {
    let library = Library::with(compiled(), None);
    let snapshot = library.snapshot();
    let uri = |name: &str| snapshot.find(name).and_then(|at| snapshot.get(at)).map(|skill| skill.uri());
    for (name, expected) in [
        ("code-review", Some("skill://DEV/code-review")),
        (" Code-Review ", Some("skill://DEV/code-review")),
        ("dev/code-review", Some("skill://DEV/code-review")),
        ("lint", Some("skill://DEV/lint")),
        ("ops/lint", Some("skill://OPS/lint")),
        ("dev/checklist", Some("skill://DEV/checklist")),
        ("DEV/review/references/checklist", Some("skill://DEV/checklist")),
        ("code-reviews", None),
        ("inspect", None),
        ("", None),
        ("../../etc/passwd", None),
        ("/etc/passwd", None),
        ("..\\..\\x", None),
        ("DEV/../OPS/deploy", None),
    ] {
        assert_eq!(uri(name), expected, "{name}");
    }
    assert_eq!(snapshot.find_uri("skill://dev/code-review").map(|skill| skill.name()), Some("code-review"));
    assert!(snapshot.find_uri("skill://DEV/../OPS/deploy").is_none());
    let addresses: Vec<String> = (0..snapshot.len()).map(|at| snapshot.address(at)).collect();
    assert_eq!(addresses, ["checklist", "code-review", "lint", "deploy", "OPS/lint", "release"]);
}

#[test]
fn names_come_before_words_and_entry_points_before_references() {
    let library = Library::with(compiled(), None);
    for (query, expected) in [
        ("lint", vec!["lint", "OPS/lint"]),
        ("Code Review", vec!["code-review"]),
        ("inspect", vec!["code-review"]),
        ("dep", vec!["deploy"]),
        ("review changes", vec!["code-review", "checklist"]),
        ("bring my service to production", vec!["deploy"]),
        ("zebra", vec![]),
        ("", vec![]),
        ("...", vec![]),
    ] {
        let found = names(&library, query);
        assert_eq!(&found[..expected.len().min(found.len())], expected, "{query}");
    }
    let snapshot = library.snapshot();
    let answer = search(&library, &snapshot, "zebra style faults", 5);
    assert_eq!(answer.unmatched, ["zebra"]);
    assert_eq!(answer.found[0].matched, ["description"]);
    assert_eq!(search(&library, &snapshot, "inspect", 1).found[0].matched, ["alias"]);
}

#[test]
fn unknown_names_get_suggestions_and_prefixes_completions() {
    let library = Library::with(compiled(), None);
    let snapshot = library.snapshot();
    assert_eq!(suggestions(&library, &snapshot, "code-revew", 3)[0], "code-review");
    assert_eq!(suggestions(&library, &snapshot, "DEV/deploi", 3)[0], "deploy");
    assert_eq!(suggestions(&library, &snapshot, "inspect", 3)[0], "code-review");
    assert_eq!(suggestions(&library, &snapshot, "qqqqqqqq", 3), Vec::<String>::new());
    assert_eq!(completions(&library, &snapshot, "", 100).0.len(), 6);
    assert_eq!(completions(&library, &snapshot, "", 2), (vec!["checklist".to_owned(), "code-review".to_owned()], 6));
    assert_eq!(completions(&library, &snapshot, "rel", 100).0, ["release"]);
    assert_eq!(completions(&library, &snapshot, "ops/l", 100).0[0], "OPS/lint");
    assert_eq!(completions(&library, &snapshot, "production", 100).0, ["deploy"]);
}

#[tokio::test]
async fn a_refresh_lays_the_folder_over_the_compiled_skills() {
    let folder = Folder::new("refresh");
    for (skill, text) in SKILLS.iter().filter(|(skill, _)| *skill != "OPS/deploy") {
        folder.write(skill, text);
    }
    let library = Library::with(compiled(), Some(folder.0.clone()));
    let counts = |done: &super::Refreshed| (done.added, done.removed, done.changed, done.unchanged, done.total);

    let done = library.refresh().await.unwrap();
    assert_eq!((counts(&done), done.only_compiled, done.changes()), ((0, 0, 0, 6, 6), 1, false));

    folder.write("DEV/code-review", "---\nname: code-review\ndescription: Judges patches.\n---\n```py\n1\n```\n");
    folder.write("NEW/brew", "---\nname: brew\ndescription: Makes coffee.\n---\nHot.\n");
    folder.write("NEW/bad", "---\nname: bad\n");
    let done = library.refresh().await.unwrap();
    assert_eq!((counts(&done), done.changes()), ((1, 0, 1, 5, 7), true));
    assert_eq!(done.findings[0].path, "NEW/bad/SKILL.md");
    assert_eq!(names(&library, "patches"), ["code-review"]);
    assert_eq!(names(&library, "diff"), Vec::<String>::new(), "the compiled text is overruled");
    assert_eq!(names(&library, "coffee"), ["brew"]);
    assert_eq!(names(&library, "production"), ["deploy"], "what is only compiled stays");
    let snapshot = library.snapshot();
    let review = snapshot.find("code-review").and_then(|at| snapshot.get(at)).unwrap();
    assert_eq!(review.steps()[0].language, "py");
    assert_eq!(review.next_steps()[0].skill, "release", "links are the compiled ones");
    assert_eq!(snapshot.find_uri("skill://NEW/brew").map(|skill| skill.body()), Some("Hot."));

    fs::remove_dir_all(folder.0.join("NEW")).unwrap();
    folder.write(SKILLS[0].0, SKILLS[0].1);
    let done = library.refresh().await.unwrap();
    assert_eq!((counts(&done), done.changes()), ((0, 1, 1, 5, 6), true));
    assert_eq!(names(&library, "diff"), ["code-review"]);
}

#[tokio::test]
async fn without_a_folder_nothing_changes() {
    let library = Library::with(compiled(), None);
    assert!(matches!(library.refresh().await, Err(RefreshError::NoFolder)));
    let gone = Library::with(compiled(), Some("/no/such/SKILLS".into()));
    let error = gone.refresh().await.unwrap_err().to_string();
    assert!(error.contains("/no/such/SKILLS") && error.contains("hint:"), "{error}");
    assert_eq!(gone.snapshot().len(), 6);
}
