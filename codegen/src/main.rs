//! `cargo codegen`: see `cargo codegen --help`.

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use evokore_codegen::cli;

#[expect(clippy::disallowed_methods, reason = "the variables of a build, which the server's table does not hold")]
fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    // Cargo names this package's folder when it runs the command; otherwise the command works where it is called.
    let package = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let repository = package.as_deref().and_then(Path::parent).unwrap_or(Path::new("."));
    ExitCode::from(cli::run(&arguments, repository, &|name| env::var(name).ok(), &mut std::io::stdout().lock()))
}
