//! What must not be guessed: states and verifiers.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use super::LoginError;

/// 32 random bytes as text of 43 characters.
pub(super) fn random() -> Result<String, LoginError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| LoginError::new(format!("the system gives no random bytes: {error}"), "try again later"))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// What a verifier is promised with: method `S256` of RFC 7636, 4.2.
pub(super) fn promise(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()))
}

/// Whether two texts are the same, in a time that says nothing about where they differ.
pub(super) fn is_same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promises() {
        // The example of RFC 7636, appendix B.
        let promise = promise("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
        assert_eq!(promise, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }

    #[test]
    fn compares() {
        assert!(is_same("abc", "abc"));
        for other in ["", "ab", "abd", "abcd"] {
            assert!(!is_same("abc", other), "{other}");
        }
        let (one, other) = (random().expect("bytes"), random().expect("bytes"));
        assert_eq!(one.len(), 43);
        assert_ne!(one, other);
    }
}
