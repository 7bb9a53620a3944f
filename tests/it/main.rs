//! Integration tests.

mod child;
mod clients;
