//! `inheritEnv` of a server: which variables of evokore's own environment it gets.

use jsonc_parser::ast::Value;

use crate::json::{Reader, span};
use crate::problem::Problem;

/// How evokore's own variables begin, which no child server gets from it.
const OWN: &str = "EVOKORE_";

/// What stands for every variable.
const EVERYTHING: &str = "*";

/// Reads `value`, known as `what`: names, beginnings with `*` behind them, or `true` for everything.
pub(super) fn read(reader: &mut Reader<'_>, what: &str, value: &Value<'_>) -> Vec<String> {
    let names = match value {
        Value::BooleanLit(all) if all.value => vec![EVERYTHING.to_owned()],
        Value::BooleanLit(_) => Vec::new(),
        Value::Array(_) => named(reader, what, value),
        _ => {
            reader.wrong(what, "a list of names, or true for every variable", value);
            Vec::new()
        }
    };
    if names.iter().any(|name| name == EVERYTHING) {
        reader.report(
            Problem::note(format!("{what} hands every variable of the environment to this server, secrets too"))
                .hint("list the names that it needs"),
            span(value),
        );
    }
    names
}

fn named(reader: &mut Reader<'_>, what: &str, value: &Value<'_>) -> Vec<String> {
    let mut names = Vec::new();
    for name in reader.texts(what, value).unwrap_or_default() {
        let stem = name.value.strip_suffix('*').unwrap_or(&name.value);
        let problem = if name.value.to_ascii_uppercase().starts_with(OWN) {
            Problem::error(format!("{what} names `{}`, and variables of evokore's own are not handed on", name.value))
                .hint("write it into `env`, as in \"NAME\": \"${EVOKORE_…}\", if this server is meant to have it")
        } else if name.value.is_empty() || stem.contains(['*', '=', '$', '{', ' ']) {
            Problem::error(format!("{what} names `{}`, which is no variable", name.value))
                .hint("write a name such as \"AWS_REGION\", a beginning such as \"AWS_*\", or \"*\" for every variable")
        } else {
            names.push(name.value);
            continue;
        };
        reader.report(problem, name.range);
    }
    names
}
