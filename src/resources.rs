//! shim
use crate::app::App;
use serde_json::{Value, json};
pub fn list(_: &App) -> Value {
    json!({"resources": []})
}
pub fn templates() -> Value {
    json!({"resourceTemplates": []})
}
pub fn read(_: &App, _: &str) -> Option<Value> {
    None
}
