//! The compiler of the configuration.
