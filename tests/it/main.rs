//! Integration tests.

mod child;
mod cli;
mod clients;
mod env;
mod front;
mod pinned;
mod readme;
mod start;
