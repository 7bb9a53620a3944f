//! Long runs of base64.

use super::{Level, Spot};

/// Characters from which on a run is no identifier, digest or key of an example.
const LONG: usize = 80;

/// The first long run of base64 in `text`: a danger when it hides a text.
pub(super) fn of(text: &str) -> Option<Spot> {
    if text.len() < LONG {
        return None;
    }
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_');
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut found = None;
    while at < bytes.len() {
        let len = bytes[at..].iter().take_while(|byte| is_base64(**byte)).count();
        if len >= LONG && is_mixed(&bytes[at..at + len]) {
            if hides_text(&bytes[at..at + len]) {
                return Some((Level::Danger, at, "a text hidden in base64".to_owned()));
            }
            found = found.or(Some((Level::Notice, at, "a long run of base64".to_owned())));
        }
        at += len.max(1);
    }
    found
}

/// Upper case, lower case and digits: not a long path, nor a digest.
fn is_mixed(run: &[u8]) -> bool {
    run.iter().any(u8::is_ascii_uppercase)
        && run.iter().any(u8::is_ascii_lowercase)
        && run.iter().any(u8::is_ascii_digit)
}

/// Whether the run decodes to words.
fn hides_text(run: &[u8]) -> bool {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        _ => 63,
    };
    let mut decoded = Vec::with_capacity(run.len() / 4 * 3);
    for group in run.chunks_exact(4) {
        let bits = group.iter().fold(0_u32, |bits, byte| bits << 6 | u32::from(digit(*byte)));
        decoded.extend_from_slice(&bits.to_be_bytes()[1..]);
    }
    let readable = decoded.iter().filter(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')).count();
    readable * 20 >= decoded.len() * 19 && decoded.contains(&b' ')
}
