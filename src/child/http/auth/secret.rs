//! What must not be guessed: states and verifiers.

use sha2::{Digest as _, Sha256};

use super::LoginError;

/// 32 random bytes as text of 43 characters.
pub(super) fn random() -> Result<String, LoginError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| LoginError::new(format!("the system gives no random bytes: {error}"), "try again later"))?;
    Ok(base64url(&bytes))
}

/// What a verifier is promised with: method `S256` of RFC 7636, 4.2.
pub(super) fn promise(verifier: &str) -> String {
    base64url(&Sha256::digest(verifier.as_bytes()))
}

/// Whether two texts are the same, in a time that says nothing about where they differ.
pub(super) fn is_same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
}

/// Base64 without padding, in the alphabet for URLs (RFC 4648, 5).
fn base64url(bytes: &[u8]) -> String {
    encoded(bytes, b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
}

/// Base64 with padding (RFC 4648, 4).
pub(super) fn base64(bytes: &[u8]) -> String {
    let text = encoded(bytes, b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
    let padding = "=".repeat((4 - text.len() % 4) % 4);
    text + &padding
}

fn encoded(bytes: &[u8], alphabet: &[u8; 64]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..=three.len() {
            text.push(char::from(alphabet[(bits >> (18 - 6 * at) & 63) as usize]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spells_bytes() {
        let texts: Vec<_> =
            ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map(|text| base64(text.as_bytes())).into();
        assert_eq!(texts, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]);
        assert_eq!(base64url(&[0xfb, 0xff]), "-_8");
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
