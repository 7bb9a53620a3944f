//! Native tools: from the generated enum to their handlers. A declared tool without a handler does not compile.

pub mod arguments;
mod discovery;
pub(crate) mod skills;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::calls::CallContext;
use crate::calls::outcome::Outcome;
use crate::catalog::NativeTool;

/// What a native tool answers.
#[derive(Debug)]
pub struct NativeResult {
    text: String,
    /// JSON of `structuredContent`.
    structured: Option<String>,
    is_error: bool,
}

impl NativeResult {
    /// A result with a text for people and models and the same as data.
    pub fn ok(text: impl Into<String>, structured: &impl Serialize) -> NativeResult {
        match serde_json::to_string(structured) {
            Ok(json) => NativeResult { text: text.into(), structured: Some(json), is_error: false },
            Err(error) => NativeResult::error(format!("the answer cannot be written as JSON: {error}")),
        }
    }

    /// A result whose text is its data as JSON.
    pub fn json(json: String) -> NativeResult {
        NativeResult { text: json.clone(), structured: Some(json), is_error: false }
    }

    /// A failure that the model should act on.
    pub fn error(text: impl Into<String>) -> NativeResult {
        NativeResult { text: text.into(), structured: None, is_error: true }
    }

    /// The answer as bytes.
    pub fn into_outcome(self) -> Outcome {
        let mut out = String::with_capacity(self.text.len() * 2 + 64);
        out.push_str("{\"content\":[{\"type\":\"text\",\"text\":");
        out.push_str(&Value::from(self.text).to_string());
        out.push_str("}]");
        if let Some(json) = &self.structured {
            out.push_str(",\"structuredContent\":");
            out.push_str(json);
        }
        if self.is_error {
            out.push_str(",\"isError\":true");
        }
        out.push('}');
        Outcome::Result(out.into())
    }
}

/// Calls a native tool.
pub async fn call(tool: NativeTool, arguments: &Map<String, Value>, ctx: &CallContext) -> NativeResult {
    let answer = match tool {
        NativeTool::DiscoverTools => discovery::discover_tools(arguments, ctx),
        NativeTool::DescribeTool => discovery::describe_tool(arguments, ctx),
        NativeTool::ProxyServerStatus => discovery::proxy_server_status(arguments, ctx),
        // `calls` opens it before it gets here.
        NativeTool::CallTool => Err(NativeResult::error("call_tool cannot call itself")),
        NativeTool::SearchSkills => skills::search_skills(arguments, ctx),
        NativeTool::ResolveWorkflow => skills::resolve_workflow(arguments, ctx),
        NativeTool::GetSkillHelp => skills::get_skill_help(arguments, ctx),
        NativeTool::ExecuteSkill => skills::execute_skill(arguments, ctx),
        NativeTool::RefreshSkills => skills::refresh_skills(arguments, ctx).await,
    };
    answer.unwrap_or_else(|error| error)
}
