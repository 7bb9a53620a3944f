//! Phrases that speak to the model behind the person's back.

use super::letters::plain;
use super::{Level, Spot};

/// A phrase: one of each group, in order, with at most `gap` other words between two of them.
struct Phrase {
    level: Level,
    what: &'static str,
    gap: usize,
    groups: &'static [&'static [&'static str]],
}

const HUMANS: &[&str] = &["user", "users", "human", "person", "anyone", "anybody", "operator"];
const INSTRUCTIONS: &[&str] =
    &["instruction", "instructions", "prompt", "prompts", "directive", "directives", "guidelines"];
const TELL: &[&str] = &["tell", "inform", "notify", "alert", "reveal", "disclose", "mention"];
const GIVE: &[&str] = &["pass", "send", "include", "provide", "forward", "append", "attach", "put"];
const HIDES: &str = "wants to be kept from the user";
const IGNORES: &str = "tells the model to set its instructions aside";

const PHRASES: &[Phrase] = &[
    Phrase {
        level: Level::Danger,
        what: IGNORES,
        gap: 2,
        groups: &[
            &["ignore", "disregard", "forget"],
            &["previous", "prior", "earlier", "above", "preceding", "your", "system", "all", "any", "other"],
            INSTRUCTIONS,
        ],
    },
    Phrase {
        level: Level::Danger,
        what: IGNORES,
        gap: 1,
        groups: &[
            &["override", "bypass", "overrides"],
            &["previous", "prior", "earlier", "preceding", "your", "system"],
            INSTRUCTIONS,
        ],
    },
    Phrase { level: Level::Danger, what: HIDES, gap: 3, groups: &[&["not"], TELL, HUMANS] },
    Phrase { level: Level::Danger, what: HIDES, gap: 3, groups: &[&["don't", "never", "dont"], TELL, HUMANS] },
    Phrase {
        level: Level::Danger,
        what: HIDES,
        gap: 2,
        groups: &[&["without"], &["telling", "informing", "notifying", "alerting", "mentioning"], HUMANS],
    },
    Phrase {
        level: Level::Danger,
        what: HIDES,
        gap: 3,
        groups: &[&["hide", "conceal", "keep", "hidden", "secret"], &["from"], HUMANS],
    },
    Phrase {
        level: Level::Warn,
        what: "asks for the conversation",
        gap: 2,
        groups: &[
            GIVE,
            &["entire", "full", "whole", "complete", "previous", "all"],
            &["conversation", "chat", "transcript"],
        ],
    },
    Phrase {
        level: Level::Warn,
        what: "asks for the model's instructions",
        gap: 2,
        groups: &[
            &["reveal", "print", "repeat", "output", "send", "include", "pass", "share"],
            &["system", "your"],
            &["prompt", "instructions"],
        ],
    },
    Phrase {
        level: Level::Warn,
        what: "gives the model another role",
        gap: 0,
        groups: &[&["you"], &["are"], &["now"], &["a", "an", "in", "the"]],
    },
    Phrase {
        level: Level::Notice,
        what: "wants to be called before others",
        gap: 3,
        groups: &[&["must", "always"], &["call", "use", "invoke", "run"], &["this"], &["before", "first"]],
    },
];

/// Marks of a conversation's format, and tags that ask to be obeyed, in lower case.
const MARKS: &[&str] = &[
    "<important>",
    "</important>",
    "<system>",
    "<secret>",
    "<hidden>",
    "<instructions>",
    "<system-reminder>",
    "<|im_start|>",
    "<|system|>",
    "<|endoftext|>",
    "[inst]",
    "<<sys>>",
];

/// Where secrets lie.
const SECRETS: &[&str] = &[
    "~/.ssh",
    "/.ssh/",
    "id_rsa",
    "id_ed25519",
    ".aws/credentials",
    "/etc/passwd",
    "/etc/shadow",
    ".netrc",
    ".cursor/mcp.json",
    "claude_desktop_config",
    ".kube/config",
    "~/.gnupg",
    ".git-credentials",
    ".bash_history",
    "wallet.dat",
    "~/.npmrc",
];
/// What is done with them.
const TAKES: &[&str] = &[
    "read",
    "reads",
    "pass",
    "send",
    "include",
    "upload",
    "attach",
    "forward",
    "contents",
    "content",
    "cat",
    "post",
    "copy",
    "provide",
    "put",
    "exfiltrate",
    "append",
];
/// Words between a secret and what is done with it.
const NEAR: usize = 12;

/// Where a word stands in the text, and where in the words.
struct Word {
    offset: usize,
    start: usize,
    end: usize,
}

/// The words of a text as a model reads them: lower case, look-alike letters made Latin, nothing that is not seen.
struct Words {
    letters: String,
    words: Vec<Word>,
}

impl Words {
    fn of(text: &str) -> Words {
        let mut words = Words { letters: String::with_capacity(text.len()), words: Vec::new() };
        let mut open = None;
        for (at, c) in text.char_indices() {
            let c = if c == '’' { '\'' } else { plain(c) };
            if c.is_alphanumeric() || c == '\'' {
                open.get_or_insert((at, words.letters.len()));
                words.letters.push(c);
            } else if c.is_ascii() || c.is_whitespace() {
                words.close(open.take());
            }
        }
        words.close(open);
        words
    }

