//! The folder of the configuration at run time. What it holds is compiled in; it is still where `.env` lies, where
//! relative commands of child servers start, what `refresh_skills` reads and `evokore doctor` compares.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::env_vars;

/// Name of the configuration file.
pub const CONFIG: &str = "mcp.config.json";

/// A binary that was built in place lies at most this many folders below its configuration: `target/<triple>/release`.
const LEVELS: usize = 4;

/// The folder, or `None` when nothing tells: the first of [`folders`].
pub fn find() -> Option<&'static Path> {
    folders().first().map(PathBuf::as_path)
}

/// The folders that may hold the configuration, best first: `EVOKORE_CONFIG_DIR`, that of `EVOKORE_MCP_CONFIG_PATH`;
/// without either, the nearest one above the executable that holds a configuration.
///
/// The working directory is not among them: it belongs to whatever the client works on, and must not decide which
/// programs a compiled-in relative command starts. Neither does a `.env` file, which is found through these folders.
pub fn folders() -> &'static [PathBuf] {
    static FOLDERS: OnceLock<Vec<PathBuf>> = OnceLock::new();
    FOLDERS.get_or_init(|| {
        let named = named(&env_vars::lookup);
        if named.is_empty() { above(&std::env::current_exe().unwrap_or_default()).into_iter().collect() } else { named }
    })
}

/// The folders that the environment names.
fn named(lookup: &dyn Fn(&str) -> Option<String>) -> Vec<PathBuf> {
    let get = |name| lookup(name).filter(|value| !value.trim_ascii().is_empty()).map(PathBuf::from);
    let beside = get(env_vars::MCP_CONFIG_PATH).and_then(|path| {
        let folder = path.parent()?.to_path_buf();
        Some(if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder })
    });
    get(env_vars::CONFIG_DIR).into_iter().chain(beside).collect()
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
            (None, None, &[][..]),
            (Some(""), Some(" "), &[]),
            (Some("conf"), Some("/srv/mcp.json"), &["conf", "/srv"]),
            (None, Some("/srv/mcp.json"), &["/srv"]),
            (None, Some("mcp.json"), &["."]),
        ] {
            let found = named(&|name| match name {
                env_vars::CONFIG_DIR => folder.map(str::to_owned),
                env_vars::MCP_CONFIG_PATH => file.map(str::to_owned),
                _ => None,
            });
            assert_eq!(found, expected.iter().map(PathBuf::from).collect::<Vec<_>>(), "{folder:?} {file:?}");
        }
    }

    #[test]
    fn a_binary_in_the_target_folder_finds_it() {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
        for path in ["target/debug/evokore", "target/x86_64-unknown-linux-gnu/release/evokore", "evokore"] {
            assert_eq!(above(&repository.join(path)).as_deref(), Some(repository), "{path}");
        }
        assert_eq!(above(Path::new("/usr/local/bin/evokore")), None);
        assert_eq!(above(Path::new("")), None);
    }
}
