//! How good the ranking is, on public evaluation sets that lie beside a checkout at `../shared/search/dev` (they are too
//! large and too many people's to be in the repository). Without them there is nothing to measure, and it says so.
//!
//! A set is a catalog of tools or skills, and queries with the names that answer them; `query_typo` is the query as a
//! hasty hand writes it. The figures are means over the queries of a set, and then over the sets: nDCG@10 (graded where
//! the set grades), and R@5, the part of the right names that is among the first five.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a broken evaluation set fails, and the figures are shown"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use evokore_catalog::search::{Document, Expansion, Lexicon, Options, Scratch, Segment, search, terms, write_segment};
use serde_json::Value;

/// Means in percent.
#[derive(Debug, Clone, Copy, Default)]
struct Figures {
    ndcg: f64,
    recall: f64,
}

/// A way to search, the form of the queries, and what it reached when it was last judged, less one point: room for a
/// change that gains in one set what it loses in another, but not for one that loses.
struct Case {
    name: &'static str,
    field: &'static str,
    lexicon: bool,
    neighbours: bool,
    at_least: Figures,
}

const fn case(
    name: &'static str,
    field: &'static str,
    lexicon: bool,
    neighbours: bool,
    ndcg: f64,
    recall: f64,
) -> Case {
    Case { name, field, lexicon, neighbours, at_least: Figures { ndcg, recall } }
}

const CASES: [Case; 5] = [
    case("clean", "query", false, false, 66.1, 71.1),
    case("typo", "query_typo", false, false, 64.0, 69.9),
    case("typo, with a lexicon", "query_typo", true, false, 64.5, 69.4),
    case("clean, with a lexicon and neighbours", "query", true, true, 67.2, 71.7),
    case("typo, with a lexicon and neighbours", "query_typo", true, true, 65.7, 70.5),
];

#[test]
fn ranking_is_as_good_as_it_was() {
    let Some(shared) = shared() else { return };
    let (lexicon, neighbours) = (lexicon(&shared), Neighbours::read(&shared));
    let folders: Vec<_> = fs::read_dir(shared.join("dev")).unwrap().map(|entry| entry.unwrap().path()).collect();
    let by_set: Vec<_> = thread::scope(|scope| {
        let figures = |folder| {
            let set = Set::read(folder);
            CASES.map(|case| {
                let options = Options {
                    lexicon: case.lexicon.then_some(&lexicon),
                    expansion: case.neighbours.then_some(&neighbours),
                    ..Options::default()
                };
                set.figures(case.field, &options)
            })
        };
        let running: Vec<_> = folders.iter().map(|folder| scope.spawn(move || figures(folder))).collect();
        running.into_iter().map(|set| set.join().unwrap()).collect()
    });

    let mut failures = Vec::new();
    for (number, case) in CASES.iter().enumerate() {
        let got = mean(by_set.iter().map(|figures| figures[number]));
        println!("{:40} nDCG@10 {:.2}  R@5 {:.2}", case.name, got.ndcg, got.recall);
        if got.ndcg < case.at_least.ndcg || got.recall < case.at_least.recall {
            failures.push(format!("{}: {got:.2?}, at least {:.2?}", case.name, case.at_least));
        }
    }
    assert!(failures.is_empty(), "search finds less than it did: {failures:#?}");
}

/// A catalog as it is searched, and its queries.
struct Set {
    names: Vec<String>,
    segment: Segment,
    queries: Vec<Value>,
}

impl Set {
    fn read(folder: &Path) -> Self {
        let text = fs::read_to_string(folder.join("catalog.json")).unwrap();
        let mut entries: Vec<Value> = serde_json::from_str(&text).unwrap();
        entries.sort_by(|a, b| text_of(a, "name").cmp(text_of(b, "name")));
        let documents: Vec<_> = entries.iter().map(document).collect();
        let queries = fs::read_to_string(folder.join("queries.jsonl")).unwrap();
        Self {
            names: entries.iter().map(|entry| text_of(entry, "name").to_owned()).collect(),
            segment: Segment::new(write_segment(&documents).unwrap()).unwrap(),
            queries: queries.lines().map(|line| serde_json::from_str(line).unwrap()).collect(),
        }
    }

