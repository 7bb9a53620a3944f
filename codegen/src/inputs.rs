//! Every file the compiler reads, in sorted order, with its digest; and what a build has to watch.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::problem::Problem;
use crate::source::Source;
use crate::tokens::Known;

/// Where the inputs lie.
#[derive(Debug, Clone)]
pub struct Roots {
    /// The repository: native tools, `generated/`, and the configuration unless another folder is named.
    pub repository: PathBuf,
    /// Another configuration folder (`EVOKORE_CONFIG_DIR`).
    pub config_dir: Option<PathBuf>,
    /// Only these profiles (`EVOKORE_PROFILE_SET`), besides `default`.
    pub profile_set: Option<Vec<String>>,
}

impl Roots {
    /// The roots of a build of `repository`, with the variables `config_dir` and `profile_set` as the environment
    /// has them; an empty value counts as unset.
    pub fn new(repository: impl Into<PathBuf>, config_dir: Option<String>, profile_set: Option<String>) -> Roots {
        let repository = repository.into();
        let config_dir = config_dir.filter(|dir| !dir.trim().is_empty()).map(|dir| repository.join(dir));
        let names = profile_set.map(|set| {
            set.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect::<Vec<_>>()
        });
        Roots { repository, config_dir, profile_set: names.filter(|names| !names.is_empty()) }
    }

    /// The folder that holds `mcp.config.json`.
    pub fn config(&self) -> &Path {
        self.config_dir.as_deref().unwrap_or(&self.repository)
    }

    /// The folder of the locks.
    pub fn locks(&self) -> PathBuf {
        match &self.config_dir {
            Some(dir) => dir.join("locks"),
            None => self.repository.join("generated/locks"),
        }
    }

    /// The folder of the skills.
    pub fn skills(&self) -> PathBuf {
        self.config().join("SKILLS")
    }

    /// The committed token counts.
    pub fn token_counts(&self) -> PathBuf {
        self.repository.join("generated/token-counts.tsv")
    }

    /// What a build has to watch: files, and folders with all they hold.
    ///
    /// Cargo looks again with every build at what is watched and not there, so a policy that is added later is never
    /// missed; but it then compiles anew each time. Another folder of the configuration is watched as a whole instead,
    /// unless the repository with all that builds write lies in it.
    pub fn watched(&self) -> Vec<PathBuf> {
        let mut paths = vec![self.config().join(CONFIG), self.config().join(PERMISSIONS), self.skills(), self.locks()];
        let whole = self.config_dir.as_deref().filter(|folder| folder.is_dir() && !self.repository.starts_with(folder));
        if let Some(folder) = whole.filter(|_| !paths.iter().all(|path| path.exists())) {
            paths.retain(|path| path.exists());
            paths.push(folder.to_path_buf());
        }
        paths.push(self.repository.join(NATIVE));
        if self.token_counts().is_file() {
            paths.push(self.token_counts());
        }
        paths
    }
}

/// Name of the configuration file.
pub const CONFIG: &str = "mcp.config.json";
/// Name of the policy file.
pub const PERMISSIONS: &str = "permissions.yml";
/// Folder of the native definitions in the repository.
pub const NATIVE: &str = "src/native";

/// All inputs of one compilation.
#[derive(Debug, Clone)]
pub struct Inputs {
    /// `mcp.config.json`.
    pub config: Option<Source>,
    /// `permissions.yml`.
    pub permissions: Option<Source>,
    /// `src/native/*.tools.json`, sorted by path.
    pub native: Vec<Source>,
    /// Lock files, sorted by path.
    pub locks: Vec<Source>,
    /// Their folder, as their paths have it.
    pub locks_folder: &'static str,
    /// The folder of the skills.
    pub skills_dir: PathBuf,
    /// Only these profiles, besides `default`.
    pub profile_set: Option<Vec<String>>,
    /// Token counts known from earlier.
    pub known_counts: Known,
    /// Files that could not be read.
    pub problems: Vec<Problem>,
}

