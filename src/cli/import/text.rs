//! Placeholders of other programs, written as ours.

use std::path::Path;

/// Rewrites texts of one entry and gathers what is to be said about them.
pub(super) struct Texts<'a> {
    project: Option<&'a Path>,
    pub(super) remarks: Vec<String>,
}

impl<'a> Texts<'a> {
    pub(super) fn new(project: Option<&'a Path>) -> Texts<'a> {
        Texts { project, remarks: Vec::new() }
    }

    /// `text`, the value of `key`, with our placeholders.
    pub(super) fn ours(&mut self, key: &str, text: &str) -> String {
        if let Some((before, name)) = whole_variable(text) {
            return format!("{before}${{{name}}}");
        }
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((start, open, close)) = next_placeholder(rest) {
            out.push_str(&rest[..start]);
            let inner = &rest[start + open.len()..];
            let Some(end) = inner.find(close) else { break };
            self.placeholder(key, inner[..end].trim(), &rest[start..start + open.len() + end + close.len()], &mut out);
            rest = &inner[end + close.len()..];
        }
        out.push_str(rest);
        out
    }

    fn placeholder(&mut self, key: &str, name: &str, written: &str, out: &mut String) {
        let variable = |name: &str| {
            let clean = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
            name.chars().map(clean).collect::<String>()
        };
        if let Some(question) = name.strip_prefix("input:").or_else(|| name.strip_prefix("inputs.")) {
            let variable = variable(question);
            self.remarks.push(format!("`{key}`: the editor asked for `{question}`; set the variable `{variable}`"));
            out.push_str(&format!("${{{variable}}}"));
            return;
        }
        let of_environment = ["env:", "env.", "secrets."].iter().find_map(|start| name.strip_prefix(start));
        if let Some(name) = of_environment {
            out.push_str(&format!("${{{name}}}"));
            return;
        }
        match (name, self.project) {
            ("workspaceFolder" | "workspaceRoot", Some(project)) => out.push_str(&project.to_string_lossy()),
            ("workspaceFolderBasename", Some(project)) => {
                out.push_str(&project.file_name().unwrap_or_default().to_string_lossy());
            }
            ("/" | "pathSeparator", _) => out.push('/'),
            ("workspaceFolder" | "workspaceRoot" | "workspaceFolderBasename" | "cwd", _) => {
                self.remarks.push(format!(
                    "`{key}`: `{written}` is the folder of an editor's project; write a path in its place"
                ));
                out.push_str(written);
            }
            _ if name.starts_with("file:") || name.starts_with("command:") || name.starts_with("config:") => {
                self.remarks
                    .push(format!("`{key}`: `{written}` cannot be read here; set a variable and write `${{NAME}}`"));
                out.push_str(written);
            }
            _ => out.push_str(written),
        }
    }
}

/// Where the next placeholder starts, with what opens and closes it.
fn next_placeholder(text: &str) -> Option<(usize, &'static str, &'static str)> {
    let known = [("${{", "}}"), ("${", "}"), ("{env:", "}"), ("{file:", "}")];
    let found = known.iter().filter_map(|(open, close)| Some((text.find(open)?, *open, *close)));
    let (start, open, close) = found.min_by_key(|(start, open, _)| (*start, usize::MAX - open.len()))?;
    // What stands behind the brace tells the kind.
    Some(if open.starts_with("{") { (start, "{", close) } else { (start, open, close) })
}

/// `$NAME` or `%NAME%` alone, or behind the name of an authorization scheme.
fn whole_variable(text: &str) -> Option<(&str, &str)> {
    let at = text.rfind(' ').map_or(0, |at| at + 1);
    let (before, word) = text.split_at(at);
    let name = word.strip_prefix('$').or_else(|| word.strip_prefix('%')?.strip_suffix('%'))?;
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (is_name && ["", "Bearer ", "Basic ", "Token "].contains(&before)).then_some((before, name))
}
