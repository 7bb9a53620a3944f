//! shim
use crate::app::App;
use serde_json::{Map, Value, json};
pub fn list() -> Value {
    json!({"prompts": []})
}
pub fn get(_: &App, _: &str, _: &Map<String, Value>) -> Result<Value, String> {
    Err("no".into())
}
pub fn complete(_: &App, _: &Value, _: &str, _: &str) -> Value {
    json!({"completion": {"values": []}})
}
