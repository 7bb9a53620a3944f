//! The lock files, and recordings that are read instead of asking a server.

use std::fs;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use evokore_catalog::lock::diff::{Change, Difference, Side};
use evokore_catalog::lock::file::LockFile;
use evokore_catalog::render::minify;
use evokore_catalog::server::LockKind;

use crate::cli::output::number;
use crate::config_dir;
use crate::env_vars;
use crate::error::Failure;

/// Larger files are no recordings.
const MAX_BYTES: u64 = 256 << 20;

/// The folder of the locks.
pub(super) struct Folder(PathBuf);

/// A lock that has been read.
pub(super) struct Known {
    text: String,
    kind: LockKind,
    server: Option<String>,
    tools: Vec<Tool>,
}

struct Tool {
    name: String,
    sha256: String,
    definition: Option<String>,
}

impl Folder {
    /// Where a build of this configuration looks for locks: in the repository `generated/locks`, in any other folder
    /// `locks`.
    ///
    /// # Errors
    /// There is no configuration here.
    pub(super) fn find() -> Result<Folder, Failure> {
        let here = || Some(Path::new(".")).filter(|here| here.join(config_dir::CONFIG).is_file());
        let folder = config_dir::find().or_else(here).ok_or_else(|| {
            Failure::usage("there is no configuration folder here to put a lock into")
                .hint(format!("name it in `{}`, or print the lock with `--stdout`", env_vars::CONFIG_DIR))
        })?;
        let generated = folder.join("generated");
        Ok(Folder(if generated.is_dir() { generated } else { folder.to_path_buf() }.join("locks")))
    }

    /// The lock of server `id`, if there is one.
    ///
    /// # Errors
    /// It cannot be read, or is no lock.
    pub(super) fn read(&self, id: &str) -> Result<Option<Known>, Failure> {
        let path = self.path(id);
        match fs::read_to_string(&path) {
            Ok(text) => Known::parse(&text, &path.display().to_string()).map(Some),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Failure::runtime(format!("cannot read `{}`: {error}", path.display()))),
        }
    }

    /// Writes the lock of server `id`, whole or not at all; where it lies.
    ///
    /// # Errors
    /// What the file system says.
    pub(super) fn write(&self, id: &str, text: &str) -> Result<PathBuf, Failure> {
        let path = self.path(id);
        let beside = self.0.join(format!(".{id}.json.{}.tmp", std::process::id()));
        let written = fs::create_dir_all(&self.0)
            .and_then(|()| fs::write(&beside, text))
            .and_then(|()| fs::rename(&beside, &path));
        if let Err(error) = written {
            // The first error is the one to tell.
            let _ = fs::remove_file(&beside);
            return Err(Failure::runtime(format!("cannot write `{}`: {error}", path.display())));
        }
        Ok(path)
    }

    fn path(&self, id: &str) -> PathBuf {
        self.0.join(format!("{id}.json"))
    }
}

impl Known {
    /// Reads a lock; `shown` is what it is called towards people.
    ///
    /// # Errors
    /// It is no lock of a known format.
    pub(super) fn parse(text: &str, shown: &str) -> Result<Known, Failure> {
        let unusable = |error: String| {
            Failure::usage(format!("`{shown}` is no lock: {error}")).hint("delete it, and make the lock anew")
        };
        let file = LockFile::parse(text).map_err(|error| unusable(error.to_string()))?;
        let kind = file.kind().map_err(unusable)?;
        let tools = file.tools.into_iter().map(|entry| Tool {
            definition: entry.definition.map(|raw| raw.get().to_owned()),
            name: entry.name,
            sha256: entry.sha256,
        });
        Ok(Known {
            text: text.to_owned(),
            kind,
            server: file.server_info.map(|info| format!("{} {}", info.name, info.version)),
            tools: tools.collect(),
        })
    }

    /// The whole file.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// What it holds.
    pub(super) fn kind(&self) -> LockKind {
        self.kind
    }

    /// What the server called itself.
    pub(super) fn server(&self) -> Option<String> {
        self.server.clone()
    }

    /// How many tools it holds.
    pub(super) fn tools(&self) -> usize {
        self.tools.len()
    }

    /// Its tools, to be compared.
    pub(super) fn sides(&self) -> Vec<Side<'_>> {
        self.tools
            .iter()
            .map(|tool| Side { name: &tool.name, sha256: &tool.sha256, definition: tool.definition.as_deref() })
            .collect()
    }

    /// Bytes of a tool's definition before and after, as they are sent. What that is in tokens the build counts.
    pub(super) fn cost(&self, after: &Known, difference: &Difference) -> Option<String> {
        let of = |known: &Known, name: &str| {
            let tool = known.tools.iter().find(|tool| tool.name == name)?;
            tool.definition.as_deref().map(|definition| minify(definition).len())
        };
        let name = difference.name.as_str();
        let before = match &difference.change {
            Change::Renamed { from } => of(self, from),
            _ => of(self, name),
        };
        match (before, of(after, name)) {
            (Some(before), Some(after)) if before == after => None,
            (Some(before), Some(after)) => Some(format!("{} -> {} bytes", number(before), number(after))),
            (None, Some(bytes)) | (Some(bytes), None) => Some(format!("{} bytes", number(bytes))),
            (None, None) => None,
        }
    }
}

/// A recording; `-` is stdin.
///
/// # Errors
/// It cannot be read.
pub(super) fn recorded(path: &Path) -> Result<String, Failure> {
    let cannot = |error: std::io::Error| Failure::usage(format!("cannot read `{}`: {error}", path.display()));
    let mut text = String::new();
    if path == Path::new("-") {
        std::io::stdin().lock().take(MAX_BYTES).read_to_string(&mut text).map_err(cannot)?;
    } else {
        fs::File::open(path).and_then(|file| file.take(MAX_BYTES).read_to_string(&mut text)).map_err(cannot)?;
    }
    Ok(text)
}
