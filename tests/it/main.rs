//! Integration tests.

mod child;
mod cli;
mod clients;
mod env;
mod readme;
mod start;
