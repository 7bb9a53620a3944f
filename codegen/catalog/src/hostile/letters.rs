//! Letters of other scripts that look like Latin ones.

use super::{Level, Spot};

/// Letters of a word from which on a mixture of scripts is no unit or symbol, as `µs` and `Δt` are.
const WORD: usize = 4;

/// The Latin letter that `c` looks like.
fn look_alike(c: char) -> Option<char> {
    // Full-width forms, one for each printable ASCII character.
    if ('\u{ff01}'..='\u{ff5e}').contains(&c) {
        return char::from_u32(u32::from(c) - 0xfee0);
    }
    Some(match c {
        // Cyrillic
        'а' | 'А' => 'a',
        'В' => 'b',
        'с' | 'С' => 'c',
        'ԁ' => 'd',
        'е' | 'Е' | 'ё' => 'e',
        'һ' | 'Н' => 'h',
        'і' | 'І' | 'ї' => 'i',
        'ј' | 'Ј' => 'j',
        'К' | 'к' => 'k',
        'ӏ' | 'Ӏ' => 'l',
        'М' | 'м' => 'm',
        'о' | 'О' => 'o',
        'р' | 'Р' => 'p',
        'ԛ' => 'q',
        'ѕ' | 'Ѕ' => 's',
        'Т' | 'т' => 't',
        'ѵ' => 'v',
        'ԝ' => 'w',
        'х' | 'Х' => 'x',
        'у' | 'У' => 'y',
        // Greek
        'Α' | 'α' => 'a',
        'Β' => 'b',
        'Ε' => 'e',
        'Η' => 'h',
        'Ι' | 'ι' => 'i',
        'Κ' | 'κ' => 'k',
        'Μ' => 'm',
        'Ν' => 'n',
        'ν' => 'v',
        'Ο' | 'ο' => 'o',
        'Ρ' | 'ρ' => 'p',
        'Τ' => 't',
        'Υ' => 'y',
        'Χ' => 'x',
        'Ζ' => 'z',
        // Latin that is easily taken for other Latin, and Armenian
        'ı' => 'i',
        'ɑ' => 'a',
        'ɡ' => 'g',
        'օ' => 'o',
        'ո' => 'n',
        'ս' => 'u',
        'հ' => 'h',
        _ => return None,
    })
}

/// `name` as it looks at a glance: lower case, look-alikes and separators made equal.
pub(super) fn skeleton(name: &str) -> String {
    let glance = |c: char| look_alike(c).unwrap_or(c).to_lowercase();
    name.chars().filter(|c| !matches!(c, '_' | '-' | '.' | ' ')).flat_map(glance).collect()
}

/// What is odd about the letters of a name.
pub(super) fn of_name(name: &str) -> Vec<Spot> {
    let Some((at, _)) = name.char_indices().find(|(_, c)| !c.is_ascii()) else { return Vec::new() };
    let lure = name.char_indices().find(|(_, c)| look_alike(*c).is_some());
    let has_latin = name.chars().any(|c| c.is_ascii_alphabetic());
    let spot = match lure {
        Some((at, _)) if has_latin => (Level::Danger, at, "letters of several scripts that look alike"),
        Some((at, _)) if skeleton(name).is_ascii() => {
            (Level::Warn, at, "letters that look like Latin ones and are none")
        }
        _ => (Level::Notice, at, "characters outside of ASCII in a name"),
    };
    vec![(spot.0, spot.1, spot.2.to_owned())]
}

/// The first word of a text that mixes letters that look alike.
pub(super) fn of_text(text: &str) -> Option<Spot> {
    if text.is_ascii() {
        return None;
    }
    let mut start = 0;
    for word in text.split(|c: char| !c.is_alphabetic()) {
        let at = start;
        start += word.len() + text[at + word.len()..].chars().next().map_or(0, char::len_utf8);
        let letters = word.chars().count();
        let is_mixed = letters >= WORD
            && word.chars().any(|c| c.is_ascii_alphabetic())
            && word.chars().any(|c| !c.is_ascii() && look_alike(c).is_some());
        if is_mixed {
            return Some((Level::Warn, at, "a word with letters of several scripts that look alike".to_owned()));
        }
    }
    None
}

/// The word `c` belongs to as a model reads it: the letter it looks like, lower case; nothing for what is not seen.
pub(super) fn plain(c: char) -> char {
    if c.is_ascii() {
        return c.to_ascii_lowercase();
    }
    look_alike(c).unwrap_or(c).to_ascii_lowercase()
}
