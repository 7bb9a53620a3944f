//! A small configuration to break, and the texts of what is found in it.

use std::fs;
use std::path::{Path, PathBuf};

use evokore_codegen::inputs::Inputs;
use evokore_codegen::model::{Compilation, Counting, compile};
use evokore_codegen::source::Source;
use evokore_codegen::tokens::Known;

/// Native definitions of the small configuration.
pub(crate) const NATIVES: &str = r#"[
  {"name":"discover_tools","title":"Find","description":"Find tools.","inputSchema":{"type":"object"}},
  {"name":"describe_tool","title":"Show","description":"Show schemas.","inputSchema":{"type":"object"},
   "outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},
  {"name":"resolve_workflow","title":"Pick","description":"Pick a skill.","inputSchema":{"type":"object"}},
  {"name":"execute_skill","title":"Run","description":"Run a skill.","inputSchema":{"type":"object"}}
]"#;

/// A digest lock of server `fs`.
pub(crate) const FS_LOCK: &str = r#"{"lock":1,"kind":"digest","server":"fs","tools":[
  {"name":"read_file","sha256":"00","annotations":{"readOnlyHint":true},
   "tokens":{"cl100k_base":{"full":100,"deferred":50,"visible":80,"found":20},"o200k_base":{"full":110,"deferred":55,"visible":90,"found":21}}},
  {"name":"write_file","sha256":"01",
   "tokens":{"cl100k_base":{"full":200,"deferred":50,"visible":80,"found":20},"o200k_base":{"full":210,"deferred":55,"visible":90,"found":21}}}
]}"#;

/// A configuration with a locked and an unlocked server.
pub(crate) const CONFIG: &str = r#"{
  "servers": {
    "fs": { "command": "files" },
    "git": { "command": "git-server" }
  }
}
"#;

/// Inputs made of texts.
pub(crate) struct Small(pub(crate) Inputs);

impl Small {
    /// The small configuration with `config` as its `mcp.config.json`.
    pub(crate) fn new(config: &str) -> Small {
        Small(Inputs {
            config: Some(source("mcp.config.json", config)),
            permissions: None,
            native: vec![source("src/native/some.tools.json", NATIVES)],
            locks: vec![source("locks/fs.json", FS_LOCK)],
            locks_folder: "locks",
            skills_dir: PathBuf::from("/nowhere/SKILLS"),
            profile_set: None,
            known_counts: Known::default(),
            problems: Vec::new(),
        })
    }

    /// The same with a policy.
    pub(crate) fn policy(mut self, text: &str) -> Small {
        self.0.permissions = Some(source("permissions.yml", text));
        self
    }

    /// The same with one lock.
    pub(crate) fn lock(mut self, path: &str, text: &str) -> Small {
        self.0.locks = vec![source(path, text)];
        self
    }

    /// The same with these locks.
    pub(crate) fn locks(mut self, locks: &[(&str, &str)]) -> Small {
        self.0.locks = locks.iter().map(|(path, text)| source(path, text)).collect();
        self
    }

    /// The same with one file of native definitions.
    pub(crate) fn natives(mut self, text: &str) -> Small {
        self.0.native = vec![source("src/native/some.tools.json", text)];
        self
    }

    /// The same with a choice of profiles.
    pub(crate) fn only(mut self, profiles: &[&str]) -> Small {
        self.0.profile_set = Some(profiles.iter().map(|name| (*name).to_owned()).collect());
        self
    }

    /// The same with the skill file `path` (below the skills) holding `text`.
    pub(crate) fn skill(mut self, folder: &Path, path: &str, text: &str) -> Small {
        let file = folder.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
        self.0.skills_dir = folder.to_owned();
        self
    }

    /// The outcome.
    pub(crate) fn compile(&self) -> Compilation {
        compile(&self.0, Counting::Configured)
    }

    /// Everything that is found, as a person reads it.
    pub(crate) fn shown(&self) -> String {
        show(&self.compile())
    }
}

/// The problems of a compilation as a person reads them.
pub(crate) fn show(compilation: &Compilation) -> String {
    let problems: Vec<String> = compilation.problems.iter().map(ToString::to_string).collect();
    if problems.is_empty() { String::new() } else { problems.join("\n\n") + "\n" }
}

/// An input called `path`.
pub(crate) fn source(path: &str, text: &str) -> Source {
    Source::from_bytes(path, text.as_bytes()).unwrap()
}

/// An empty folder for one test.
pub(crate) fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    if folder.exists() {
        fs::remove_dir_all(&folder).unwrap();
    }
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The repository.
pub(crate) fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}
