//! The parts of a skill's Markdown that both sides need: fenced code blocks and headings.
//!
//! Only fences matter here, so no Markdown parser travels with the runtime. A fence may stand deeper than CommonMark's
//! three blanks, since in skills it often belongs to a list item.

/// A fenced code block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// First word of the info string, lower case; `text` when there is none.
    pub language: String,
    /// Contents without the fences and without the fence's indentation; no line end at the end.
    pub code: String,
    /// Line of the opening fence, from 1.
    pub line: u32,
}

/// The fenced code blocks of `body`, in order. A fence that is never closed runs to the end.
pub fn code_blocks(body: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<(Fence<'_>, Vec<&str>, u32)> = None;
    for (number, line) in (1u32..).zip(body.lines()) {
        match &mut open {
            None => open = Fence::opening(line).map(|fence| (fence, Vec::new(), number)),
            Some((fence, lines, _)) if !fence.closed_by(line) => lines.push(fence.unindent(line)),
            Some(_) => blocks.extend(open.take().map(close)),
        }
    }
    blocks.extend(open.map(close));
    blocks
}

fn close((fence, lines, line): (Fence<'_>, Vec<&str>, u32)) -> Block {
    Block { language: fence.language(), code: lines.join("\n").trim_end_matches('\n').to_owned(), line }
}

/// The texts of the ATX headings of `body` outside code blocks, in order.
pub fn headings(body: &str) -> Vec<&str> {
    let mut headings = Vec::new();
    let mut open: Option<Fence<'_>> = None;
    for line in body.lines() {
        match &open {
            Some(fence) if fence.closed_by(line) => open = None,
            Some(_) => {}
            None => {
                open = Fence::opening(line);
                let text = line.trim_start_matches('#');
                let level = line.len() - text.len();
                if (1..=6).contains(&level) && (text.is_empty() || text.starts_with([' ', '\t'])) {
                    headings.push(text.trim().trim_end_matches('#').trim_end());
                }
            }
        }
    }
    headings
}

/// The first paragraph of `body` that is neither heading nor code, on one line and at most `most` characters long.
pub fn first_paragraph(body: &str, most: usize) -> String {
    let mut open: Option<Fence<'_>> = None;
    let mut words: Vec<&str> = Vec::new();
    for line in body.lines() {
        if let Some(fence) = &open {
            if fence.closed_by(line) {
                open = None;
            }
            continue;
        }
        open = Fence::opening(line);
        let ends = open.is_some() || line.trim().is_empty() || line.starts_with('#');
        match (ends, words.is_empty()) {
            (true, false) => break,
            (true, true) => {}
            (false, _) => words.extend(line.split_whitespace()),
        }
    }
    cut(&words.join(" "), most)
}

/// `text`, or its first words with an ellipsis when it has more than `most` characters.
pub fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    let end = kept.rfind(' ').filter(|end| *end > kept.len() / 2).unwrap_or(kept.len());
    format!("{}…", kept[..end].trim_end_matches([' ', ',', ';', ':']))
}

struct Fence<'a> {
    mark: char,
    length: usize,
    indent: usize,
    info: &'a str,
}

impl<'a> Fence<'a> {
    fn opening(line: &'a str) -> Option<Fence<'a>> {
        let rest = line.trim_start_matches(' ');
        let indent = line.len() - rest.len();
        // The first fence of a list item may stand on the item's own line.
        let (indent, rest) = match rest.split_once(' ') {
            Some((bullet, after)) if is_bullet(bullet) => (indent + bullet.len() + 1, after),
            _ => (indent, rest),
        };
        let mark = rest.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let info = rest.trim_start_matches(mark);
        let length = rest.len() - info.len();
        // Backticks in the info string make it inline code.
        (length >= 3 && !(mark == '`' && info.contains('`'))).then(|| Fence { mark, length, indent, info: info.trim() })
    }

    fn closed_by(&self, line: &str) -> bool {
        let line = line.trim();
        line.len() >= self.length && line.chars().all(|c| c == self.mark)
    }

    fn unindent<'l>(&self, line: &'l str) -> &'l str {
        let blanks = line.len() - line.trim_start_matches(' ').len();
        &line[blanks.min(self.indent)..]
    }

    fn language(&self) -> String {
        let word = self.info.split([' ', '\t', ',', '{']).next().unwrap_or("");
        if word.is_empty() { "text".to_owned() } else { word.to_lowercase() }
    }
}

fn is_bullet(word: &str) -> bool {
    matches!(word, "-" | "*" | "+")
        || word
            .strip_suffix(['.', ')'])
            .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(body: &str) -> Vec<String> {
        code_blocks(body).into_iter().map(|it| format!("{}@{}:{}", it.language, it.line, it.code)).collect()
    }

    #[test]
    fn blocks() {
        for (body, expected) in [
            ("```bash\nls\n```", vec!["bash@1:ls"]),
            ("a\n\n```\nx\n\ny\n```\nb\n~~~Rust ignore\nfn\n~~~", vec!["text@3:x\n\ny", "rust@9:fn"]),
            ("````md\n```sh\nls\n```\n````", vec!["md@1:```sh\nls\n```"]),
            ("```sh\n~~~\n```", vec!["sh@1:~~~"]),
            ("- step\n\n  ```py\n  if x:\n      y\n  ```", vec!["py@3:if x:\n    y"]),
            ("1. ```sh\n   ls\n   ```", vec!["sh@1:ls"]),
            ("```sh\nls", vec!["sh@1:ls"]),
            ("``` inline ``` text\n```js{1,2}\n1\n```", vec!["js@2:1"]),
            ("```\n```", vec!["text@1:"]),
            ("``\nno\n``", vec![]),
        ] {
            assert_eq!(shown(body), expected, "{body}");
        }
    }

    #[test]
    fn first_words() {
        assert_eq!(first_paragraph("# T\n\n```\ncode\n```\nOne\ntwo.\n\nThree", 100), "One two.");
        assert_eq!(first_paragraph("# T\n", 100), "");
        assert_eq!(cut("one two, three", 11), "one two…");
        assert_eq!(cut("unbroken", 4), "unb…");
    }

    #[test]
    fn headings_outside_blocks() {
        let body = "# One #\ntext\n```sh\n# no heading\n```\n## Two words\n#no\n####### no\n###";
        assert_eq!(headings(body), ["One", "Two words", ""]);
    }
}
