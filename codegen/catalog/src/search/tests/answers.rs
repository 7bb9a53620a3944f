//! What a query finds, and what the answer says about it.

use expect_test::expect;
use serde_json::json;

use super::{TOOLS, segment, tools};
use crate::search::{Document, Expansion, Field, Floor, Hits, Lexicon, Options, Scratch, search, write_segment};

fn find(query: &str, options: &Options<'_>) -> Hits {
    search(&[&segment(&tools())], query, options, &mut Scratch::default())
}

fn names(hits: &Hits) -> String {
    let names: Vec<_> = hits.ranked.iter().map(|hit| TOOLS[usize::from(hit.document)]).collect();
    names.join(" ")
}

#[test]
fn queries_find_the_tool_that_answers_them() {
    for (query, expected) in [
        ("read a file", "fs_read_file fs_search_files"),
        ("searching for files", "fs_search_files fs_read_file"),
        ("serach fiels", "fs_search_files fs_read_file"),
        ("report a bug", "github_create_issue"),
        ("github", "github_create_issue"),
        ("GitHub issues", "github_create_issue"),
        ("what time is it", "clock_now"),
        ("bake a chocolate cake", ""),
        ("", ""),
        ("…", ""),
    ] {
        assert_eq!(names(&find(query, &Options::default())), expected, "{query:?}");
    }
}

#[test]
fn scores_are_the_same_on_every_machine() {
    let mut lines = String::new();
    for query in ["read a file", "serach fiels", "open GitHub issues for bugs, bugs, bugs"] {
        for hit in find(query, &Options { floor: Floor::NONE, ..Options::default() }).ranked {
            // All digits that a score has.
            lines += &format!("{:.9} {}\n", hit.score, TOOLS[usize::from(hit.document)]);
        }
    }
    expect![[r#"
        0.843832552 fs_read_file
        0.388040602 fs_search_files
        0.713332653 fs_search_files
        0.331195235 fs_read_file
        0.631024539 github_create_issue
    "#]]
    .assert_eq(&lines);
}

#[test]
fn the_answer_says_how_words_were_read() {
    let hits = find("serach the Zanzibar files of 2024 on GitLab with k9x", &Options::default());
    assert_eq!(hits.corrected, [("serach".to_owned(), "search".to_owned())]);
    assert_eq!(hits.unmatched, ["zanzibar", "gitlab"]);
    assert_eq!(find("github GitHub", &Options::default()).unmatched, [""; 0]);
}

#[test]
fn a_compound_known_in_one_spelling_is_known() {
    let documents = [Document::of_tool("github_list", "", &json!({})), Document::of_tool("git_log", "", &json!({}))];
    let hits = search(&[&segment(&documents)], "GitHub", &Options::default(), &mut Scratch::default());
    assert_eq!(hits.ranked[0].document, 0);
    assert_eq!(hits.unmatched, [""; 0]);
}

#[test]
fn a_word_of_the_lexicon_is_no_mistake() {
    let lexicon = Lexicon::new(Lexicon::compile(["pile", "pile", "heap"])).unwrap();
    let guarded = Options { lexicon: Some(&lexicon), ..Options::default() };
    assert_eq!(find("pile", &Options::default()).corrected, [("pile".to_owned(), "file".to_owned())]);
    assert_eq!(find("pile", &guarded), Hits { unmatched: vec!["pile".to_owned()], ..Hits::default() });
}

/// Says that a folder is rather like a file, and a great deal else.
struct Folders;

impl Expansion for Folders {
    fn neighbours(&self, word: &str, give: &mut dyn FnMut(&str, u8)) {
        if word == "dossier" {
            give("file", 128);
            (0..1000).for_each(|_| give("clock", 255));
        }
    }
}

#[test]
fn neighbours_are_found_and_count_less() {
    let options = Options { expansion: Some(&Folders), floor: Floor::NONE, ..Options::default() };
    let (word, neighbour) = (find("file", &options), find("dossier", &options));
    assert_eq!(names(&neighbour), "clock_now fs_read_file fs_search_files");
    assert_eq!(neighbour.unmatched, [""; 0]);
    let score_of = |hits: &Hits| hits.ranked.iter().find(|hit| hit.document == 0).unwrap().score;
    assert!(score_of(&neighbour) < score_of(&word));
    assert_eq!(find("dossier", &Options::default()).unmatched, ["dossier"]);
}

#[test]
fn options_limit_filter_and_order() {
    let not_first = |_: usize, document: u16| document != 0;
    let backwards = |_: usize, document: u16| u32::from(u16::MAX - document);
    let twins = [Document::of_tool("twin", "", &json!({})), Document::of_tool("twin", "", &json!({}))];
    let twins = segment(&twins);
    let documents = |options: &Options<'_>| -> Vec<_> {
        let hits = search(&[&twins, &twins], "twin", options, &mut Scratch::default());
        hits.ranked.iter().map(|hit| (hit.segment, hit.document)).collect()
    };
    let all = Options::default();
    assert_eq!(documents(&all), [(0, 0), (0, 1), (1, 0), (1, 1)]);
    assert_eq!(documents(&Options { limit: 3, ..all }), [(0, 0), (0, 1), (1, 0)]);
    assert_eq!(documents(&Options { limit: 0, ..all }), []);
    assert_eq!(documents(&Options { accept: Some(&not_first), ..all }), [(0, 1), (1, 1)]);
    assert_eq!(documents(&Options { order: Some(&backwards), ..all }), [(0, 1), (1, 1), (0, 0), (1, 0)]);
}

#[test]
fn a_skill_is_found_by_its_headings_and_body() {
    let body = "# Mending bicycles\n\n```sh\n# not a heading\n```\n\nPatch the tube, then the tyre.";
    let skill = Document::of_skill("workshop", "Hand work", ["tools", "metal"], body);
    let mut by_hand = Document::default();
    by_hand.add(Field::Body, body);
    by_hand.add(Field::Details, "Mending bicycles");
    by_hand.add(Field::Labels, "metal");
    by_hand.add(Field::Labels, "tools");
    by_hand.add(Field::Description, "Hand work");
    by_hand.add(Field::Name, "workshop");
    assert_eq!(write_segment(std::slice::from_ref(&skill)), write_segment(&[by_hand]));
    let skills = segment(&[skill]);
    for query in ["bicycle", "tyres", "metal", "workshop", "handwork hand"] {
        let hits = search(&[&skills], query, &Options::default(), &mut Scratch::default());
        assert_eq!(hits.ranked.len(), 1, "{query}");
    }
}
