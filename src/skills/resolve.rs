//! Which skills fit a text: exact names and aliases, then names that start with it, then the index.

use evokore_catalog::search::{self, Hits, Options, Segment, normalise_name, terms};

use super::library::Library;
use super::skill::SkillRef;
use super::snapshot::Snapshot;
use evokore_catalog::suggest;

/// Skills that lie directly in their category are entry points; what lies deeper is mostly material of another skill.
const ROOT_FACTOR: f32 = 1.05;

/// Reference material is read when a skill says so.
const REFERENCE_FACTOR: f32 = 0.85;

/// Most places named in [`Found::matched`].
const MAX_PLACES: usize = 3;

/// A skill that fits.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Its position in the snapshot.
    pub at: usize,
    /// How well, 0 to 1; 1 for names.
    pub score: f32,
    /// Where it matched, in a person's words.
    pub matched: Vec<&'static str>,
}

/// What fits a text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// The best first.
    pub found: Vec<Found>,
    /// Words of the text that no skill has.
    pub unmatched: Vec<String>,
}

/// The skills of `snapshot` that fit `query`, at most `limit`.
pub fn search(library: &Library, snapshot: &Snapshot, query: &str, limit: usize) -> Answer {
    let mut found = named(snapshot, query);
    let hits = indexed(library, snapshot, query, (limit * 4).max(12));
    let mut ranked: Vec<(usize, f32)> = hits
        .ranked
        .iter()
        .filter_map(|hit| {
            let at = position(library, snapshot, hit.segment, hit.document)?;
            Some((at, (hit.score * factor(snapshot.get(at)?)).min(1.0)))
        })
        .collect();
    // The index gives a fixed order, and the sort is stable.
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    for (at, score) in ranked {
        if found.len() >= limit {
            break;
        }
        if let Some(skill) = snapshot.get(at).filter(|_| found.iter().all(|known| known.at != at)) {
            found.push(Found { at, score, matched: places(skill, query) });
        }
    }
    found.truncate(limit);
    Answer { found, unmatched: hits.unmatched }
}

/// Names for a text that is no skill's name: what was probably meant, at most `limit`.
pub fn suggestions(library: &Library, snapshot: &Snapshot, asked: &str, limit: usize) -> Vec<String> {
    let mut found: Vec<usize> = named(snapshot, asked).into_iter().map(|found| found.at).collect();
    let bare = asked.rsplit('/').next().unwrap_or(asked);
    for _ in 0..limit {
        let rest = (0..snapshot.len()).filter(|at| !found.contains(at)).filter_map(|at| snapshot.get(at));
        let Some(at) = suggest::nearest(bare, rest.map(SkillRef::name)).and_then(|name| snapshot.find(name)) else {
            break;
        };
        if found.contains(&at) {
            break;
        }
        found.push(at);
    }
    if found.is_empty() {
        let more = search(library, snapshot, asked, limit);
        found.extend(more.found.into_iter().map(|found| found.at));
    }
    let mut names: Vec<String> = Vec::new();
    for name in found.into_iter().map(|at| snapshot.address(at)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.truncate(limit);
    names
}

/// Names that complete `typed`, with how many there are in all: those that start with it, then what the index finds.
pub fn completions(library: &Library, snapshot: &Snapshot, typed: &str, limit: usize) -> (Vec<String>, usize) {
    let prefix = typed.trim().to_lowercase();
    let mut found: Vec<usize> = (0..snapshot.len())
        .filter(|at| {
            let starts = |text: &str| text.to_lowercase().starts_with(&prefix);
            snapshot.get(*at).is_some_and(|skill| {
                starts(skill.name())
                    || (prefix.contains('/') && starts(&format!("{}/{}", skill.category(), skill.name())))
            })
        })
        .collect();
    if !prefix.is_empty() {
        let more = search(library, snapshot, typed, limit).found;
        let more: Vec<usize> = more.into_iter().map(|found| found.at).filter(|at| !found.contains(at)).collect();
        found.extend(more);
    }
    let total = found.len();
    found.truncate(limit);
    (found.into_iter().map(|at| snapshot.address(at)).collect(), total)
}

/// Exact names and aliases first, then names that start with the query; entry points before what lies deeper.
fn named(snapshot: &Snapshot, query: &str) -> Vec<Found> {
    let wanted = normalise_name(query);
    let mut found: Vec<(u8, usize, usize)> = Vec::new();
    for (at, skill) in snapshot.iter().enumerate() {
        let name = normalise_name(skill.name());
        let depth = if skill.subcategory().is_empty() { 0 } else { skill.subcategory().split('/').count() };
        let tier = match () {
            () if wanted.is_empty() => continue,
            () if name == wanted || snapshot.find(query) == Some(at) => 0,
            () if skill.aliases().iter().any(|alias| normalise_name(alias) == wanted) => 1,
            () if wanted.len() > 1 && name.starts_with(&wanted) => 2,
            () => continue,
        };
        found.push((tier, depth, at));
    }
    found.sort_unstable();
    let matched = |tier| match tier {
        0 => "exact name",
        1 => "alias",
        _ => "start of the name",
    };
    found.into_iter().map(|(tier, _, at)| Found { at, score: 1.0, matched: vec![matched(tier)] }).collect()
}

fn indexed(library: &Library, snapshot: &Snapshot, query: &str, limit: usize) -> Hits {
    let segments: Vec<&Segment> = library.compiled_index().into_iter().chain(snapshot.disk_index()).collect();
    let accept = |segment, document| position(library, snapshot, segment, document).is_some();
    let order = |segment, document| {
        position(library, snapshot, segment, document).and_then(|at| u32::try_from(at).ok()).unwrap_or(u32::MAX)
    };
    let options = Options { limit, accept: Some(&accept), order: Some(&order), ..Options::default() };
    search::search(&segments, query, &options, &mut library.scratch())
}

/// The position of a document; which segment is which depends on whether the compiled one could be opened.
fn position(library: &Library, snapshot: &Snapshot, segment: usize, document: u16) -> Option<usize> {
    match (library.compiled_index().is_some(), segment) {
        (true, 0) => snapshot.of_compiled(usize::from(document)),
        _ => snapshot.of_disk(usize::from(document)),
    }
}

fn factor(skill: SkillRef<'_>) -> f32 {
    let sub = skill.subcategory().to_lowercase();
    match () {
        () if sub.is_empty() => ROOT_FACTOR,
        () if sub.contains("reference") => REFERENCE_FACTOR,
        () => 1.0,
    }
}

/// The parts of `skill` that hold words of `query`, each once.
fn places(skill: SkillRef<'_>, query: &str) -> Vec<&'static str> {
    let parts = [
        ("name", terms(skill.name())),
        ("alias", terms(&skill.aliases().join(" "))),
        ("tags", terms(&skill.tags().join(" "))),
        ("category", terms(&format!("{} {}", skill.category(), skill.subcategory()))),
        ("description", terms(skill.description())),
    ];
    let mut places = Vec::new();
    for term in terms(query) {
        let place = parts.iter().find(|(_, terms)| terms.contains(&term)).map(|(place, _)| *place);
        if let Some(place) = place.filter(|place| !places.contains(place)) {
            places.push(place);
        }
    }
    if places.is_empty() {
        places.push("text");
    }
    places.truncate(MAX_PLACES);
    places
}
