//! How a command ends: the exit codes, and errors as a person reads them.

use std::fmt;
use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It did what it was asked.
    Ok,
    /// A check found something.
    Found,
    /// The command line or the configuration is wrong.
    Usage,
    /// Something failed on the way.
    Runtime,
}

impl Exit {
    /// The code towards the system.
    pub fn code(self) -> u8 {
        match self {
            Exit::Ok => 0,
            Exit::Found => 1,
            Exit::Usage => 2,
            Exit::Runtime => 3,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// Why a command could not do what it was asked. Prints as `error: …` and, if there is one, `hint: …`.
#[derive(Debug)]
pub struct Failure {
    /// How the process ends.
    pub exit: Exit,
    message: String,
    hint: String,
}

impl Failure {
    /// The command line, the environment or a file of the user's is wrong.
    pub fn usage(message: impl Into<String>) -> Failure {
        Failure { exit: Exit::Usage, message: message.into(), hint: String::new() }
    }

    /// What was asked for was done, and its answer is no.
    pub fn found(message: impl Into<String>) -> Failure {
        Failure { exit: Exit::Found, ..Failure::usage(message) }
    }

    /// Something failed on the way.
    pub fn runtime(message: impl Into<String>) -> Failure {
        Failure { exit: Exit::Runtime, ..Failure::usage(message) }
    }

    /// The same with what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Failure {
        self.hint = hint.into();
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        if self.hint.is_empty() { Ok(()) } else { write!(f, "\nhint: {}", self.hint) }
    }
}

impl std::error::Error for Failure {}
