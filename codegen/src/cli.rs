//! `cargo codegen`: writes or checks `generated/`, and makes locks.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use evokore_catalog::lock::file::ServerInfo;
use evokore_catalog::server::LockKind;

use crate::inputs::{Inputs, Roots};
use crate::lock_write::{self, Request, make};
use crate::model::{Compilation, Counting, compile};
use crate::native_tools;
use crate::review;

const HELP: &str = "\
Compiles the configuration and keeps generated/ up to date.

Usage: cargo codegen [--check]
       cargo codegen lock --server ID --from FILE [--digest] [--server-info NAME@VERSION]

  (nothing)   check the inputs and write generated/
  --check     change nothing; fail when generated/ is stale
  lock        make the lock of a child server from its recorded tools/list answer, or from a full lock;
              `evokore lock` asks the servers themselves
    --server ID                 server id, as in mcp.config.json
    --from FILE                 the recorded answer, as JSON; `-` for stdin
    --digest                    keep names, digests and token counts, but none of the server's texts
    --server-info NAME@VERSION  what the server calls itself

Environment: EVOKORE_CONFIG_DIR, EVOKORE_PROFILE_SET (the inputs are checked, generated/ is left alone)
";

/// Everything is as it should be.
pub const OK: u8 = 0;
/// A check found something.
pub const FOUND: u8 = 1;
/// The arguments or the configuration cannot be used.
pub const USAGE: u8 = 2;
/// Reading or writing failed.
pub const FAILED: u8 = 3;

/// Why a command ended without success.
struct Stop(u8, String);

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        Stop(FAILED, format!("error: {error}"))
    }
}

/// Runs the command `arguments` in `repository`, writes to `out` and returns the exit code. `variable` reads the
/// environment.
pub fn run(
    arguments: &[String],
    repository: &Path,
    variable: &dyn Fn(&str) -> Option<String>,
    out: &mut dyn Write,
) -> u8 {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let roots = Roots::new(repository, variable("EVOKORE_CONFIG_DIR"), variable("EVOKORE_PROFILE_SET"));
    let outcome = match words.as_slice() {
        [] => generate(&roots, false, out),
        ["--check"] => generate(&roots, true, out),
        ["lock", options @ ..] => lock(&roots, options, out),
        ["-h" | "--help" | "help"] => out.write_all(HELP.as_bytes()).map_err(Stop::from),
        [other, ..] => Err(Stop(USAGE, format!("error: unknown argument `{other}`\nhint: cargo codegen --help"))),
    };
    match outcome {
        Ok(()) => OK,
        Err(Stop(code, message)) => {
            // Nothing better can be done when even the message cannot be written.
            let _ = writeln!(out, "{message}");
            code
        }
    }
}

/// Checks the inputs, then writes or compares `generated/`.
fn generate(roots: &Roots, check: bool, out: &mut dyn Write) -> Result<(), Stop> {
    let compilation = compile(&Inputs::read(roots), Counting::Everything);
    report(&compilation, out)?;
    if roots.config_dir.is_some() || roots.profile_set.is_some() {
        let text = "the configuration has no errors\nnote: generated/ belongs to the whole configuration of this repository and was left alone";
        writeln!(out, "{text}")?;
        return Ok(());
    }
    let folder = roots.repository.join("generated");
    let files = review::render(&compilation.model);
    if check {
        let differences = review::compare(&folder, &files)?;
        if differences.is_empty() {
            writeln!(out, "generated/ is up to date")?;
            return Ok(());
        }
        let shown: Vec<String> = differences.iter().map(ToString::to_string).collect();
        let head = "error: generated/ is stale";
        return Err(Stop(
            FOUND,
            format!("{head}\n{}\nhint: run `cargo codegen` and commit the result", shown.join("\n")),
        ));
    }
    let changed = review::write(&folder, &files)?;
    for path in &changed {
        writeln!(out, "wrote generated/{path}")?;
    }
    if changed.is_empty() {
        writeln!(out, "generated/ is up to date")?;
    }
    Ok(())
}

fn report(compilation: &Compilation, out: &mut dyn Write) -> Result<(), Stop> {
    for problem in &compilation.problems {
        writeln!(out, "{problem}\n")?;
    }
    if compilation.has_errors() {
        return Err(Stop(USAGE, "error: the configuration has errors; nothing was written".to_owned()));
    }
    Ok(())
}

/// The options of `lock`.
#[derive(Default)]
struct LockOptions<'a> {
    server: Option<&'a str>,
    from: Option<&'a str>,
    digest: bool,
    server_info: Option<ServerInfo>,
}

fn lock_options<'a>(words: &[&'a str]) -> Result<LockOptions<'a>, Stop> {
    let usage = |message: String| Stop(USAGE, format!("error: {message}\nhint: cargo codegen --help"));
    let mut options = LockOptions::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().copied().ok_or_else(|| usage(format!("`{word}` needs a value")));
        match *word {
            "--server" => options.server = Some(value()?),
            "--from" => options.from = Some(value()?),
            "--digest" => options.digest = true,
            "--server-info" => {
                let text = value()?;
                let (name, version) =
                    text.rsplit_once('@').ok_or_else(|| usage(format!("`{text}` is not of the form NAME@VERSION")))?;
                options.server_info = Some(ServerInfo { name: name.to_owned(), version: version.to_owned() });
            }
            other => return Err(usage(format!("unknown argument `{other}`"))),
        }
    }
    Ok(options)
}

fn lock(roots: &Roots, words: &[&str], out: &mut dyn Write) -> Result<(), Stop> {
    let options = lock_options(words)?;
    let (Some(server), Some(from)) = (options.server, options.from) else {
        return Err(Stop(USAGE, "error: `lock` needs `--server` and `--from`\nhint: cargo codegen --help".to_owned()));
    };
    let is_id = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if server.is_empty() || !server.chars().all(is_id) {
        return Err(Stop(USAGE, format!("error: `{server}` is no server id\nhint: use letters, digits, `-` and `_`")));
    }
    let list = if from == "-" { io::read_to_string(io::stdin()) } else { fs::read_to_string(from) }
        .map_err(|error| Stop(FAILED, format!("error: cannot read `{from}`: {error}")))?;
    let inputs = Inputs::read(roots);
    let natives: BTreeSet<String> =
        native_tools::read(&inputs.native, &mut Vec::new()).into_iter().map(|tool| tool.name).collect();
    let kind = if options.digest { LockKind::Digest } else { LockKind::Full };
    let request = Request { server, list: &list, server_info: options.server_info, kind };
    let written = make(&request, &natives)
        .map_err(|error| Stop(USAGE, format!("error: `{from}` is no answer to tools/list: {error}")))?;
    let path = roots.locks().join(format!("{server}.json"));
    // What was there need not be readable to be replaced.
    let before = fs::read_to_string(&path).ok();
    let differences = lock_write::report(before.as_deref(), &written.text, &natives);
    replace(&path, &written.text)?;
    for line in &written.skipped {
        writeln!(out, "note: left out {line}")?;
    }
    write!(out, "{differences}")?;
    writeln!(out, "locked {} tools of `{server}` in {}", written.tools, path.display())?;
    Ok(())
}

/// Writes `path` so that a reader sees the old text or the new one, never a part.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut beside = PathBuf::from(path);
    beside.set_extension("json.new");
    fs::write(&beside, text)?;
    fs::rename(&beside, path)
}
