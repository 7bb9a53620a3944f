//! Diagnostics: one line each on stderr, prefixed, with control characters and what is not seen escaped. stdout belongs to the protocol.

use std::io::Write as _;

/// Writes one diagnostic line.
pub fn line(message: &str) {
    let mut out = String::with_capacity(message.len() + 12);
    out.push_str("[EVOKORE] ");
    for c in evokore_catalog::hostile::visible(message).chars() {
        match c {
            '\n' => out.push_str("\n  "),
            c if c.is_control() => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out.push('\n');
    // Nobody can be told that stderr is gone.
    let _ = std::io::stderr().write_all(out.as_bytes());
}

/// Writes one warning line.
pub fn warn(message: &str) {
    line(&format!("warning: {message}"));
}
