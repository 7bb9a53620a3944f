//! evokore.

pub mod catalog;
pub mod dotenv;
pub mod env_vars;
