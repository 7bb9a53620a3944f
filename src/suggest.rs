//! "Did you mean": the nearest of some known names.

/// The known name nearest to `asked` by edit distance, if it is near enough to be a slip: at most two edits, or a
/// quarter of the length.
pub fn nearest<'a>(asked: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (asked.chars().count() / 4).max(2);
    known.map(|name| (distance(asked, name), name)).filter(|(edits, _)| *edits <= limit).min().map(|(_, name)| name)
}

/// Levenshtein distance in characters, without regard to case.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().flat_map(char::to_lowercase).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().flat_map(char::to_lowercase).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_slips_only() {
        let known = || ["fs_read_file", "fs_write_file", "echo"].into_iter();
        assert_eq!(nearest("fs_reed_file", known()), Some("fs_read_file"));
        assert_eq!(nearest("FS_READ_FILE", known()), Some("fs_read_file"));
        assert_eq!(nearest("github_create", known()), None);
        assert_eq!(nearest("", known()), None);
    }
}
