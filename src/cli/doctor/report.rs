//! What doctor finds, and how it is shown.

use serde::Serialize;

use crate::cli::output::{Output, Style};

/// How a finding weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Weight {
    /// As it should be.
    Ok,
    /// Worth knowing; nothing is wrong.
    Note,
    /// Wrong.
    Problem,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// What was looked at.
    pub(crate) about: &'static str,
    /// How it weighs.
    pub(crate) weight: Weight,
    /// What was found.
    pub(crate) text: String,
    /// What to do about it; empty when there is nothing to do.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) hint: String,
}

impl Finding {
    /// A finding without a hint.
    pub(crate) fn new(about: &'static str, weight: Weight, text: impl Into<String>) -> Finding {
        Finding { about, weight, text: text.into(), hint: String::new() }
    }

    /// The same with what to do about it.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Finding {
        self.hint = hint.into();
        self
    }
}

/// The findings as lines: `weight  about  text`.
pub(crate) fn as_text(findings: &[Finding], out: Output) -> String {
    let width = findings.iter().map(|finding| finding.about.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for finding in findings {
        let (word, style) = match finding.weight {
            Weight::Ok => ("ok     ", Style::Good),
            Weight::Note => ("note   ", Style::Warning),
            Weight::Problem => ("problem", Style::Bad),
        };
        let indent = " ".repeat(width + 11);
        let mut lines = finding.text.lines();
        let first = lines.next().unwrap_or_default();
        text.push_str(&format!("{}  {:width$}  {first}\n", out.paint(style, word), finding.about));
        let hint = Some(format!("hint: {}", finding.hint)).filter(|_| !finding.hint.is_empty());
        for line in lines.map(str::to_owned).chain(hint) {
            text.push_str(&format!("{indent}{line}\n"));
        }
    }
    let problems = findings.iter().filter(|finding| finding.weight == Weight::Problem).count();
    let verdict = match problems {
        0 => out.paint(Style::Good, "nothing is wrong"),
        n => out.paint(Style::Bad, &crate::cli::output::count(n, "problem")),
    };
    text.push_str(&format!("\n{verdict}\n"));
    text
}
