//! Sentences that send the reader to another skill: "invoke the `x` skill", "run **y** panel".
//!
//! Only text counts, as Markdown's reader sees it: code blocks are examples, marks of emphasis and inline code round a
//! name are not part of it.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// One such sentence part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    /// Line of the body on which the name stands, from 0.
    pub(super) line: u32,
    /// The name, lower case.
    pub(super) name: String,
    /// The words as they stand in the text, without marks.
    pub(super) phrase: String,
}

/// The calls in `body`, in its order.
pub(super) fn calls(body: &str) -> Vec<Call> {
    let mut calls = Vec::new();
    let mut run = Run::default();
    let mut in_code = false;
    for (event, range) in Parser::new_ext(body, Options::ENABLE_TABLES).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(_)) => in_code = true,
            Event::End(TagEnd::CodeBlock) => in_code = false,
            Event::Text(text) if !in_code => run.push(&text, range.start),
            Event::Code(text) => run.push(&text, range.start),
            Event::SoftBreak | Event::HardBreak => run.push(" ", range.start),
            Event::Start(ref tag) if is_inline(tag) => {}
            Event::End(TagEnd::Emphasis | TagEnd::Strong | TagEnd::Link) => {}
            _ => run.finish(body, &mut calls),
        }
    }
    run.finish(body, &mut calls);
    calls
}

fn is_inline(tag: &Tag<'_>) -> bool {
    matches!(tag, Tag::Emphasis | Tag::Strong | Tag::Link { .. })
}

/// The text of one paragraph, heading, list item or table cell, with the places its parts come from.
#[derive(Default)]
struct Run {
    text: String,
    parts: Vec<(usize, usize)>,
}

impl Run {
    fn push(&mut self, text: &str, offset: usize) {
        self.parts.push((self.text.len(), offset));
        self.text.push_str(text);
    }

    /// Reads the calls of the run and empties it.
    fn finish(&mut self, body: &str, calls: &mut Vec<Call>) {
        let words = words(&self.text);
        for at in 0..words.len() {
            let Some((name, last)) = call_at(&words[at..]) else { continue };
            let (start, end) = (words[at].0, words[at + last].0 + words[at + last].1.len());
            let (part, offset) = self.parts.iter().rfind(|(part, _)| *part <= name.0).copied().unwrap_or_default();
            let offset = (offset + name.0 - part).min(body.len());
            let line = body.as_bytes()[..offset].iter().filter(|byte| **byte == b'\n').count();
            calls.push(Call {
                line: u32::try_from(line).unwrap_or(u32::MAX),
                name: name.1.to_lowercase(),
                phrase: self.text[start..end].split_whitespace().collect::<Vec<_>>().join(" "),
            });
        }
        self.text.clear();
        self.parts.clear();
    }
}

/// A word, where it starts, and whether only blanks stand between it and the word before.
type Word<'a> = (usize, &'a str, bool);

fn words(text: &str) -> Vec<Word<'_>> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let mut words: Vec<Word<'_>> = Vec::new();
    let mut end = 0;
    while let Some(gap) = text[end..].find(is_part) {
        let start = end + gap;
        let length = text[start..].find(|c| !is_part(c)).unwrap_or(text.len() - start);
        let adjacent = gap > 0 && text[end..start].trim().is_empty();
        words.push((start, &text[start..start + length], adjacent));
        end = start + length;
    }
    words
}

const VERBS: [&str; 4] = ["invoke", "run", "use", "call"];
const NOUNS: [&str; 3] = ["skill", "panel", "workflow"];

/// The name, and the index of the last word, when `words` start with verb, perhaps "the", name and noun.
fn call_at<'a>(words: &[Word<'a>]) -> Option<(Word<'a>, usize)> {
    let is = |at: usize, list: &[&str]| {
        words.get(at).is_some_and(|(_, word, _)| list.iter().any(|other| word.eq_ignore_ascii_case(other)))
    };
    let at = if is(1, &["the"]) { 2 } else { 1 };
    let adjacent = words.get(1..=at + 1)?.iter().all(|(.., adjacent)| *adjacent);
    let name = *words.get(at)?;
    let named = name.1.len() >= 3 && name.1.starts_with(|c: char| c.is_ascii_alphanumeric());
    (is(0, &VERBS) && is(at + 1, &NOUNS) && adjacent && named).then_some((name, at + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_in_prose() {
        for (body, expected) in [
            ("Invoke orch-plan skill.", vec!["orch-plan@0"]),
            ("Then run the `repo-ingestor` skill and\nuse **tdd** workflow", vec!["repo-ingestor@0", "tdd@1"]),
            ("CALL the\n*panel-of-experts*\npanel", vec!["panel-of-experts@1"]),
            (
                "- use `a-b` skill\n- use [c-d](x) skill\n\n| t | use e_f skill |\n|---|---|\n| call ghi skill | y |",
                vec!["a-b@0", "c-d@1", "e_f@3", "ghi@5"],
            ),
            ("## Use xyz panel", vec!["xyz@0"]),
            ("```\ninvoke abc skill\n```\n\n    invoke abc skill", vec![]),
            ("invoke abc, skill. reuse abc skill. use ab skill. use -abc skill. invoke abc\n\nskill", vec![]),
            ("use the skill. run the the-thing skill", vec!["the-thing@0"]),
            ("<b>use abc skill</b> `use def skill`", vec!["abc@0", "def@0"]),
        ] {
            let found: Vec<String> = calls(body).iter().map(|call| format!("{}@{}", call.name, call.line)).collect();
            assert_eq!(found, expected, "{body}");
        }
        assert_eq!(calls("Then run the\n`x-y`  skill")[0].phrase, "run the x-y skill");
    }
}
