//! `evokore init`: writes evokore's entry into a client's configuration and leaves the rest of it alone.

mod clients;
pub(super) mod entry;
pub(super) mod file;
pub(super) mod json_file;
mod toml_file;

#[cfg(test)]
mod tests;

use std::path::Path;

use crate::catalog::CATALOG;
use crate::cli::arguments::{InitArguments, Scope};
use crate::cli::output::Output;
use crate::error::{Exit, Failure};
use crate::{config_dir, env_vars};
use clients::{Format, Platform};
use entry::{Change, Entry, Merged, NAME, Refusal};
use file::ClientFile;

/// Runs the command.
///
/// # Errors
/// The client's file cannot be found, understood or written; it is left as it was then.
pub(crate) fn run(arguments: &InitArguments, out: Output) -> Result<Exit, Failure> {
    let client = arguments.client;
    let entry = entry(arguments.profile.as_deref())?;
    if arguments.print {
        let merged =
            merge(client.format(), "", &entry).map_err(|refusal| refused(Path::new("an empty file"), &refusal))?;
        out.print(&merged.text)?;
        return Ok(Exit::Ok);
    }
    let path = client.file(arguments.scope, Platform::HERE, &env_vars::lookup)?;
    let found = ClientFile::read(&path)?;
    let merged = merge(client.format(), &found.text, &entry).map_err(|refusal| refused(found.path(), &refusal))?;
    let shown = found.path().display();
    match merged.change {
        Change::None => out.print(&format!("`{NAME}` stands in `{shown}` as it should; nothing to change\n"))?,
        change if arguments.dry_run => {
            let verb = if change == Change::Added { "add" } else { "update" };
            out.print(&format!("would {verb} `{NAME}` in `{shown}`:\n{}", difference(&found.text, &merged.text)))?;
        }
        change => {
            let backup = found.replace(&merged.text)?;
            let verb = if change == Change::Added { "added" } else { "updated" };
            let mut text = format!("{verb} `{NAME}` for {} in `{shown}`\n", client.title());
            if let Some(backup) = backup {
                text.push_str(&format!("what was there: `{}`\n", backup.display()));
            }
            for note in notes(arguments.scope, &entry) {
                text.push_str(&format!("note: {note}\n"));
            }
            text.push_str(&format!("next: {}\n", client.next_step(arguments.scope)));
            out.print(&text)?;
        }
    }
    Ok(Exit::Ok)
}

/// What a person should know about the entry that was written.
fn notes(scope: Scope, entry: &Entry) -> Vec<String> {
    let mut notes = Vec::new();
    if scope == Scope::Project {
        notes.push(format!("whoever shares this file needs evokore at `{}`, too", entry.command));
    }
    if config_dir::find().is_none() {
        notes.push(format!(
            "this executable lies apart from its configuration, whose `.env` and `SKILLS/` it will not look at; \
             `{}=folder evokore init …` tells it where they are",
            env_vars::CONFIG_DIR
        ));
    }
    notes
}

/// The entry for this executable and this environment.
fn entry(profile: Option<&str>) -> Result<Entry, Failure> {
    let executable = std::env::current_exe()
        .map_err(|error| Failure::runtime(format!("cannot find the path of this executable: {error}")))?;
    let text = |path: &Path| {
        path.to_str().map(str::to_owned).ok_or_else(|| {
            Failure::usage(format!("`{}` cannot be written into a configuration: it is not UTF-8", path.display()))
        })
    };
    let mut env = Vec::new();
    // A binary that was built for another folder has to be told of it; the client starts it from anywhere.
    for name in [env_vars::CONFIG_DIR, env_vars::MCP_CONFIG_PATH] {
        if let Some(value) = env_vars::read(name) {
            let path = std::path::absolute(&value)
                .map_err(|error| Failure::usage(format!("`{name}` is `{value}`: {error}")))?;
            env.push((name.to_owned(), text(&path)?));
        }
    }
    if let Some(profile) = profile {
        crate::cli::profile::check(&CATALOG, profile)?;
        env.push((env_vars::DISCOVERY_PROFILE.to_owned(), profile.to_owned()));
    }
    Ok(Entry { command: text(&executable)?, args: vec!["serve".to_owned()], env })
}

fn merge(format: Format, text: &str, entry: &Entry) -> Result<Merged, Refusal> {
    match format {
        Format::Json { key, typed } => json_file::merge(text, key, typed, entry),
        Format::Toml => toml_file::merge(text, entry),
    }
}

fn refused(path: &Path, refusal: &Refusal) -> Failure {
    let Refusal { line, column, message } = refusal;
    Failure::usage(format!("{}:{line}:{column}: {message}", path.display()))
        .hint("the file is as it was; mend it, or use `--print` and paste the entry")
}

/// The lines that differ. An entry is one run of lines, so cutting what is alike at both ends is enough; lines around
/// it are not shown, since they may hold secrets of other entries.
fn difference(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let start = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let end = old[start..].iter().rev().zip(new[start..].iter().rev()).take_while(|(old, new)| old == new).count();
    let mut text = format!("  at line {}\n", start + 1);
    for (sign, lines) in [('-', &old[start..old.len() - end]), ('+', &new[start..new.len() - end])] {
        for line in lines {
            text.push_str(format!("  {sign} {line}").trim_end());
            text.push('\n');
        }
    }
    text
}
