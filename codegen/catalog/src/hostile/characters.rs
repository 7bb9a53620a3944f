//! Characters that are not seen, or that make a terminal or a line of text show something else.

use super::{Level, Spot};

/// Invisible characters in one text from which on they may well be data.
const MANY: usize = 8;
/// Variation selectors in a row from which on they are data: one picks a form of the character before it.
const SELECTORS: usize = 3;

/// What is wrong with a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Escape,
    Control,
    Tag,
    Reordering,
    Mark,
    Invisible,
    Selector,
}

impl Kind {
    fn of(c: char) -> Option<Kind> {
        Some(match c {
            '\n' | '\r' | '\t' => return None,
            '\u{1b}' | '\u{90}' | '\u{9b}' | '\u{9d}' => Kind::Escape,
            c if c.is_control() => Kind::Control,
            '\u{e0000}'..='\u{e007f}' => Kind::Tag,
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => Kind::Reordering,
            '\u{200e}' | '\u{200f}' | '\u{61c}' => Kind::Mark,
            '\u{200b}'..='\u{200d}'
            | '\u{2060}'..='\u{2065}'
            | '\u{206a}'..='\u{206f}'
            | '\u{feff}'
            | '\u{ad}'
            | '\u{34f}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{3164}'
            | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{1d173}'..='\u{1d17a}' => Kind::Invisible,
            '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => Kind::Selector,
            _ => return None,
        })
    }

    fn what(self) -> &'static str {
        match self {
            Kind::Escape => "terminal escape sequence",
            Kind::Control => "control character",
            Kind::Tag => "invisible tag characters, which a model can read",
            Kind::Reordering => "characters that reorder the text around them",
            Kind::Mark => "marks of writing direction",
            Kind::Invisible => "invisible characters",
            Kind::Selector => "variation selectors in a row, which can hide data",
        }
    }
}

/// The characters of `text` that are not seen or not harmless, by kind, each kind at its first place.
pub(super) fn of(text: &str) -> Vec<Spot> {
    // Nearly every text.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t')) {
        return Vec::new();
    }
    let mut found: Vec<(Kind, usize, usize)> = Vec::new();
    for (at, kind, run) in odd(text) {
        if kind == Kind::Selector && run < SELECTORS {
            continue;
        }
        match found.iter_mut().find(|(known, ..)| *known == kind) {
            Some((_, _, count)) => *count += 1,
            None => found.push((kind, at, 1)),
        }
    }
    let level = |kind, count| match kind {
        Kind::Escape | Kind::Tag | Kind::Reordering | Kind::Selector => Level::Danger,
        Kind::Invisible if count >= MANY => Level::Danger,
        Kind::Invisible | Kind::Control => Level::Warn,
        Kind::Mark => Level::Notice,
    };
    found.into_iter().map(|(kind, at, count)| (level(kind, count), at, kind.what().to_owned())).collect()
}

/// The odd characters of `text` with their place, and how many selectors stand in a row up to there. What belongs to
/// an emoji or to a script that needs it is not odd.
fn odd(text: &str) -> impl Iterator<Item = (usize, Kind, usize)> {
    let (mut before, mut in_flag, mut selectors) = ('\0', false, 0);
    text.char_indices().filter_map(move |(at, c)| {
        let previous = std::mem::replace(&mut before, c);
        let kind = Kind::of(c);
        selectors = if kind == Some(Kind::Selector) { selectors + 1 } else { 0 };
        match kind? {
            // Flags of regions: a black flag, tags, the end of tags.
            Kind::Tag if previous == '\u{1f3f4}' || in_flag => {
                in_flag = c != '\u{e007f}';
                None
            }
            // They join emoji, and are orthography in Arabic and in scripts of India.
            Kind::Invisible
                if matches!(c, '\u{200c}' | '\u{200d}')
                    && !previous.is_ascii()
                    && Kind::of(previous) != Some(Kind::Invisible) =>
            {
                None
            }
            kind => {
                in_flag = false;
                Some((at, kind, selectors))
            }
        }
    })
}

/// `text` with every character that is not seen or not harmless written as `\u{…}`; line ends and tabs stay. For
/// whatever a person reads in a terminal or on a page.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut written = 0;
    for (at, kind, run) in odd(text) {
        // One that follows a character is how that character is meant to look.
        if kind == Kind::Selector && run < SELECTORS {
            continue;
        }
        let Some(c) = text[at..].chars().next() else { continue };
        out.push_str(&text[written..at]);
        out.extend(c.escape_unicode());
        written = at + c.len_utf8();
    }
    out.push_str(&text[written..]);
    out.replace('\r', "\\r")
}
