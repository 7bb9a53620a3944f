//! What the benches share: the executable they measure, its peers, and figures.

#![allow(dead_code, clippy::allow_attributes, reason = "each bench uses its part of it")]

pub(crate) mod echo;
pub(crate) mod peer;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) type Fallible<T> = Result<T, Box<dyn Error>>;

/// Whether the command line has this flag.
pub(crate) fn has(flag: &str) -> bool {
    std::env::args().any(|argument| argument == flag)
}

/// The static executable with the configuration of the benches.
pub(crate) fn build_evokore() -> Fallible<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("startup");
    let status = Command::new(env!("CARGO"))
        .args(["static", "--quiet", "--target-dir"])
        .arg(&target)
        .env("EVOKORE_CONFIG_DIR", "benches/config")
        .env_remove("RUSTFLAGS")
        .current_dir(root)
        .status()?;
    if !status.success() {
        return Err("`cargo static` failed".into());
    }
    Ok(target.join("x86_64-unknown-linux-gnu/release/evokore"))
}

/// A fresh copy of a program, as installing makes one. In what pieces a file lies in the system's memory depends on who
/// wrote it, and a linker writes it in small ones: evokore as linked has 100 page faults, its copy 88.
pub(crate) fn install(program: &Path) -> Fallible<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("installed");
    std::fs::create_dir_all(&folder)?;
    let copy = folder.join(program.file_name().ok_or("a program has a name")?);
    // Not written over: that would keep the pieces of the file that is there.
    if copy.exists() {
        std::fs::remove_file(&copy)?;
    }
    std::fs::copy(program, &copy)?;
    Ok(copy)
}

/// Keeps this process and all it starts on one core until it is dropped, where the system can: moving between cores
/// costs more than what is measured, and falls on one program or the other by chance.
pub(crate) struct OneCore {
    #[cfg(target_os = "linux")]
    before: Option<rustix::thread::CpuSet>,
}

impl OneCore {
    #[cfg(target_os = "linux")]
    pub(crate) fn pin() -> OneCore {
        use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
        let Ok(allowed) = sched_getaffinity(None) else { return OneCore { before: None } };
        let last = (0..CpuSet::MAX_CPU).rev().find(|cpu| allowed.is_set(*cpu));
        let mut one = CpuSet::new();
        last.into_iter().for_each(|cpu| one.set(cpu));
        // Without it the figures are noisier, not wrong.
        let _ = sched_setaffinity(None, &one);
        OneCore { before: Some(allowed) }
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn pin() -> OneCore {
        OneCore {}
    }
}

impl Drop for OneCore {
    fn drop(&mut self) {
        #[cfg(target_os = "linux")]
        if let Some(before) = &self.before {
            let _ = rustix::thread::sched_setaffinity(None, before);
        }
    }
}

/// The value below which `share` of all values lie.
pub(crate) fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = (values.len() as f64 * share) as usize;
    values.get(at.min(values.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
}

pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    quantile(values.into_iter().collect(), 0.5)
}
