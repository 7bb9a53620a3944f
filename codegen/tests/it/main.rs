//! Tests of the compiler as a whole.

#![expect(clippy::unwrap_used, reason = "a helper of tests fails by panicking")]

mod budgets;
mod build_script;
mod cli;
mod config;
mod dependencies;
mod environments;
mod fresh;
mod handed;
mod hostile;
mod limits;
mod locks;
mod natives;
mod oauth;
mod policy;
mod profiles;
mod rate_limits;
mod skills;
mod support;
