//! Placeholders in the texts of a server: their syntax, and the spellings of other programs that are none.

use evokore_catalog::template::{TemplateError, expand, needed};

use crate::json::{Reader, Spanned};
use crate::problem::Problem;

/// Variables that an editor fills in and an environment does not hold.
const OF_EDITORS: &[&str] = &["workspaceFolder", "workspaceFolderBasename", "workspaceRoot", "pathSeparator", "cwd"];

/// Checks the placeholders of `text`, known as `what`.
pub(super) fn check(reader: &mut Reader<'_>, what: &str, text: &Spanned<String>) {
    match expand(&text.value, &|_| Some(String::new())) {
        Err(TemplateError::Unclosed(_)) => reader.report(
            Problem::error(format!("{what} has a `${{` without its `}}`"))
                .hint("close it: `${NAME}` or `${NAME:-default}`"),
            text.range.clone(),
        ),
        Err(TemplateError::BadName(_, name)) => reader.report(
            Problem::error(format!("{what} has the placeholder `${{{name}}}`, which names no variable")).hint(
                if name.starts_with("input:") {
                    "an editor asks for inputs, evokore cannot: name an environment variable, as in `${NAME}`"
                } else {
                    "write `${NAME}`, `${NAME:-default}` or `${env:NAME}`"
                },
            ),
            text.range.clone(),
        ),
        Err(TemplateError::Missing(_)) | Ok(_) => foreign(reader, what, text),
    }
}

/// Notes texts that other programs would expand and evokore hands on as they stand.
fn foreign(reader: &mut Reader<'_>, what: &str, text: &Spanned<String>) {
    for name in needed(&text.value) {
        if OF_EDITORS.contains(&name.as_str()) {
            reader.report(
                Problem::note(format!("{what} needs `{name}`, which editors fill in and evokore does not")).hint(
                    format!("set an environment variable of this name, or write the path in place of `${{{name}}}`"),
                ),
                text.range.clone(),
            );
        }
    }
    if let Some(name) = foreign_variable(&text.value) {
        reader.report(
            Problem::note(format!("{what} is handed on as it stands: `{}` is no placeholder", text.value))
                .hint(format!("did you mean `${{{name}}}`?")),
            text.range.clone(),
        );
    }
}

/// The name in a text that is as a whole `$NAME`, `%NAME%` or `{env:NAME}`.
fn foreign_variable(text: &str) -> Option<&str> {
    let name = text
        .strip_prefix('$')
        .or_else(|| text.strip_prefix('%')?.strip_suffix('%'))
        .or_else(|| text.strip_prefix("{env:")?.strip_suffix('}'))?;
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    plain.then_some(name)
}
