//! What a scenario demands of a step's result: a path into the JSON, and conditions on the values found there.
//!
//! A path is a list of member names and array positions, each after a `/`; `*` stands for every element.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Results of earlier steps by their label.
pub(super) type Earlier = BTreeMap<String, Value>;

/// The values at `path`; none where it leads nowhere.
pub(super) fn at<'a>(value: &'a Value, path: &str) -> Vec<&'a Value> {
    path.split('/').skip(1).fold(vec![value], |found, part| {
        let step = |value: &'a Value| -> Vec<&'a Value> {
            match (part, value) {
                ("*", Value::Array(items)) => items.iter().collect(),
                (name, Value::Object(members)) => members.get(name).into_iter().collect(),
                (index, Value::Array(items)) => {
                    index.parse().ok().and_then(|at: usize| items.get(at)).into_iter().collect()
                }
                _ => Vec::new(),
            }
        };
        found.into_iter().flat_map(step).collect()
    })
}

/// Checks one expectation against a result; the answer is what is wrong, one entry for each condition not met.
pub(super) fn check(expectation: &Map<String, Value>, result: &Value, earlier: &Earlier) -> Vec<String> {
    let path = expectation.get("path").and_then(Value::as_str).unwrap_or_default();
    let found = at(result, path);
    let conditions = expectation.iter().filter(|(name, _)| !matches!(name.as_str(), "path" | "unless"));
    let mut problems: Vec<String> = conditions
        .clone()
        .filter(|(name, wanted)| !is_met(name, wanted, &found, path, earlier))
        .map(|(name, wanted)| format!("`{path}`: expected {name} {wanted}, found {}", shown(&found)))
        .collect();
    if conditions.count() == 0 {
        problems.push(format!("`{path}`: the expectation states no condition"));
    }
    problems
}

fn is_met(name: &str, wanted: &Value, found: &[&Value], path: &str, earlier: &Earlier) -> bool {
    let list = || wanted.as_array().map(Vec::as_slice).unwrap_or_default();
    let number = || wanted.as_u64().unwrap_or_default();
    let count = u64::try_from(found.len()).unwrap_or(u64::MAX);
    let before = || wanted.as_str().and_then(|label| earlier.get(label)).map(|result| at(result, path));
    match name {
        "has" => list().iter().all(|value| found.contains(&value)),
        "lacks" => !list().iter().any(|value| found.contains(&value)),
        "only" => !found.is_empty() && found.iter().all(|value| list().contains(value)),
        "min" => count >= number(),
        "max" => count <= number(),
        "at_most" => !found.is_empty() && found.iter().all(|value| value.as_u64().is_some_and(|it| it <= number())),
        "text" => {
            list().iter().filter_map(Value::as_str).all(|part| found.iter().any(|value| text(value).contains(part)))
        }
        "more_than" => before().is_some_and(|before| found.len() > before.len()),
        "same_as" => before().is_some_and(|before| !found.is_empty() && found == before),
        _ => false,
    }
}

/// A string as it is, anything else as JSON.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn shown(found: &[&Value]) -> String {
    let all = Value::from(found.iter().copied().cloned().collect::<Vec<_>>()).to_string();
    match all.char_indices().nth(600) {
        Some((end, _)) => format!("{}… ({} values)", &all[..end], found.len()),
        None => all,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn conditions_can_fail_and_hold() {
        let result = json!({"tools": [{"name": "a"}, {"name": "b"}], "ms": 12, "note": "water the plants"});
        let earlier = Earlier::from([
            ("less".to_owned(), json!({"tools": [{"name": "a"}]})),
            ("same".to_owned(), json!({"tools": [{"name": "a"}, {"name": "b"}]})),
        ]);
        let names = "/tools/*/name";
        let cases = [
            (names, "has", json!(["a"]), true),
            (names, "has", json!(["c"]), false),
            (names, "lacks", json!(["c"]), true),
            (names, "lacks", json!(["a"]), false),
            (names, "only", json!(["a", "b"]), true),
            (names, "only", json!(["a"]), false),
            ("/nothing", "only", json!(["a"]), false),
            (names, "min", json!(2), true),
            (names, "min", json!(3), false),
            (names, "max", json!(2), true),
            (names, "max", json!(1), false),
            ("/ms", "at_most", json!(12), true),
            ("/ms", "at_most", json!(11), false),
            ("/note", "text", json!(["water", "plants"]), true),
            ("/note", "text", json!(["fire"]), false),
            ("/tools/0/name", "only", json!(["a"]), true),
            (names, "more_than", json!("less"), true),
            (names, "more_than", json!("same"), false),
            (names, "same_as", json!("same"), true),
            (names, "same_as", json!("less"), false),
            (names, "same_as", json!("never said"), false),
            (names, "haz", json!(["a"]), false),
        ];
        for (path, condition, wanted, holds) in cases {
            let expectation = json!({"path": path, condition: wanted});
            let problems = check(expectation.as_object().unwrap(), &result, &earlier);
            assert_eq!(problems.is_empty(), holds, "{expectation}: {problems:?}");
        }
        assert_eq!(check(json!({"path": names}).as_object().unwrap(), &result, &earlier).len(), 1);
    }
}
