//! The folder of the configuration at run time. What it holds is compiled in; it is still where `.env` lies, where
//! relative commands of child servers start, and what `evokore doctor` compares with the binary.

use std::path::{Path, PathBuf};

use crate::env_vars;

/// Name of the configuration file.
pub const CONFIG: &str = "mcp.config.json";

/// A binary that was built in place lies at most this many folders below its configuration: `target/<triple>/release`.
const LEVELS: usize = 4;

/// The folder: `EVOKORE_CONFIG_DIR`, else that of `EVOKORE_MCP_CONFIG_PATH`, else the nearest folder above the
/// executable that holds a configuration; `None` when there is none of them.
///
/// The working directory is not asked: it belongs to whatever the client works on, and must not decide which programs
/// a compiled-in relative command starts.
pub fn find() -> Option<PathBuf> {
    named(&env_vars::lookup).or_else(|| above(&std::env::current_exe().ok()?))
}

/// The folder that the environment names.
pub fn named(lookup: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let get = |name| lookup(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let beside = || {
        let folder = get(env_vars::MCP_CONFIG_PATH)?.parent()?.to_path_buf();
        Some(if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder })
    };
    get(env_vars::CONFIG_DIR).or_else(beside)
}

/// The nearest folder above `executable` that holds a configuration.
fn above(executable: &Path) -> Option<PathBuf> {
    let folder = executable.ancestors().skip(1).take(LEVELS).find(|folder| folder.join(CONFIG).is_file());
    folder.map(Path::to_path_buf)
}

/// The configuration file, which `EVOKORE_MCP_CONFIG_PATH` may name otherwise.
pub fn config_file(folder: &Path) -> PathBuf {
    match env_vars::read(env_vars::MCP_CONFIG_PATH) {
        Some(path) => PathBuf::from(path),
        None => folder.join(CONFIG),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_names_it() {
        for (folder, file, expected) in [
            (None, None, None),
            (Some(""), Some(""), None),
            (Some("conf"), Some("/srv/mcp.json"), Some("conf")),
            (None, Some("/srv/mcp.json"), Some("/srv")),
            (None, Some("mcp.json"), Some(".")),
        ] {
            let found = named(&|name| match name {
                env_vars::CONFIG_DIR => folder.map(str::to_owned),
                env_vars::MCP_CONFIG_PATH => file.map(str::to_owned),
                _ => None,
            });
            assert_eq!(found, expected.map(PathBuf::from), "{folder:?} {file:?}");
        }
    }

    #[test]
    fn a_binary_in_the_target_folder_finds_it() {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
        for path in ["target/debug/evokore", "target/x86_64-unknown-linux-gnu/release/evokore", "evokore"] {
            assert_eq!(above(&repository.join(path)).as_deref(), Some(repository), "{path}");
        }
        assert_eq!(above(Path::new("/usr/local/bin/evokore")), None);
    }
}