    fn figures(&self, field: &str, options: &Options<'_>) -> Figures {
        let mut scratch = Scratch::default();
        mean(self.queries.iter().map(|query| {
            let hits = search(&[&self.segment], text_of(query, field), options, &mut scratch);
            let gold = gold(query);
            let names: Vec<_> = hits.ranked.iter().map(|hit| self.names[usize::from(hit.document)].as_str()).collect();
            Figures { ndcg: 100.0 * ndcg_at_10(&names, &gold), recall: 100.0 * recall_at_5(&names, &gold) }
        }))
    }
}

fn document(entry: &Value) -> Document {
    let (name, description) = (text_of(entry, "name"), text_of(entry, "description"));
    if entry.get("body").is_none() {
        return Document::of_tool(name, description, &entry["inputSchema"]);
    }
    let tags = entry["tags"].as_array().unwrap().iter().filter_map(Value::as_str);
    Document::of_skill(name, description, tags.chain([text_of(entry, "category")]), text_of(entry, "body"))
}

/// The names that answer a query, with their grades.
fn gold(query: &Value) -> BTreeMap<&str, i32> {
    match query["rel"].as_object() {
        Some(grades) => grades.iter().map(|(name, grade)| (name.as_str(), grade.as_i64().unwrap() as i32)).collect(),
        None => query["gold"].as_array().unwrap().iter().map(|name| (name.as_str().unwrap(), 1)).collect(),
    }
}

fn ndcg_at_10(names: &[&str], gold: &BTreeMap<&str, i32>) -> f64 {
    let gain = |grades: &mut dyn Iterator<Item = i32>| -> f64 {
        grades.take(10).zip(2..).map(|(grade, place)| (2f64.powi(grade) - 1.0) / f64::from(place).log2()).sum()
    };
    let mut best: Vec<_> = gold.values().copied().collect();
    best.sort_unstable_by(|a, b| b.cmp(a));
    let reached = gain(&mut names.iter().map(|name| gold.get(name).copied().unwrap_or(0)));
    reached / gain(&mut best.into_iter())
}

fn recall_at_5(names: &[&str], gold: &BTreeMap<&str, i32>) -> f64 {
    let first: BTreeSet<_> = names.iter().take(5).filter(|name| gold.contains_key(*name)).collect();
    first.len() as f64 / gold.len().min(5) as f64
}

fn mean(figures: impl Iterator<Item = Figures>) -> Figures {
    let all: Vec<_> = figures.collect();
    let mean = |one: fn(&Figures) -> f64| all.iter().map(one).sum::<f64>() / all.len() as f64;
    Figures { ndcg: mean(|figures| figures.ndcg), recall: mean(|figures| figures.recall) }
}

fn text_of<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

/// The table of neighbours that lies with the sets: for each word, `word:weight` with spaces between.
struct Neighbours(BTreeMap<String, String>);

impl Neighbours {
    fn read(shared: &Path) -> Self {
        let text = fs::read_to_string(shared.join("assets/neighbours.tsv")).unwrap();
        let lines = text.lines().filter_map(|line| line.split_once('\t'));
        Self(lines.map(|(word, near)| (word.to_owned(), near.to_owned())).collect())
    }
}

impl Expansion for Neighbours {
    fn neighbours(&self, word: &str, give: &mut dyn FnMut(&str, u8)) {
        let near = self.0.get(word).map_or("", String::as_str);
        for (word, weight) in near.split(' ').filter_map(|pair| pair.rsplit_once(':')) {
            terms(word).iter().for_each(|term| give(term, weight.parse().unwrap()));
        }
    }
}

fn lexicon(shared: &Path) -> Lexicon {
    let text = fs::read_to_string(shared.join("assets/lexicon.tsv")).unwrap();
    let words = text.lines().filter_map(|line| line.split('\t').next());
    Lexicon::new(Lexicon::compile(words)).unwrap()
}

/// `shared/search` beside the checkout.
fn shared() -> Option<PathBuf> {
    let found = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .map(|folder| folder.join("shared/search"))
        .find(|folder| folder.join("dev").is_dir());
    if found.is_none() {
        println!("skipped: no evaluation sets at ../shared/search/dev, so the quality of search was not measured");
    }
    found
}
