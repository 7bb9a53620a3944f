//! "Did you mean": the nearest of some known names, for the build's problems and the runtime's refusals.

/// The candidate nearest to `word`, if one is near enough that a slip of the fingers explains it.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (word.chars().count() / 3).clamp(1, 3);
    candidates
        .into_iter()
        .map(|candidate| (distance(&word.to_lowercase(), &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Edits between two words: insertions, deletions, replacements and swaps of neighbours, one each.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let mut before = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, to) in b.iter().enumerate() {
            let replaced = last[j] + usize::from(from != to);
            let mut best = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *from == b[j - 1] && a[i - 1] == *to {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (a, b, expected) in
            [("", "abc", 3), ("same", "same", 0), ("reed", "read", 1), ("comand", "command", 1), ("wrtie", "write", 1)]
        {
            assert_eq!(distance(a, b), expected, "{a} {b}");
            assert_eq!(distance(b, a), expected, "{b} {a}");
        }
    }

    #[test]
    fn only_near_words_are_offered() {
        let names = ["fs_read_file", "fs_write_file", "github_get_issue", "echo"];
        assert_eq!(nearest("fs_reed_file", names), Some("fs_read_file"));
        assert_eq!(nearest("FS_READ_FILE", names), Some("fs_read_file"));
        for far in ["docs_architect", "github_create", ""] {
            assert_eq!(nearest(far, names), None, "{far}");
        }
    }
}
