//! shim
use super::NativeResult;
use crate::calls::CallContext;
use serde_json::{Map, Value};
type R = Result<NativeResult, NativeResult>;
pub(super) fn search_skills(_: &Map<String, Value>, _: &CallContext) -> R {
    Err(NativeResult::error(""))
}
pub(super) fn resolve_workflow(_: &Map<String, Value>, _: &CallContext) -> R {
    Err(NativeResult::error(""))
}
pub(super) fn get_skill_help(_: &Map<String, Value>, _: &CallContext) -> R {
    Err(NativeResult::error(""))
}
pub(super) fn execute_skill(_: &Map<String, Value>, _: &CallContext) -> R {
    Err(NativeResult::error(""))
}
pub(super) async fn refresh_skills(_: &Map<String, Value>, _: &CallContext) -> R {
    Err(NativeResult::error(""))
}
