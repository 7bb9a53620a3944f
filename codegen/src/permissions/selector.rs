//! Reading for which tools a rule is: `fs_read_file`, `fs_*`, `*[destructiveHint]`, `github_*[!readOnlyHint, openWorldHint]`.

use evokore_catalog::permission::pattern::{Hint, Pattern};

use crate::leak::{leak, leak_all};
use crate::problem::did_you_mean;

/// What is wrong with a selector, and how to mend it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) message: String,
    pub(super) hint: String,
}

/// Reads the key of a rule.
pub(super) fn read(text: &str) -> Result<Pattern<'static>, Fault> {
    let fault = |message: String, hint: &str| Fault { message, hint: hint.to_owned() };
    let (name, hints) = match text.split_once('[') {
        None => (text, Vec::new()),
        Some((name, rest)) => {
            let inner = rest.strip_suffix(']').ok_or_else(|| {
                fault(
                    format!("the hints of `{text}` have no end"),
                    "end the key with `]`, as in `\"fs_*[readOnlyHint]\"`",
                )
            })?;
            (name, inner.split(',').map(|hint| read_hint(text, hint.trim())).collect::<Result<_, _>>()?)
        }
    };
    let name = if name.is_empty() { "*" } else { name };
    if let Some(odd) = name.chars().find(|odd| !odd.is_ascii_alphanumeric() && !matches!(odd, '_' | '-' | '*')) {
        return Err(fault(
            format!("`{text}` has the character `{}`, which no tool's name has", odd.escape_debug()),
            "names have letters, digits, `_` and `-`; `*` stands for any of them",
        ));
    }
    let mut sorted = hints;
    sorted.sort_unstable();
    sorted.dedup();
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        let name = Hint::ALL.iter().find(|(_, hint)| *hint == pair[0].0).map_or("", |(name, _)| name);
        return Err(fault(
            format!("`{text}` asks for `{name}` and its opposite"),
            "no tool fits that; delete one of the two",
        ));
    }
    Ok(Pattern { name: leak(name), hints: leak_all(sorted) })
}

fn read_hint(text: &str, hint: &str) -> Result<(Hint, bool), Fault> {
    let (name, expected) = hint.strip_prefix('!').map_or((hint, true), |name| (name.trim(), false));
    let known = || Hint::ALL.iter().map(|(name, _)| *name);
    match Hint::ALL.iter().find(|(known, _)| *known == name) {
        Some((_, hint)) => Ok((*hint, expected)),
        None => Err(Fault {
            message: format!("`{text}` asks for the unknown hint `{name}`"),
            hint: did_you_mean(name, known())
                .unwrap_or_else(|| format!("known hints: {}", known().collect::<Vec<_>>().join(", "))),
        }),
    }
}
