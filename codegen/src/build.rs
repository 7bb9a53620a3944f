//! The build script: compiles the configuration and hands the result to Cargo.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::emit::emit;
use crate::inputs::{Inputs, Roots};
use crate::model::{Counting, compile};
use crate::problem::{Problem, Severity};

/// Name of the counts that one build leaves to the next in `OUT_DIR`.
const COUNTS: &str = "token-counts.tsv";

/// What a build script says to Cargo: lines for its standard output.
#[derive(Debug, Default)]
pub struct Script {
    /// The lines, in order.
    pub lines: Vec<String>,
}

/// Compiles `repository`, writes the catalog into `out_dir` and returns what to tell Cargo. `variable` reads the
/// environment.
pub fn run(repository: &Path, out_dir: &Path, variable: &dyn Fn(&str) -> Option<String>) -> Script {
    let mut script = Script::default();
    for name in ["EVOKORE_CONFIG_DIR", "EVOKORE_PROFILE_SET"] {
        script.lines.push(format!("cargo::rerun-if-env-changed={name}"));
    }
    let roots = Roots::new(repository, variable("EVOKORE_CONFIG_DIR"), variable("EVOKORE_PROFILE_SET"));
    for path in roots.watched() {
        script.lines.push(format!("cargo::rerun-if-changed={}", path.display()));
    }
    let mut inputs = Inputs::read(&roots);
    for table in [roots.token_counts(), out_dir.join(COUNTS)] {
        inputs.known_counts.add_table(&fs::read_to_string(table).unwrap_or_default());
    }
    let compilation = compile(&inputs, Counting::Configured);
    for problem in &compilation.problems {
        script.report(problem);
    }
    if !compilation.has_errors() {
        let mut files: Vec<(PathBuf, Vec<u8>)> =
            emit(&compilation.model).into_iter().map(|(name, bytes)| (out_dir.join(name), bytes)).collect();
        files.push((out_dir.join(COUNTS), compilation.model.counter.used().table().into_bytes()));
        for (path, bytes) in files {
            if let Err(error) = write_if_changed(&path, &bytes) {
                script.report(&Problem::error(format!("cannot write `{}`: {error}", path.display())));
            }
        }
    }
    script
}

impl Script {
    /// An error becomes the lines a person reads, a note one line: Cargo repeats notes with every build.
    fn report(&mut self, problem: &Problem) {
        match problem.severity {
            Severity::Error => {
                let text = problem.to_string();
                let text = text.split_once(": ").map_or(text.as_str(), |(_, rest)| rest);
                self.lines.extend(text.lines().map(|line| format!("cargo::error={line}")));
            }
            Severity::Note => self.lines.push(format!("cargo::warning={}", problem.in_one_line())),
        }
    }
}

/// Writes `path` unless it holds `bytes` already, so that its age says when it changed.
///
/// # Errors
/// What the file system says.
pub fn write_if_changed(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    if fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(false);
    }
    fs::write(path, bytes)?;
    Ok(true)
}
