//! The token that a caller carries, and what it is bound to.

use std::borrow::Cow;

use evokore_catalog::canonical::exact;
use evokore_catalog::members::Members;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::calls::state::Bound;

pub use evokore_catalog::advertise::TOKEN_KEY;

/// Takes the approval token out of a call's arguments. Arguments without one stay the bytes they were.
pub(in crate::calls) fn take_token(arguments: Option<&RawValue>) -> (Option<String>, Option<Cow<'_, str>>) {
    let Some(text) = arguments.map(RawValue::get) else { return (None, None) };
    // A key may be spelt with escapes, so only a text without any backslash can be judged by its bytes.
    if !text.contains(TOKEN_KEY) && !text.contains('\\') {
        return (None, Some(Cow::Borrowed(text)));
    }
    let Ok(mut members) = Members::parse(text) else { return (None, Some(Cow::Borrowed(text))) };
    match members.take(TOKEN_KEY) {
        None => (None, Some(Cow::Borrowed(text))),
        Some(token) => {
            while members.take(TOKEN_KEY).is_some() {}
            (serde_json::from_str(token.get()).ok(), Some(Cow::Owned(members.to_json())))
        }
    }
}

/// The approval token in the `_meta` of a request.
pub(crate) fn token_in(meta: &Members<'_>) -> Option<String> {
    serde_json::from_str(meta.last(TOKEN_KEY)?.get()).ok()
}

/// Binds a token to the tool, its definition where that counts, and its arguments, whatever the order of their keys.
pub(in crate::calls) fn digest(bound: Bound<'_>) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(bound.what.as_bytes());
    hash.update([0, u8::from(bound.definition.is_some())]);
    if let Some(definition) = bound.definition {
        hash.update(Sha256::digest(definition));
    }
    let text = bound.arguments.unwrap_or("{}");
    // What has no such spelling counts as it is.
    hash.update(exact(text).as_deref().unwrap_or(text).as_bytes());
    hash.finalize().into()
}
