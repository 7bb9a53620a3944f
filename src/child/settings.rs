//! What the process decides for all its child servers. Everything from outside comes in through here, so that
//! nothing below reads the environment or writes to stderr by itself.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Looks a variable up; `None` if it is not set.
pub type Lookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;
/// The names of the variables that are set.
pub type Names = Arc<dyn Fn() -> Vec<String> + Send + Sync>;
/// Takes one line for the people who watch stderr.
pub type Say = Arc<dyn Fn(&str) + Send + Sync>;

/// Limits and surroundings of child servers.
#[derive(Clone)]
pub struct ChildSettings {
    /// From start to the first list, unless the server's entry says otherwise.
    pub boot_timeout: Duration,
    /// One call without an answer or progress, unless the server's entry says otherwise.
    pub call_timeout: Duration,
    /// Bytes of one result of a call, unless the server's entry says otherwise.
    pub max_result: usize,
    /// Bytes of a whole list.
    pub max_list: usize,
    /// Servers that boot at the same time; the others wait for their turn.
    pub concurrent_boots: usize,
    /// Where relative commands and working directories start: the folder of the configuration.
    pub base: PathBuf,
    /// The executable that becomes the guard of the children, who must not outlive us; `None` for no guard. It is
    /// evokore's own, started with the argument `__guard`. Only Unix has one.
    pub guard: Option<OsString>,
    /// Variables for placeholders and for the children's environment.
    pub lookup: Lookup,
    /// The variables that `lookup` knows, for entries that inherit by the beginning of a name. None by default.
    pub names: Names,
    /// Where the lines about boots and failures go.
    pub say: Say,
}

impl ChildSettings {
    /// Defaults: 30 s to boot, 60 s for a call, 64 MiB for a result and for a list, 8 boots at the same time, relative to the working directory,
    /// no guard.
    pub fn new(lookup: Lookup, say: Say) -> ChildSettings {
        ChildSettings {
            boot_timeout: Duration::from_secs(30),
            call_timeout: Duration::from_secs(60),
            max_result: 64 << 20,
            max_list: 64 << 20,
            concurrent_boots: 8,
            base: PathBuf::from("."),
            guard: None,
            lookup,
            names: Arc::new(Vec::new),
            say,
        }
    }
}

impl fmt::Debug for ChildSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChildSettings")
            .field("boot_timeout", &self.boot_timeout)
            .field("call_timeout", &self.call_timeout)
            .field("max_result", &self.max_result)
            .field("max_list", &self.max_list)
            .field("base", &self.base)
            .finish_non_exhaustive()
    }
}
