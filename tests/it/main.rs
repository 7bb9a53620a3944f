//! Integration tests.

mod clients;