    fn close(&mut self, open: Option<(usize, usize)>) {
        let end = self.letters.len();
        self.words.extend(open.map(|(offset, start)| Word { offset, start, end }));
    }

    fn get(&self, at: usize) -> Option<&str> {
        self.words.get(at).map(|word| &self.letters[word.start..word.end])
    }

    /// Whether `groups` begin at word `at`.
    fn begins(&self, at: usize, groups: &[&[&str]], gap: usize) -> bool {
        let Some((first, rest)) = groups.split_first() else { return true };
        let is_here = self.get(at).is_some_and(|word| first.contains(&word));
        is_here && (rest.is_empty() || (0..=gap).any(|skipped| self.begins(at + 1 + skipped, rest, gap)))
    }
}

/// A shorter text holds none of the phrases, marks and places.
const SHORTEST: usize = 6;

/// By first byte, the lengths of the words that phrases begin with, a bit each: what most words are told apart by.
const STARTS: [u32; 256] = {
    let mut starts = [0; 256];
    let mut phrase = 0;
    while phrase < PHRASES.len() {
        let first = PHRASES[phrase].groups[0];
        let mut word = 0;
        while word < first.len() {
            let bytes = first[word].as_bytes();
            starts[bytes[0] as usize] |= 1 << bytes.len();
            word += 1;
        }
        phrase += 1;
    }
    starts
};

/// Whether a phrase may begin with `word`; false only if none does.
fn may_begin(word: &str) -> bool {
    let bytes = word.as_bytes();
    bytes.len() < 32 && bytes.first().is_some_and(|first| STARTS[usize::from(*first)] >> bytes.len() & 1 == 1)
}

/// What `text` says that no description should.
pub(super) fn of(text: &str) -> Vec<Spot> {
    if text.len() < SHORTEST {
        return Vec::new();
    }
    let mut found: Vec<Spot> = Vec::new();
    let words = Words::of(text);
    let mut is_found = [false; PHRASES.len()];
    for (at, word) in words.words.iter().enumerate().filter(|(at, _)| words.get(*at).is_some_and(may_begin)) {
        for (phrase, is_found) in PHRASES.iter().zip(&mut is_found) {
            if !*is_found && words.begins(at, phrase.groups, phrase.gap) {
                *is_found = true;
                found.push((phrase.level, word.offset, phrase.what.to_owned()));
            }
        }
    }
    let has = |byte: u8| text.as_bytes().contains(&byte);
    if has(b'<') || has(b'[') {
        found.extend(marks(text));
    }
    if has(b'/') || has(b'_') || has(b'.') {
        found.extend(secrets(text, &words));
    }
    found
}

fn marks(text: &str) -> Vec<Spot> {
    let lower = text.to_ascii_lowercase();
    let mark = MARKS.iter().filter_map(|mark| lower.find(mark)).min();
    let mark = mark.map(|at| (Level::Danger, at, "a tag that asks a model to obey".to_owned()));
    let comment = lower.find("<!--").map(|at| (Level::Warn, at, "a comment that pages do not show".to_owned()));
    mark.into_iter().chain(comment).collect()
}

fn secrets(text: &str, words: &Words) -> Option<Spot> {
    let lower = text.to_ascii_lowercase();
    let at = SECRETS.iter().filter_map(|place| lower.find(place)).min()?;
    let here = words.words.partition_point(|word| word.offset <= at);
    let taken =
        (here.saturating_sub(NEAR)..here + NEAR).any(|at| words.get(at).is_some_and(|word| TAKES.contains(&word)));
    Some(if taken {
        (Level::Danger, at, "asks for a file in which secrets lie".to_owned())
    } else {
        (Level::Notice, at, "speaks of a file in which secrets lie".to_owned())
    })
}
