//! `generated/skill-graph.json`: one edge a line, sorted by names, with the sentence's place.

use std::fmt::Write as _;

use serde_json::json;

use crate::review::MADE_BY;

use super::{Graph, MAX_DEPTH, PANEL, TRANSITIVE_SOURCES};

impl Graph {
    /// The reviewable form. The same library gives the same text on every machine.
    pub fn to_json(&self) -> String {
        let name = |at: usize| self.skills[at].name.as_str();
        let path = |at: usize| self.skills[at].path.as_str();
        let mut edges: Vec<_> = self
            .direct
            .iter()
            .map(|edge| {
                let tokens = self.skills[edge.to].tokens;
                let value = json!({"from": name(edge.from), "to": name(edge.to), "kind": "direct",
                    "file": path(edge.from), "line": edge.line, "tokens": tokens});
                ((path(edge.from), edge.line, name(edge.to)), value.to_string())
            })
            .collect();
        edges.extend(self.transitive.iter().filter_map(|chain| {
            let [from, through @ .., to] = chain.as_slice() else { return None };
            let value = json!({"from": name(*from), "to": name(*to), "kind": "transitive", "file": path(*from),
                "through": self.names(through), "tokens": self.skills[*to].tokens});
            // After the direct ones of the same file.
            Some(((path(*from), u32::MAX, name(*to)), value.to_string()))
        }));
        edges.sort();
        let mut rejected: Vec<_> = self
            .rejected
            .iter()
            .map(|(edge, back)| {
                let around = self.names(&[&[edge.from], back.as_slice()].concat()).join(" -> ");
                let value = json!({"from": name(edge.from), "to": name(edge.to), "file": path(edge.from),
                    "line": edge.line, "reason": "would close a cycle", "path": around});
                ((path(edge.from), edge.line, name(edge.to)), value.to_string())
            })
            .collect();
        rejected.sort();
        let points = self.mandatory.iter().flat_map(|(_, points)| points);
        let points = points.map(|(at, line)| json!({"skill": name(*at), "line": line}).to_string());
        let sources = TRANSITIVE_SOURCES.iter().map(|source| json!(source).to_string());
        let mut out = format!("{{\n  \"_\": {},\n", json!(MADE_BY));
        let _ = writeln!(out, "  \"skills\": {},\n  \"maxDepth\": {MAX_DEPTH},", self.skills.len());
        list(&mut out, "transitiveSources", sources, ",");
        let panel = self.mandatory.as_ref().map_or("null".to_owned(), |(at, _)| json!(path(*at)).to_string());
        let _ = writeln!(out, "  \"mandatoryInjectionPointsOf\": {panel},");
        debug_assert!(self.mandatory.as_ref().is_none_or(|(at, _)| name(*at).eq_ignore_ascii_case(PANEL)));
        list(&mut out, "mandatoryInjectionPoints", points, ",");
        list(&mut out, "edges", edges.into_iter().map(|(_, edge)| edge), ",");
        list(&mut out, "rejectedCycles", rejected.into_iter().map(|(_, edge)| edge), "");
        out.push_str("}\n");
        out
    }
}

fn list(out: &mut String, key: &str, items: impl Iterator<Item = String>, after: &str) {
    let items: Vec<String> = items.map(|item| format!("    {item}")).collect();
    let _ = match items.as_slice() {
        [] => writeln!(out, "  \"{key}\": []{after}"),
        _ => writeln!(out, "  \"{key}\": [\n{}\n  ]{after}", items.join(",\n")),
    };
}
