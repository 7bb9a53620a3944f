//! Consent to calls that the policy does not simply allow.
//!
//! A call whose access is `require_approval` never reaches a child server without an [`Approved`], and only
//! [`Approvals::check`] makes one.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::outcome::Outcome;
use crate::members::Members;

/// The argument that carries a token; it is removed before the child server sees the call.
pub const TOKEN_KEY: &str = "_evokore_approval_token";

/// Takes the approval token out of a call's arguments. Arguments without one stay the bytes they were.
pub(super) fn take_token(arguments: Option<&RawValue>) -> (Option<String>, Option<Cow<'_, str>>) {
    let Some(text) = arguments.map(RawValue::get) else { return (None, None) };
    if !text.contains(TOKEN_KEY) {
        return (None, Some(Cow::Borrowed(text)));
    }
    let Ok(mut members) = Members::parse(text) else { return (None, Some(Cow::Borrowed(text))) };
    match members.take(TOKEN_KEY) {
        None => (None, Some(Cow::Borrowed(text))),
        Some(token) => (serde_json::from_str(token.get()).ok(), Some(Cow::Owned(members.to_json()))),
    }
}

/// Proof that a person agreed to one call.
#[derive(Debug)]
pub struct Approved(());

/// Calls that wait for a person.
#[derive(Debug, Default)]
pub struct Approvals {}

impl Approvals {
    /// Checks the consent to one call.
    ///
    /// # Errors
    /// The answer that says how consent is given.
    pub fn check(&self, tool: &str, _arguments: Option<&str>, _token: Option<&str>) -> Result<Approved, Outcome> {
        Err(Outcome::error_text(&format!(
            "`{tool}` needs a person's approval, and nobody can give it in this session. Ask the user to run it, or to allow it in permissions.yml and rebuild"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_never_reaches_the_child() {
        for (text, token, rest) in [
            (r#"{"a": 1.10}"#, None, r#"{"a": 1.10}"#),
            (r#"{"a": 1.10,"_evokore_approval_token":"ab"}"#, Some("ab"), r#"{"a":1.10}"#),
            (r#"{"note":"_evokore_approval_token"}"#, None, r#"{"note":"_evokore_approval_token"}"#),
        ] {
            let raw: Box<RawValue> = serde_json::from_str(text).unwrap();
            let (found, arguments) = take_token(Some(&raw));
            assert_eq!((found.as_deref(), arguments.as_deref()), (token, Some(rest)), "{text}");
        }
    }
}
