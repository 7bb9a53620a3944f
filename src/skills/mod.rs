//! shim
#[derive(Default)]
pub struct Library;
