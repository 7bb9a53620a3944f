//! The panel's table of mandatory injection points: the first column, in backticks, of the table below the heading
//! that says "mandatory" in the section that says "injection".

use std::collections::BTreeMap;
use std::ops::Range;

use evokore_catalog::finding::Finding;
use evokore_catalog::skill_library::Skill;
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// The mandatory points of `panel` as positions in the library with their lines, in the table's order.
pub(super) fn points(
    panel: &Skill,
    by_name: &BTreeMap<String, usize>,
    warnings: &mut Vec<Finding>,
) -> Vec<(usize, u32)> {
    let body = &panel.file.body;
    let mut warn = |line: u32, message: String, hint: &str| {
        warnings.push(Finding::noted(line, 1, message, hint).in_file(&panel.path));
    };
    let line_at = |offset: usize| {
        let line = body.as_bytes()[..offset].iter().filter(|byte| **byte == b'\n').count();
        panel.file.body_line.saturating_add(u32::try_from(line).unwrap_or(u32::MAX))
    };
    let Some(section) = mandatory_section(body) else {
        warn(
            1,
            "there is no section of mandatory injection points".to_owned(),
            "add `## Injection Points` with `### Mandatory Injection Points (Always Run)` and a table below it",
        );
        return Vec::new();
    };
    let mut points: Vec<(usize, u32)> = Vec::new();
    let cells = first_column(&body[section.clone()]);
    if cells.is_empty() {
        let hint = "name each skill in backticks in the first column of a table";
        warn(line_at(section.start), "the section of mandatory injection points names no skill".to_owned(), hint);
    }
    for (name, offset) in cells {
        let line = line_at(section.start + offset);
        match by_name.get(&name.to_lowercase()) {
            Some(at) if points.iter().any(|(known, _)| known == at) => {}
            Some(at) => points.push((*at, line)),
            None => warn(
                line,
                format!("the mandatory injection point `{name}` is no skill"),
                "add the skill, or mend its name",
            ),
        }
    }
    points
}

/// The bytes of the section, its heading left out.
fn mandatory_section(body: &str) -> Option<Range<usize>> {
    let headings = headings(body);
    let outer = section(&headings, 0..body.len(), "injection")?;
    section(&headings, outer.clone(), "mandatory").or_else(|| {
        let own = headings.iter().find(|heading| heading.range.end == outer.start)?;
        own.text.contains("mandatory").then_some(outer)
    })
}

struct Heading {
    level: HeadingLevel,
    text: String,
    range: Range<usize>,
}

/// What stands below the first heading in `within` that says `word`, up to the next heading of its level or higher.
fn section(headings: &[Heading], within: Range<usize>, word: &str) -> Option<Range<usize>> {
    let inside = |heading: &&Heading| within.contains(&heading.range.start);
    let first = headings.iter().filter(inside).position(|heading| heading.text.contains(word))?;
    let mut rest = headings.iter().filter(inside).skip(first);
    let heading = rest.next()?;
    let end = rest.find(|other| other.level <= heading.level).map_or(within.end, |other| other.range.start);
    Some(heading.range.end..end)
}

fn headings(body: &str) -> Vec<Heading> {
    let mut headings: Vec<Heading> = Vec::new();
    let mut open = false;
    for (event, range) in Parser::new_ext(body, Options::ENABLE_TABLES).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                open = true;
                headings.push(Heading { level, text: String::new(), range });
            }
            Event::End(TagEnd::Heading(_)) => open = false,
            Event::Text(text) | Event::Code(text) if open => {
                if let Some(heading) = headings.last_mut() {
                    heading.text.push_str(&text.to_lowercase());
                }
            }
            _ => {}
        }
    }
    headings
}

/// The names in backticks in the first column of the tables in `text`, without what stands in brackets, and where.
fn first_column(text: &str) -> Vec<(String, usize)> {
    let mut names = Vec::new();
    let mut column = None;
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        match event {
            Event::Start(Tag::TableRow) => column = Some(0),
            Event::End(TagEnd::TableCell) => column = column.map(|at: usize| at + 1),
            Event::End(TagEnd::TableRow) => column = None,
            Event::Code(code) if column == Some(0) => {
                let name = code.split(['(', '[']).next().unwrap_or("").trim();
                if !name.is_empty() {
                    names.push((name.to_owned(), range.start));
                }
            }
            _ => {}
        }
    }
    names
}
