//! README.md says what is so: its tables come from the code and from `generated/`, and its commands are run.
//! `UPDATE_EXPECT=1 cargo test readme` brings the tables up to date.

use std::fmt::Write as _;
use std::fs;

use evokore::catalog::CATALOG;
use evokore::env_vars::{Group, VARS};
use evokore_catalog::profile::Activation;
use expect_test::expect_file;

use crate::cli::{Sandbox, repository};

fn readme() -> String {
    fs::read_to_string(repository().join("README.md")).expect("README.md")
}

/// `text` with `new` between the comments that name the part.
fn with_part(text: &str, part: &str, new: &str) -> String {
    let (open, close) = (format!("<!-- {part} -->\n"), format!("<!-- /{part} -->"));
    let (before, rest) = text.split_once(&open).unwrap_or_else(|| panic!("README.md has no `{}`", open.trim()));
    let (_, after) = rest.split_once(&close).unwrap_or_else(|| panic!("README.md has no `{close}`"));
    format!("{before}{open}{new}{close}{after}")
}

#[test]
fn tables_are_what_the_code_says() {
    let mut text = readme();
    for (part, new) in
        [("profiles", profiles()), ("tools", tools()), ("commands", commands()), ("environment", environment())]
    {
        text = with_part(&text, part, &new);
    }
    expect_file!["../../README.md"].assert_eq(&text);
}

/// From `generated/profiles.tsv`, with the descriptions of the catalog.
fn profiles() -> String {
    let table = fs::read_to_string(repository().join("generated/profiles.tsv")).expect("generated/profiles.tsv");
    let mut out = String::from(
        "| profile | what for | tools | tokens, whole | deferred | seen by a model | budget | first use | budget |\n\
         |---|---|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for row in table.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').collect::<Vec<_>>()) {
        let profile = CATALOG.profile(row[0]).unwrap_or_else(|| panic!("no profile `{}`", row[0]));
        let mut description = profile.description.to_owned();
        if description.is_empty() {
            "every native tool; the others are discovered".clone_into(&mut description);
        }
        if profile.activation == Activation::Stable && !description.contains("never changes") {
            description.push_str("; the list never changes");
        }
        let budget = |column: usize| if row[column] == "-" { "" } else { row[column] };
        let _ = writeln!(
            out,
            "| `{}` | {description} | {} | {} | {} | {} | {} | {} | {} |",
            row[0],
            row[3],
            row[5],
            row[6],
            row[7],
            budget(9),
            row[14],
            budget(15)
        );
    }
    out
}

fn tools() -> String {
    let mut out = String::from("| tool | what it does |\n|---|---|\n");
    for tool in &CATALOG.tools[..usize::from(CATALOG.natives)] {
        let sentence = tool.description.split_once(". ").map_or(tool.description, |(first, _)| first);
        let _ = writeln!(out, "| `{}` | {} |", tool.name, sentence.trim_end_matches('.').replace('|', "\\|"));
    }
    out
}

fn commands() -> String {
    let help = Sandbox::new("readme-help").run(&["--help"]).content();
    format!("```text\n{help}```\n")
}

fn environment() -> String {
    let mut out = String::new();
    for group in Group::ALL {
        let _ = write!(out, "\n**{}**\n\n| variable | default | meaning |\n|---|---|---|\n", group.title());
        for var in VARS.iter().filter(|var| var.group == group) {
            let default = match var.default {
                words if words.is_empty() || words.contains([' ', '`']) => words.to_owned(),
                value => format!("`{value}`"),
            };
            let _ = writeln!(out, "| `{}` | {default} | {} |", var.name, var.meaning());
        }
    }
    out.push('\n');
    out
}

