//! How long a text is for a model, and where it is cut into pages. The runtime has no tokenizer, so tokens are estimated,
//! rather too many than too few: a third of one for each ASCII byte, and for any other character one less than it has
//! bytes.

/// The estimate in thirds of a token.
fn thirds(text: &str) -> u64 {
    let weight = |byte: u8| match byte {
        0..=0x7f => 1,
        // What continues a character counts with its first byte.
        0x80..=0xbf => 0,
        0xc0..=0xdf => 3,
        0xe0..=0xef => 6,
        0xf0.. => 9,
    };
    text.bytes().map(weight).sum()
}

/// About how many tokens `text` has.
pub(super) fn tokens(text: &str) -> u64 {
    thirds(text).div_ceil(3)
}

/// The most tokens that so many bytes of text can be estimated at.
pub(super) fn most_tokens(bytes: usize) -> u64 {
    // A character of four bytes counts three.
    (bytes as u64).saturating_mul(3).div_ceil(4)
}

/// Where the pages of `text` end, each of at most `limit` tokens: at line ends, and within a line that is longer than a
/// page.
pub(super) fn ends(text: &str, limit: u64) -> Vec<usize> {
    let limit = limit.max(3).saturating_mul(3);
    let (mut ends, mut at, mut used) = (Vec::new(), 0, 0);
    for line in text.split_inclusive('\n') {
        let cost = thirds(line);
        if used + cost > limit && (cost <= limit || used * 2 > limit) {
            ends.push(at);
            used = 0;
        }
        if used + cost <= limit {
            at += line.len();
            used += cost;
            continue;
        }
        for c in line.chars() {
            let cost = thirds(c.encode_utf8(&mut [0; 4]));
            if used + cost > limit {
                ends.push(at);
                used = 0;
            }
            at += c.len_utf8();
            used += cost;
        }
    }
    if ends.last() != Some(&at) {
        ends.push(at);
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_rather_too_many() {
        for (text, expected) in [("", 0), ("abc", 1), ("abcd", 2), ("é", 1), ("日本", 4), ("😀", 3), ("a😀", 4)]
        {
            assert_eq!(tokens(text), expected, "{text}");
            assert!(tokens(text) <= most_tokens(text.len()), "{text}");
        }
    }

    #[test]
    fn cuts_at_line_ends_and_only_long_lines_elsewhere() {
        for (text, pages) in [
            ("", vec![""]),
            ("one", vec!["one"]),
            ("aaaaaa\nbbbbbb\ncccc", vec!["aaaaaa\n", "bbbbbb\n", "cccc"]),
            ("aaaaaaaaa", vec!["aaaaaaaaa"]),
            ("aaaaaaaaab", vec!["aaaaaaaaa", "b"]),
            ("a\nbbbbbbbbbbbbbbb\nc", vec!["a\nbbbbbbb", "bbbbbbbb\n", "c"]),
            ("日本語", vec!["日", "本", "語"]),
        ] {
            let ends = ends(text, 3);
            let starts = std::iter::once(0).chain(ends.iter().copied());
            let found: Vec<&str> = starts.zip(&ends).map(|(start, end)| &text[start..*end]).collect();
            assert_eq!(found, pages, "{text:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn pages_are_the_text_and_keep_the_limit(text in "(\\PC{0,30}\n?){0,20}", limit in 3u64..40) {
            let mut start = 0;
            for end in ends(&text, limit) {
                assert!(end > start || text.is_empty());
                assert!(tokens(&text[start..end]) <= limit);
                start = end;
            }
            assert_eq!(start, text.len());
        }
    }
}
