//! `cargo codegen`.
fn main() {}
