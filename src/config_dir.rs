//! The folder of the configuration at run time. What it holds is compiled in; it is still where `.env` lies, where
//! relative commands of child servers start, what `refresh_skills` reads and `evokore doctor` compares.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::env_vars;

/// Name of the configuration file.
pub const CONFIG: &str = "mcp.config.json";

/// The folder, or `None` when nothing tells: the first of [`folders`].
pub fn find() -> Option<&'static Path> {
    folders().first().map(PathBuf::as_path)
}

/// The folders that may hold the configuration, best first: `EVOKORE_CONFIG_DIR`, that of `EVOKORE_MCP_CONFIG_PATH`;
/// without either, where a configuration lies beside the executable or beside the `target` folder it was built in.
///
/// The working directory is not among them: it belongs to whatever the client works on, and must not decide which
/// programs a compiled-in relative command starts. Neither does a `.env` file, which is found through these folders.
pub fn folders() -> &'static [PathBuf] {
    static FOLDERS: OnceLock<Vec<PathBuf>> = OnceLock::new();
    FOLDERS.get_or_init(|| {
        let named = named(&env_vars::lookup);
        if named.is_empty() {
            around(&std::env::current_exe().unwrap_or_default()).into_iter().collect()
        } else {
            named
        }
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

/// The folder that `executable` lies in or was built in, if it holds a configuration. Other folders above it are not
/// asked: a file in `/tmp` or in a home must not become the configuration of whatever lies further down.
fn around(executable: &Path) -> Option<PathBuf> {
    let target = executable.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == "target"));
    let folders = [executable.parent(), target.and_then(Path::parent)].into_iter().flatten();
    folders.filter(|folder| folder.join(CONFIG).is_file()).map(Path::to_path_buf).next()
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
            assert_eq!(around(&repository.join(path)).as_deref(), Some(repository), "{path}");
        }
        for path in [&repository.join("src/evokore"), Path::new("/usr/local/bin/evokore"), Path::new("")] {
            assert_eq!(around(path), None, "{}", path.display());
        }
    }
}
