//! Nothing that lies in a configuration folder makes the compiler panic.

use evokore_codegen::source::Source;
use proptest::prelude::*;

use crate::support::{CONFIG, FS_LOCK, NATIVES, Small, show};

const RICH: &str = include_str!("../../../mcp.config.json");
const POLICY: &str = include_str!("../../../permissions.yml");

/// What configurations are made of, and what makes parsers stumble.
const TOKENS: &[&str] = &[
    "{",
    "}",
    "{",
    "}",
    "[",
    "]",
    ":",
    ":",
    ",",
    ",",
    "\"",
    "\"servers\":{",
    "\"discovery\":{",
    "\"profiles\":{",
    "\"a\":",
    "\"command\":",
    "\"alwaysVisible\":",
    "\"all\"",
    "\"${A",
    "\"${A:-${B}}\"",
    "null",
    "true",
    "1",
    "-1",
    "1e999",
    "//",
    "/*",
    "*/",
    "\n",
    "\r",
    "\t",
    "\\",
    "\\u00",
    "\u{feff}",
    "é",
    "\0",
    "'x'",
    "NaN",
];

/// `text` with some bytes replaced, removed or doubled.
fn mutated(text: &'static str) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3_u8), 1..8).prop_map(move |edits| {
        let mut bytes = text.as_bytes().to_vec();
        for (at, byte, edit) in edits {
            let at = at.index(bytes.len());
            match edit {
                0 => bytes[at] = byte & 0x7f,
                1 => {
                    bytes.remove(at);
                }
                _ => bytes.insert(at, b"{}[]\",:\\\n\t-"[usize::from(byte) % 11]),
            }
        }
        bytes
    })
}

/// Compiles with one input replaced; every problem can be shown.
fn survives(bytes: &[u8], place: impl Fn(&mut Small, Source)) {
    let Ok(source) = Source::from_bytes("mcp.config.json", bytes) else { return };
    let mut small = Small::new(CONFIG);
    place(&mut small, source);
    let compilation = small.compile();
    assert!(!compilation.model.profiles.is_empty(), "the built-in profile is always there");
    show(&compilation);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_as_configuration(text in any::<String>()) {
        survives(text.as_bytes(), |small, source| small.0.config = Some(source));
    }

    #[test]
    fn any_tokens_as_configuration(tokens in prop::collection::vec(prop::sample::select(TOKENS), 0..40)) {
        survives(tokens.concat().as_bytes(), |small, source| small.0.config = Some(source));
    }

    #[test]
    fn a_damaged_configuration(bytes in mutated(RICH)) {
        survives(&bytes, |small, source| small.0.config = Some(source));
    }

    #[test]
    fn a_damaged_policy(bytes in mutated(POLICY)) {
        survives(&bytes, |small, mut source| {
            source.path = "permissions.yml".to_owned();
            small.0.permissions = Some(source);
        });
    }

    #[test]
    fn a_damaged_lock(bytes in mutated(FS_LOCK)) {
        survives(&bytes, |small, source| small.0.locks = vec![source]);
    }

    #[test]
    fn damaged_native_definitions(bytes in mutated(NATIVES)) {
        survives(&bytes, |small, source| small.0.native = vec![source]);
    }
}

#[test]
fn deep_nesting_is_a_problem_and_no_crash() {
    for open in ["[", "{\"a\":"] {
        let shown = Small::new(&open.repeat(100_000)).shown();
        assert!(shown.contains("nesting depth"), "{}", &shown[..shown.len().min(300)]);
    }
    let policy = "[".repeat(100_000);
    assert!(Small::new(CONFIG).policy(&policy).shown().contains("error"));
}
