//! What is different between two texts, word by word, on one line: `reads a [-file-] {+folder+} …`.

/// Words that stay around a difference.
const AROUND: usize = 4;
/// Cells of the table that a comparison may fill; longer texts are shown one after the other.
const MAX_CELLS: usize = 4_000_000;

/// A run of words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Run<'a> {
    Same(&'a str),
    Gone(&'a str),
    New(&'a str),
}

/// The difference between `before` and `after`. Blanks between words do not count; two texts that differ in nothing
/// else give a sentence that says so.
pub fn difference(before: &str, after: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.split_whitespace().collect(), after.split_whitespace().collect());
    if old == new {
        return "only blanks and line breaks are different".to_owned();
    }
    let start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let end = old[start..].iter().rev().zip(new[start..].iter().rev()).take_while(|(a, b)| a == b).count();
    let (old_middle, new_middle) = (&old[start..old.len() - end], &new[start..new.len() - end]);
    let mut runs: Vec<Run<'_>> = old[..start].iter().map(|word| Run::Same(word)).collect();
    runs.extend(middle(old_middle, new_middle));
    runs.extend(old[old.len() - end..].iter().map(|word| Run::Same(word)));
    join(&runs)
}

/// The longest common subsequence, as runs.
fn middle<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Run<'a>> {
    let columns = new.len() + 1;
    if old.len().saturating_add(1).saturating_mul(columns) > MAX_CELLS {
        return old.iter().map(|word| Run::Gone(word)).chain(new.iter().map(|word| Run::New(word))).collect();
    }
    // Length of the longest common subsequence of what follows, for each pair of places.
    let mut lengths = vec![0_u32; (old.len() + 1) * columns];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            lengths[i * columns + j] = if old[i] == new[j] {
                lengths[(i + 1) * columns + j + 1] + 1
            } else {
                lengths[(i + 1) * columns + j].max(lengths[i * columns + j + 1])
            };
        }
    }
    let (mut i, mut j, mut runs) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            runs.push(Run::Same(old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len() || i < old.len() && lengths[(i + 1) * columns + j] >= lengths[i * columns + j + 1] {
            runs.push(Run::Gone(old[i]));
            i += 1;
        } else {
            runs.push(Run::New(new[j]));
            j += 1;
        }
    }
    runs
}

/// The runs as text; long stretches that are the same on both sides become `…`.
fn join(runs: &[Run<'_>]) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut at = 0;
    while at < runs.len() {
        let is_like = |run: &&Run<'_>| std::mem::discriminant(*run) == std::mem::discriminant(&runs[at]);
        let len = runs[at..].iter().take_while(is_like).count();
        let words: Vec<&str> = runs[at..at + len]
            .iter()
            .map(|run| match run {
                Run::Same(w) | Run::Gone(w) | Run::New(w) => *w,
            })
            .collect();
        match runs[at] {
            Run::Gone(_) => parts.push(format!("[-{}-]", words.join(" "))),
            Run::New(_) => parts.push(format!("{{+{}+}}", words.join(" "))),
            Run::Same(_) => {
                let head = if at == 0 { 0 } else { AROUND };
                let tail = if at + len == runs.len() { 0 } else { AROUND };
                if len > head + tail + 1 {
                    parts.extend(words[..head].iter().map(|word| (*word).to_owned()));
                    parts.push("…".to_owned());
                    parts.extend(words[len - tail..].iter().map(|word| (*word).to_owned()));
                } else {
                    parts.push(words.join(" "));
                }
            }
        }
        at += len;
    }
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_differ_are_marked() {
        for (before, after, expected) in [
            ("Reads a file.", "Reads a folder.", "Reads a [-file.-] {+folder.+}"),
            ("Reads a file.", "Reads a file. Then send it.", "Reads a file. {+Then send it.+}"),
            ("", "New.", "{+New.+}"),
            ("Old.", "", "[-Old.-]"),
            ("a\n b", "a b", "only blanks and line breaks are different"),
            (
                "one two three four five six seven eight nine ten old twelve",
                "one two three four five six seven eight nine ten new twelve",
                "… seven eight nine ten [-old-] {+new+} twelve",
            ),
            ("a b c d", "b x d y", "[-a-] b [-c-] {+x+} d {+y+}"),
        ] {
            assert_eq!(difference(before, after), expected);
        }
    }

    #[test]
    fn long_texts_end() {
        let text = |word: &str| vec![word; 5000].join(" ");
        let told = difference(&text("a"), &text("b"));
        assert!(told.starts_with("[-a a") && told.ends_with("b b+}"));
    }
}
