//! evokore.

pub mod catalog;
pub mod child;
pub mod dotenv;
pub mod env_vars;
