//! Which skill leads to which: read from what the skills' texts say, kept free of cycles.
//!
//! * A direct edge is a sentence that says to invoke, run, use or call another skill ([`prose`]). One that would close
//!   a cycle is left out and reported with the path.
//! * A transitive edge is a chain of direct ones, made only for the sources in [`TRANSITIVE_SOURCES`].
//! * The mandatory points of [`PANEL`] are its next steps by rule ([`injection`]). They are no edges: each of them may
//!   well call the panel back, and that is no cycle.

mod injection;
mod json;
mod prose;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use evokore_catalog::finding::Finding;
use evokore_catalog::skill_library::Skill;
use petgraph::algo::astar;
use petgraph::graph::{DiGraph, NodeIndex};

/// The skill whose injection points are read.
pub const PANEL: &str = "panel-of-experts";

/// The skills from which chains of steps are followed, in the order of the table they come from.
pub const TRANSITIVE_SOURCES: [&str; 7] = [
    "release-readiness",
    "repo-ingestor",
    "docs-architect",
    "orch-review",
    "orch-plan",
    "tool-governance",
    "orch-refactor",
];

/// Longest chain of a transitive edge, in direct edges.
pub const MAX_DEPTH: usize = 5;

/// The graph over a library. Skills are their positions in it.
#[derive(Debug, Default)]
pub struct Graph {
    /// The skills' names, paths and tokens, in the library's order.
    skills: Vec<Node>,
    /// Direct edges by source, line and target.
    direct: Vec<Edge>,
    /// Direct edges left out since they would have closed a cycle, with the path that exists already.
    rejected: Vec<(Edge, Vec<usize>)>,
    /// Chains by source and target: source first, target last.
    transitive: Vec<Vec<usize>>,
    /// The panel's position and its mandatory points with their lines.
    mandatory: Option<(usize, Vec<(usize, u32)>)>,
    /// Cycles and broken tables, about files of the library.
    pub warnings: Vec<Finding>,
}

#[derive(Debug)]
struct Node {
    name: String,
    path: String,
    tokens: u32,
}

/// A sentence of one skill that leads to another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Edge {
    from: usize,
    line: u32,
    to: usize,
    phrase: String,
}

/// Builds the graph over `skills`, whose bodies have `tokens`.
pub fn build(skills: &[Skill], tokens: &[u32]) -> Graph {
    let mut by_name: BTreeMap<String, usize> = BTreeMap::new();
    for (at, skill) in skills.iter().enumerate() {
        by_name.entry(skill.name.to_lowercase()).or_insert(at);
    }
    let node =
        |(skill, tokens): (&Skill, &u32)| Node { name: skill.name.clone(), path: skill.path.clone(), tokens: *tokens };
    let mut graph = Graph { skills: skills.iter().zip(tokens).map(node).collect(), ..Graph::default() };
    let mut links = DiGraph::<(), ()>::new();
    let nodes: Vec<NodeIndex> = skills.iter().map(|_| links.add_node(())).collect();
    for edge in sentences(skills, &by_name) {
        let (from, to) = (nodes[edge.from], nodes[edge.to]);
        match astar(&links, to, |node| node == from, |_| 1, |_| 0) {
            None => {
                links.add_edge(from, to, ());
                graph.direct.push(edge);
            }
            Some((_, back)) => {
                let back: Vec<usize> = back.into_iter().map(NodeIndex::index).collect();
                graph.warnings.push(graph.cycle(&edge, &back));
                graph.rejected.push((edge, back));
            }
        }
    }
    for source in TRANSITIVE_SOURCES.iter().filter_map(|name| by_name.get(*name)) {
        graph.transitive.extend(graph.chains(*source));
    }
    graph.transitive.sort_by_key(|chain| (chain.first().copied(), chain.last().copied()));
    if let Some(panel) = by_name.get(PANEL) {
        let points = injection::points(&skills[*panel], &by_name, &mut graph.warnings);
        graph.mandatory = Some((*panel, points));
    }
    graph
}

/// The direct edges that the texts ask for: each pair once, at its first sentence.
fn sentences(skills: &[Skill], by_name: &BTreeMap<String, usize>) -> Vec<Edge> {
    let mut edges = Vec::new();
    for (from, skill) in skills.iter().enumerate() {
        let mut seen = BTreeSet::from([from]);
        for call in prose::calls(&skill.file.body) {
            let Some(to) = by_name.get(&call.name).copied().filter(|to| seen.insert(*to)) else { continue };
            let line = skill.file.body_line.saturating_add(call.line);
            edges.push(Edge { from, line, to, phrase: call.phrase });
        }
    }
    edges.sort();
    edges
}

impl Graph {
    /// Where the skill at `at` leads: name, reason, and whether through another skill. Sentences first, in the order of
    /// the text, then mandatory points, then chains; each target once.
    pub fn next_steps(&self, at: usize) -> Vec<(String, String, bool)> {
        let mut steps: Vec<(usize, String, bool)> = Vec::new();
        let path = &self.skills[at].path;
        for edge in self.direct.iter().filter(|edge| edge.from == at) {
            steps.push((edge.to, format!("\"{}\" ({path}:{})", edge.phrase, edge.line), false));
        }
        for (target, line) in self.mandatory.iter().filter(|(panel, _)| *panel == at).flat_map(|(_, points)| points) {
            steps.push((*target, format!("mandatory injection point ({path}:{line})"), false));
        }
        for chain in self.transitive.iter().filter(|chain| chain.first() == Some(&at)) {
            if let [_, through @ .., target] = chain.as_slice() {
                steps.push((*target, format!("through {}", self.names(through).join(", ")), true));
            }
        }
        let mut seen = BTreeSet::from([at]);
        steps.retain(|(target, ..)| seen.insert(*target));
        steps.into_iter().map(|(target, reason, far)| (self.skills[target].name.clone(), reason, far)).collect()
    }

    /// The shortest chains of two to [`MAX_DEPTH`] direct edges from `source`, one to each skill it has no edge to.
    fn chains(&self, source: usize) -> Vec<Vec<usize>> {
        let mut found = Vec::new();
        let mut seen = BTreeSet::from([source]);
        let mut queue = VecDeque::from([vec![source]]);
        while let Some(chain) = queue.pop_front().filter(|chain| chain.len() <= MAX_DEPTH) {
            let last = chain.last().copied();
            for edge in self.direct.iter().filter(|edge| Some(edge.from) == last) {
                if seen.insert(edge.to) {
                    let longer: Vec<usize> = chain.iter().copied().chain([edge.to]).collect();
                    if longer.len() > 2 {
                        found.push(longer.clone());
                    }
                    queue.push_back(longer);
                }
            }
        }
        found
    }

    fn cycle(&self, edge: &Edge, back: &[usize]) -> Finding {
        let around = self.names(&[&[edge.from], back].concat()).join(" -> ");
        let message = format!("\"{}\" closes a cycle of skills and is left out of the graph: {around}", edge.phrase);
        let hint = "let one of them stand alone, or name it without `use … skill`";
        Finding::noted(edge.line, 1, message, hint).in_file(&self.skills[edge.from].path)
    }

    fn names(&self, skills: &[usize]) -> Vec<&str> {
        skills.iter().map(|at| self.skills[*at].name.as_str()).collect()
    }
}