/// Every `console` block is run command by command, and what it shows must come out, numbers and the width of gaps
/// aside; a line `...` stands for any lines, a line that ends in `…` for what goes on. Commands that do not start with
/// `evokore` belong to a shell and are left alone.
#[test]
fn commands_do_what_is_shown() {
    let sandbox = Sandbox::new("readme");
    // An entry tells a binary of a folder that is not its own, and in a README it is its own.
    let mut at_home = Sandbox::new("readme-init");
    at_home.unset("EVOKORE_CONFIG_DIR");
    let text = readme();
    let mut run = 0;
    for block in text.split("```console\n").skip(1).filter_map(|rest| rest.split("```").next()) {
        for step in block.split("$ ").skip(1) {
            let (command, shown) = step.split_once('\n').unwrap_or((step, ""));
            let Some(arguments) = command.strip_prefix("evokore").map(words) else { continue };
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let ran = if arguments.first() == Some(&"init") { &at_home } else { &sandbox }.run(&arguments);
            let came = format!("{}{}", ran.stdout, ran.stderr)
                .replace("<evokore>", "/opt/evokore")
                .replace("<root>/home", "~");
            let came: Vec<&str> = came.lines().map(str::trim_end).collect();
            let shown: Vec<&str> = shown.lines().map(str::trim_end).collect();
            let shown = &shown[..shown.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1)];
            assert!(
                fits(shown, &came),
                "README.md: `{command}` shows\n{}\nbut gives\n{}",
                shown.join("\n"),
                came.join("\n")
            );
            run += 1;
        }
    }
    assert!(run >= 4, "only {run} commands were run");
}

/// The words of a command line, with single quotes as a shell has them.
fn words(line: &str) -> Vec<String> {
    let pieces = line.trim().split('\'').enumerate();
    pieces
        .flat_map(|(at, piece)| {
            let quoted = at % 2 == 1;
            if quoted { vec![piece.to_owned()] } else { piece.split_whitespace().map(str::to_owned).collect() }
        })
        .collect()
}

fn fits(shown: &[&str], came: &[&str]) -> bool {
    match shown.split_first() {
        None => came.iter().all(|line| line.is_empty()),
        Some((&"...", rest)) => (0..=came.len()).any(|skipped| fits(rest, &came[skipped..])),
        Some((line, rest)) => {
            came.split_first().is_some_and(|(first, more)| fits_line(line, first) && fits(rest, more))
        }
    }
}

fn fits_line(shown: &str, came: &str) -> bool {
    let (shown, came) = (plain(shown), plain(came));
    match shown.strip_suffix('…') {
        Some(start) => came.starts_with(start),
        None => shown == came,
    }
}

/// `line` with one blank for each gap and `0` for each number.
fn plain(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for word in line.split_whitespace() {
        out.push(' ');
        let mut last = ' ';
        for c in word.chars() {
            let goes_on = last.is_ascii_digit() && (c.is_ascii_digit() || matches!(c, ',' | '.'));
            match c {
                _ if goes_on => continue,
                c if c.is_ascii_digit() => out.push('0'),
                c => out.push(c),
            }
            last = c;
        }
    }
    out
}

#[test]
fn wildcards_fit_what_they_should() {
    for (shown, came, fit) in [
        ("a\n...\nd", "a\nb\nc\nd", true),
        ("a\n...\nd", "a\nd", true),
        ("a\n...", "a", true),
        ("a\nd", "a\nb\nd", false),
        ("x  1.2 ms", "x 10,000 ms", true),
        ("x 1.2 ms", "x 1.2 s", false),
        ("a tool…", "a tool for everything", true),
        ("a", "a\nb", false),
    ] {
        let lines = |text: &'static str| text.lines().collect::<Vec<_>>();
        assert_eq!(fits(&lines(shown), &lines(came)), fit, "{shown:?} {came:?}");
    }
}

#[test]
fn links_lead_somewhere() {
    for target in readme().split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
        let path = target.split('#').next().unwrap_or_default();
        if !path.is_empty() && !path.contains("://") {
            assert!(repository().join(path).exists(), "README.md links to {path}, which is not there");
        }
    }
}
