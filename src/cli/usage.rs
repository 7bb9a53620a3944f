//! Wrong command lines, told in the house's way: what is wrong, and what to do about it.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::error::Failure;

/// The failure for what clap found. Help and version are not failures and are handled before.
pub(crate) fn failure(error: &clap::Error) -> Failure {
    let get = |kind| error.get(kind).map(text).unwrap_or_default();
    let suggested = [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue]
        .into_iter()
        .map(get)
        .find(|text| !text.is_empty());
    let invalid = get(ContextKind::InvalidArg);
    let message = match error.kind() {
        ErrorKind::InvalidSubcommand => format!("there is no command `{}`", get(ContextKind::InvalidSubcommand)),
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            "a command is missing".to_owned()
        }
        ErrorKind::UnknownArgument => format!("unexpected argument `{invalid}`"),
        ErrorKind::MissingRequiredArgument => format!("`{invalid}` is missing"),
        ErrorKind::ArgumentConflict => {
            format!("`{invalid}` and `{}` exclude each other", get(ContextKind::PriorArg))
        }
        ErrorKind::InvalidValue if get(ContextKind::InvalidValue).is_empty() => format!("`{invalid}` needs a value"),
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            format!("`{}` is no value for `{invalid}`", get(ContextKind::InvalidValue))
        }
        ErrorKind::TooManyValues => format!("`{invalid}` takes no value"),
        _ => error.to_string().lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned(),
    };
    let known = get(ContextKind::ValidValue);
    let reason = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
    let usage = get(ContextKind::Usage);
    let usage = usage.trim_start_matches("Usage: ").trim();
    let hint = match suggested {
        Some(suggested) if !known.is_empty() => format!("did you mean `{suggested}`? Known: {known}"),
        Some(suggested) => format!("did you mean `{suggested}`?"),
        None if !known.is_empty() => format!("known: {known}"),
        None if !reason.is_empty() => reason,
        None if error.kind() == ErrorKind::InvalidSubcommand || usage.is_empty() => {
            "`evokore --help` lists the commands".to_owned()
        }
        None => format!("usage: {usage}"),
    };
    Failure::usage(message).hint(hint)
}

fn text(value: &ContextValue) -> String {
    match value {
        ContextValue::String(text) => text.clone(),
        ContextValue::Strings(texts) => texts.join(", "),
        ContextValue::StyledStr(text) => text.to_string(),
        ContextValue::StyledStrs(texts) => texts.first().map(ToString::to_string).unwrap_or_default(),
        ContextValue::Number(number) => number.to_string(),
        ContextValue::Bool(flag) => flag.to_string(),
        _ => String::new(),
    }
}