impl Inputs {
    /// Reads everything below `roots`. What cannot be read becomes a problem.
    pub fn read(roots: &Roots) -> Inputs {
        let mut problems = Vec::new();
        let config_path = roots.config().join(CONFIG);
        let config = read_source(&config_path, CONFIG, &mut problems);
        if config.is_none() && problems.is_empty() {
            problems.push(
                Problem::error(format!("there is no `{CONFIG}`"))
                    .in_file(CONFIG)
                    .hint("write one that holds `{}`, or name its folder in `EVOKORE_CONFIG_DIR`"),
            );
        }
        let permissions = read_source(&roots.config().join(PERMISSIONS), PERMISSIONS, &mut problems);
        problems.extend(passed_over(roots.config()));
        let native = read_folder(&roots.repository.join(NATIVE), NATIVE, ".tools.json", &mut problems);
        let shown = if roots.config_dir.is_some() { "locks" } else { "generated/locks" };
        let locks = read_folder(&roots.locks(), shown, ".json", &mut problems);
        Inputs {
            config,
            permissions,
            native,
            locks,
            locks_folder: shown,
            skills_dir: roots.skills(),
            profile_set: roots.profile_set.clone(),
            known_counts: Known::default(),
            problems,
        }
    }

    /// The files besides skills as `(path, digest)`, sorted by path.
    pub fn digests(&self) -> BTreeMap<String, String> {
        let single = self.config.iter().chain(&self.permissions);
        single.chain(&self.native).chain(&self.locks).map(|it| (it.path.clone(), it.sha256.clone())).collect()
    }
}

/// What looks like a policy and is not read: without the policy that somebody has written everything would be allowed.
fn passed_over(folder: &Path) -> Option<Problem> {
    if folder.join(PERMISSIONS).exists() {
        return None;
    }
    if fs::symlink_metadata(folder.join(PERMISSIONS)).is_ok_and(|about| about.is_symlink()) {
        let message = format!("`{PERMISSIONS}` is a link that leads nowhere");
        return Some(
            Problem::error(message).in_file(PERMISSIONS).hint("mend the link, or delete it to have no policy"),
        );
    }
    let is_alike = |name: &String| {
        let name = name.to_lowercase();
        name.trim_start_matches('.').starts_with("permission") && (name.contains(".yml") || name.contains(".yaml"))
    };
    let names =
        fs::read_dir(folder).into_iter().flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let found = names.filter(is_alike).min()?;
    let message = format!("there is no `{PERMISSIONS}`, but a `{found}`, which is not read");
    Some(
        Problem::error(message)
            .in_file(&found)
            .hint(format!("call it `{PERMISSIONS}`, or take it away to have no policy")),
    )
}

/// Reads `path`, called `shown` towards people. A file that is not there is no problem.
pub fn read_source(path: &Path, shown: &str, problems: &mut Vec<Problem>) -> Option<Source> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => {
            problems.push(Problem::error(format!("cannot read `{shown}`: {error}")).in_file(shown));
            return None;
        }
    };
    match Source::from_bytes(shown, &bytes) {
        Ok(source) => Some(source),
        Err(offset) => {
            let line = bytes[..offset].iter().filter(|byte| **byte == b'\n').count() + 1;
            problems.push(
                Problem::error(format!(
                    "`{shown}` is not UTF-8 text: line {line} holds the byte 0x{:02x}",
                    bytes[offset]
                ))
                .in_file(shown)
                .hint("save the file as UTF-8"),
            );
            None
        }
    }
}

/// Reads the files of `folder` whose names end in `ending`, sorted by name; not its subfolders.
fn read_folder(folder: &Path, shown: &str, ending: &str, problems: &mut Vec<Problem>) -> Vec<Source> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            problems.push(Problem::error(format!("cannot read the folder `{shown}`: {error}")).in_file(shown));
            return Vec::new();
        }
    };
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(ending))
        .collect();
    names.sort();
    names.iter().filter_map(|name| read_source(&folder.join(name), &format!("{shown}/{name}"), problems)).collect()
}
