//! Every variable that is read is documented, every documented one is read, and `.env.example` knows them all.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use evokore::catalog::CATALOG;
use evokore::env_vars::{Group, VARS, Var};
use evokore_catalog::server::Transport;
use expect_test::expect_file;

use crate::cli::repository;

/// The sources below `folder`, tests aside.
fn sources(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).expect("a folder of sources").flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() {
            if !matches!(name.as_str(), "tests" | "target") {
                sources(&path, found);
            }
        } else if name.ends_with(".rs") && name != "tests.rs" {
            let text = fs::read_to_string(&path).expect("a readable source");
            // Unit tests stand at the end of a file.
            let code = text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
            found.push((path.display().to_string(), code));
        }
    }
}

fn all_sources() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for folder in ["src", "codegen"] {
        sources(&repository().join(folder), &mut found);
    }
    found
}

/// The words of `text` that look like variables of evokore's.
fn variables(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'));
    words.filter(|word| word.len() > "EVOKORE_".len() && word.starts_with("EVOKORE_"))
}

#[test]
fn what_is_documented_is_read() {
    let sources = all_sources();
    let elsewhere =
        |needle: &str| sources.iter().any(|(path, code)| !path.ends_with("env_vars.rs") && code.contains(needle));
    for var in VARS {
        let constant = var.name.trim_start_matches("EVOKORE_");
        let read = ["env_vars::", "vars::"].iter().any(|module| elsewhere(&format!("{module}{constant}")));
        assert!(read || elsewhere(&format!("\"{}\"", var.name)), "nothing reads {}", var.name);
    }
}

#[test]
fn what_is_read_is_documented() {
    let known: BTreeSet<&str> = VARS.iter().map(|var| var.name).collect();
    for (path, code) in all_sources() {
        for name in variables(&code) {
            assert!(known.contains(name), "{path} names {name}, which stands not in env_vars.rs");
        }
    }
}

/// The variables of the configured servers with their defaults, in the order of the configuration.
fn of_servers() -> Vec<(&'static str, String, String)> {
    let mut found: Vec<(&'static str, String, String)> = Vec::new();
    for server in CATALOG.servers {
        let texts: Vec<&str> = match server.transport {
            Transport::Stdio { command, args, env, cwd } => {
                let env = env.iter().map(|(_, value)| *value);
                args.iter().copied().chain(env).chain([command]).chain(cwd).collect()
            }
            Transport::Http { url, headers, .. } => {
                let login = server.oauth.client_id.into_iter().chain(server.oauth.client_secret);
                headers.iter().map(|(_, value)| *value).chain([url]).chain(login).collect()
            }
        };
        for placeholder in texts.iter().flat_map(|text| text.split("${").skip(1)) {
            let inner = placeholder.split('}').next().unwrap_or_default();
            let (name, default) = inner.split_once(":-").unwrap_or((inner, ""));
            let name = name.trim_start_matches("env:").to_owned();
            if !found.iter().any(|(_, known, _)| *known == name) {
                found.push((server.id, name, default.to_owned()));
            }
        }
    }
    found
}

/// The default as it would be written into a file; empty when it is described in words.
fn literal(var: &Var) -> &'static str {
    if var.default.contains([' ', '`', ',']) { "" } else { var.default }
}

#[test]
fn the_example_knows_them_all() {
    let mut text = String::from(
        "# Variables for evokore and its child servers. Copy this file to `.env` beside `mcp.config.json`, or into the\n\
         # working directory, and take the `#` from the lines you need. What is set in the environment wins.\n\
         # NAME=value; quotes as in a shell; nothing is expanded.\n\
         \n\
         # --- Child servers of mcp.config.json ---\n",
    );
    let mut last = "";
    for (server, name, default) in of_servers() {
        if server != last {
            text.push_str(&format!("\n# {server}\n"));
            last = server;
        }
        text.push_str(&format!("#{name}={default}\n"));
    }
    // Where files lie is read from the environment alone, and what the build reads is no matter of `.env`.
    for group in Group::ALL.into_iter().filter(|group| !matches!(group, Group::Files | Group::Build)) {
        text.push_str(&format!("\n# --- {} ---\n", group.title()));
        for var in VARS.iter().filter(|var| var.group == group) {
            text.push_str(&format!("\n# {}\n#{}={}\n", var.meaning(), var.name, literal(var)));
        }
    }
    expect_file!["../../.env.example"].assert_eq(&text);
}
