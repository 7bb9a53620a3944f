//! evokore.
