//! evokore.

pub mod catalog;
