//! What the server must not carry: the compiler and what only the compiler needs.

use std::process::Command;

use crate::support::repository;

#[test]
#[expect(clippy::disallowed_methods, reason = "Cargo's own variable, not one of the server's")]
fn the_runtime_is_free_of_the_compiler() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["tree", "--package", "evokore", "--edges", "normal", "--prefix", "none", "--format", "{p}"])
        .args(["--locked", "--offline"])
        .current_dir(repository())
        .output()
        .expect("the tests run under Cargo");
    let tree = String::from_utf8(output.stdout).unwrap();
    assert!(tree.contains("evokore-catalog"), "{}", String::from_utf8_lossy(&output.stderr));
    let names: Vec<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    for banned in [
        "evokore-codegen",
        "phf_codegen",
        "phf_generator",
        "tiktoken-rs",
        "petgraph",
        "pulldown-cmark",
        "regex",
        "regex-lite",
        "regex-automata",
        "fancy-regex",
    ] {
        assert!(!names.contains(&banned), "the server depends on `{banned}`; see cargo tree -i {banned} -e normal");
    }
}
