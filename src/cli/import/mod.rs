//! `evokore import`: takes the servers of another program's file into `mcp.config.json`.

mod convert;
mod ids;
mod merge;
mod secrets;
mod source;
mod text;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::cli::arguments::ImportArguments;
use crate::cli::init::entry::Refusal;
use crate::cli::init::file::ClientFile;
use crate::cli::output::{self, Output};
use crate::error::{Exit, Failure};
use crate::{config_dir, env_vars};
use convert::Converted;
use merge::{Change, Merged};
use secrets::Clear;

/// Everything that is known of one import before anything is written.
#[derive(Debug)]
struct Plan {
    servers: Vec<Planned>,
    /// Servers that stay behind, each with why.
    left: Vec<String>,
}

/// One server that comes along.
#[derive(Debug)]
struct Planned {
    server: Converted,
    secrets: Vec<Clear>,
    /// The entry with variables in place of secrets.
    shown: Map<String, Value>,
}

/// Runs the command.
///
/// # Errors
/// The file cannot be understood, or the configuration cannot be found, understood or written; it is as it was then.
pub(crate) fn run(arguments: &ImportArguments, out: Output) -> Result<Exit, Failure> {
    let home = env_vars::read("HOME").or_else(|| env_vars::read("USERPROFILE")).map(PathBuf::from);
    let path = std::path::absolute(&arguments.file)
        .map_err(|error| Failure::usage(format!("`{}`: {error}", arguments.file.display())))?;
    let file = ClientFile::read(&path).map_err(|failure| failure.hint("name the file that holds the servers"))?;
    if file.is_new() {
        return Err(Failure::usage(format!("there is no file `{}`", path.display())));
    }
    let found = source::read(&path, &file.text, home.as_deref()).map_err(|refusal| refused(&path, &refusal))?;
    let plan = plan(&found);
    let mut text = format!(
        "`{}` is written like {}: {}\n",
        arguments.file.display(),
        found.dialect.title(),
        output::count(found.servers.len(), "server")
    );
    if arguments.stdout {
        let entries: Vec<_> = plan.servers.iter().map(|it| (it.server.id.clone(), it.shown.clone())).collect();
        out.print(&merge::alone(&entries))?;
        text.push_str(&told(&plan, None, false));
        output::say(&text);
        return Ok(Exit::Ok);
    }
    let target = target()?;
    let configuration = ClientFile::read(&target)
        .map_err(|failure| failure.hint("mend or move it, or use `--stdout` and paste the entries"))?;
    let servers: Vec<Converted> = plan.servers.iter().map(|it| it.server.clone()).collect();
    let merged = merge::merge(&configuration.text, &servers, arguments.replace)
        .map_err(|refusal| refused(configuration.path(), &refusal))?;
    text.push_str(&told(&plan, Some(&merged.changes), arguments.dry_run));
    text.push('\n');
    text.push_str(&write(&configuration, &merged, arguments.dry_run)?);
    out.print(&text)?;
    Ok(Exit::Ok)
}

/// Writes the configuration, unless it is only to be told; gives back what is to be said of it.
fn write(configuration: &ClientFile, merged: &Merged, dry_run: bool) -> Result<String, Failure> {
    let shown = configuration.path().display();
    let changed = merged.changes.iter().filter(|change| **change != Change::Skip).count();
    if changed == 0 {
        return Ok(format!("nothing to write: `{shown}` stays as it is\n"));
    }
    let changed = output::count(changed, "server");
    if dry_run {
        return Ok(format!("would write {changed} into `{shown}`\n"));
    }
    let backup = configuration.replace(&merged.text)?;
    let mut text = format!("wrote {changed} into `{shown}`\n");
    if let Some(backup) = backup {
        text.push_str(&format!("what was there: `{}`\n", backup.display()));
    }
    text.push_str("next: the configuration is compiled in, so build evokore again (`cargo build --release`), then `evokore doctor`\n");
    Ok(text)
}

/// Converts what was found, each under an id of its own.
fn plan(found: &source::Found) -> Plan {
    let mut plan = Plan { servers: Vec::new(), left: Vec::new() };
    let mut taken: Vec<String> = Vec::new();
    for foreign in &found.servers {
        let id = ids::unique(&ids::safe(&foreign.name), &taken);
        match convert::convert(&id, foreign, found.dialect) {
            Ok(server) if is_evokore(&server) => {
                plan.left.push(format!("`{}` is evokore itself", foreign.name));
            }
            Ok(server) => {
                let (secrets, shown) = secrets::find(&id, &server.entry);
                taken.push(id);
                plan.servers.push(Planned { server, secrets, shown });
            }
            Err(reason) => plan.left.push(format!("`{}`: {reason}", foreign.name)),
        }
    }
    plan
}

/// Whether the entry starts evokore, which must not be its own child.
fn is_evokore(server: &Converted) -> bool {
    let command = server.entry.get("command").and_then(Value::as_str).unwrap_or_default();
    let program = command.rsplit(['/', '\\']).next().unwrap_or_default();
    program.strip_suffix(".exe").unwrap_or(program).eq_ignore_ascii_case("evokore")
}

/// What is said of each server; with its entry, if it is to be shown.
fn told(plan: &Plan, changes: Option<&[Change]>, with_entries: bool) -> String {
    let mut text = String::new();
    for (at, Planned { server, secrets, shown }) in plan.servers.iter().enumerate() {
        let (verb, kept) = match changes.and_then(|changes| changes.get(at)) {
            None => ("take", false),
            Some(Change::Add) => ("add", false),
            Some(Change::Replace) => ("replace", false),
            Some(Change::Skip) => ("keep", true),
        };
        text.push_str(&format!("\n  {verb} `{}`", server.id));
        if kept {
            text.push_str(": one of this id is configured and stays; `--replace` puts this one in its place\n");
            continue;
        }
        text.push('\n');
        if with_entries {
            text.push_str(&format!("    {}\n", Value::Object(shown.clone())));
        }
        if let Some(name) = &server.renamed {
            text.push_str(&format!("    it is called `{}` there\n", output::one_line(name, 80)));
        }
        for remark in &server.remarks {
            text.push_str(&format!("    {remark}\n"));
        }
        for Clear { key, variable } in secrets {
            text.push_str(&format!(
                "    secret in the clear: `{key}`, which would be compiled into the executable; write `${{{variable}}}` there and `{variable}=…` into `.env`\n"
            ));
        }
    }
    for left in &plan.left {
        text.push_str(&format!("\n  leave {left}\n"));
    }
    text
}

/// The configuration that is written to.
fn target() -> Result<PathBuf, Failure> {
    let folder = config_dir::find().ok_or_else(|| {
        Failure::usage("it is not known which configuration evokore is built from").hint(format!(
            "name its folder, as in `{}=folder evokore import …`, or use `--stdout` and paste the entries",
            env_vars::CONFIG_DIR
        ))
    })?;
    Ok(config_dir::config_file(folder))
}

fn refused(path: &Path, refusal: &Refusal) -> Failure {
    let Refusal { line, column, message } = refusal;
    Failure::usage(format!("{}:{line}:{column}: {message}", path.display()))
}
