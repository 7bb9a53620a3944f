//! Compiles the configuration into the binary. All logic lives in `codegen/`.

#![expect(clippy::disallowed_methods, reason = "a build script is told everything through its environment")]

use std::env;
use std::path::PathBuf;

fn main() {
    let folder = |name| PathBuf::from(env::var_os(name).unwrap_or_default());
    let script =
        evokore_codegen::build::run(&folder("CARGO_MANIFEST_DIR"), &folder("OUT_DIR"), &|name| env::var(name).ok());
    for line in script.lines {
        println!("{line}");
    }
}
