//! Scenarios: what a driver is told to do, and whether what it printed is what the scenario demands.

use std::fmt;
use std::path::Path;

use serde_json::{Map, Value};

use super::equipment::Sandbox;
use super::expect::{self, Earlier};

/// A client and the way it agrees on a protocol version.
#[derive(Debug, Clone, Copy)]
pub(super) struct Client {
    /// As `drive.sh` calls it.
    pub(super) name: &'static str,
    /// `legacy`, `auto` or `2026-07-28`.
    pub(super) mode: &'static str,
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.mode)
    }
}

impl Client {
    /// Whether `unless` of a step or an expectation names this client, alone or with its mode.
    fn is_exempt(self, part: &Map<String, Value>) -> bool {
        let names = part.get("unless").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        names.iter().any(|name| *name == self.name || *name == self.to_string())
    }

    /// The version that the client and evokore must agree on.
    fn version(self) -> &'static str {
        if self.mode == "legacy" { "2025-11-25" } else { "2026-07-28" }
    }

    /// The Inspector reports errors in words of its own, without the code that it got.
    fn hides_codes(self) -> bool {
        self.name.starts_with("inspector")
    }
}

/// The steps of a scenario that one client takes.
#[derive(Debug)]
pub(super) struct Scenario {
    /// The steps, as the driver reads them.
    pub(super) steps: Vec<Map<String, Value>>,
    /// Variables for the server.
    pub(super) env: Vec<(String, String)>,
}

impl Scenario {
    /// Reads `tests/clients/scenarios/<name>.json`, without the steps that `client` is exempt from.
    pub(super) fn read(name: &str, client: Client, sandbox: &Sandbox) -> Scenario {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/scenarios").join(format!("{name}.json"));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let text = text.replace("${EVOKORE_IT_SANDBOX}", &sandbox.path().to_string_lossy());
        let scenario: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let steps = scenario["steps"].as_array().expect("a list of steps").iter();
        let env = scenario["env"].as_object().into_iter().flatten();
        Scenario {
            steps: steps
                .map(|step| step.as_object().expect("a step is an object").clone())
                .filter(|step| !client.is_exempt(step))
                .collect(),
            env: env.map(|(name, value)| (name.clone(), value.as_str().expect("a text").to_owned())).collect(),
        }
    }

    /// Everything in the driver's lines that is not as the scenario demands.
    pub(super) fn compare(&self, client: Client, lines: &[Value]) -> Vec<String> {
        let mut problems = Vec::new();
        if lines.len() != self.steps.len() {
            problems.push(format!("{} of {} steps were run", lines.len(), self.steps.len()));
        }
        let mut earlier = Earlier::new();
        for (number, (step, line)) in self.steps.iter().zip(lines).enumerate() {
            let what = step.get("name").or(step.get("uri")).and_then(Value::as_str).unwrap_or_default();
            let label = format!("step {number} {} {what}", step["do"].as_str().unwrap_or_default());
            let found = compare_step(client, step, line, &earlier);
            problems.extend(found.into_iter().map(|problem| format!("{}: {problem}", label.trim_end())));
            if let Some(name) = step.get("as").and_then(Value::as_str) {
                earlier.insert(name.to_owned(), line["result"].clone());
            }
        }
        problems
    }
}

fn compare_step(client: Client, step: &Map<String, Value>, line: &Value, earlier: &Earlier) -> Vec<String> {
    if line.get("skipped").is_some() {
        return Vec::new();
    }
    if let Some(wanted) = step.get("fails") {
        return compare_failure(client, wanted, line);
    }
    if line["ok"] != true {
        return vec![format!("{} {}", line["error"], line["protocolErrors"])];
    }
    let mut problems = Vec::new();
    if step["do"] == "connect" && line["result"]["protocolVersion"] != client.version() {
        problems.push(format!("agreed on {}, not on {}", line["result"]["protocolVersion"], client.version()));
    }
    let expectations = step.get("expect").and_then(Value::as_array).into_iter().flatten();
    for expectation in expectations.filter_map(Value::as_object).filter(|it| !client.is_exempt(it)) {
        problems.extend(expect::check(expectation, &line["result"], earlier));
    }
    problems
}

/// A step that must fail must do so by an answer of the server's, not by a time-out, a broken connection or an answer
/// that the SDK cannot read.
fn compare_failure(client: Client, wanted: &Value, line: &Value) -> Vec<String> {
    let error = &line["error"];
    let kind = error["kind"].as_str().unwrap_or_default();
    let answered = kind == "rpc" || (client.hides_codes() && kind == "client");
    if line["ok"] == true || !answered || line.get("protocolErrors").is_some() {
        return vec![format!("should have been refused with {wanted}, but: {line}")];
    }
    let hidden = client.hides_codes() && error.get("code").is_none();
    let code = wanted.get("code").is_none_or(|code| hidden || error["code"] == *code);
    let text = wanted["text"].as_str().unwrap_or_default();
    if code && error["message"].as_str().unwrap_or_default().contains(text) {
        return Vec::new();
    }
    vec![format!("should have been refused with {wanted}, but: {error}")]
}
