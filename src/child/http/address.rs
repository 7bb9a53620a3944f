//! Addresses: what a configured `url` must be, which of them share an origin, and what a reference means to a base.

use std::net::IpAddr;

use hyper::Uri;

/// Where credentials may go: scheme, host and port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Origin {
    scheme: String,
    host: String,
    port: u16,
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Origin { scheme, host, port } = self;
        if default_port(scheme) == Some(*port) {
            write!(f, "{scheme}://{host}")
        } else {
            write!(f, "{scheme}://{host}:{port}")
        }
    }
}

/// Reads an absolute address with `http` or `https`.
///
/// # Errors
/// What is wrong with it, as the rest of a sentence about it.
pub(super) fn parse(text: &str) -> Result<Uri, &'static str> {
    let url: Uri = text.trim().parse().map_err(|_| "is no URL")?;
    match url.scheme_str() {
        Some("http" | "https") => {}
        _ => return Err("must begin with `https://` or `http://`"),
    }
    let authority = url.authority().ok_or("names no host")?;
    if authority.as_str().contains('@') {
        return Err("holds a user name or password, which belong into `headers`");
    }
    Ok(url)
}

/// The origin of an address that [`parse`] has accepted.
pub(super) fn origin(url: &Uri) -> Origin {
    let scheme = url.scheme_str().unwrap_or_default().to_owned();
    let host = url.host().unwrap_or_default().to_ascii_lowercase();
    let port = url.port_u16().or_else(|| default_port(&scheme)).unwrap_or_default();
    Origin { scheme, host, port }
}

fn default_port(scheme: &str) -> Option<u16> {
    match scheme {
        "https" => Some(443),
        "http" => Some(80),
        _ => None,
    }
}

/// The host without the brackets of IPv6, and the port.
pub(super) fn host_and_port(url: &Uri) -> (String, u16) {
    let Origin { host, port, .. } = origin(url);
    (host.trim_start_matches('[').trim_end_matches(']').to_owned(), port)
}

/// Whether what is sent there can be read on the way: anything but TLS and this very machine.
pub(super) fn is_open(url: &Uri) -> bool {
    url.scheme_str() != Some("https") && !is_here(&host_and_port(url).0)
}

/// Whether a host, as [`host_and_port`] gives it, is this machine.
pub(super) fn is_here(host: &str) -> bool {
    host == "localhost"
        || host.ends_with(".localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The address that `reference` means in a document at `base`. Relative paths start at its last slash.
///
/// # Errors
/// As for [`parse`].
pub(super) fn join(base: &Uri, reference: &str) -> Result<Uri, &'static str> {
    let reference = reference.trim();
    let scheme = base.scheme_str().unwrap_or_default();
    let authority = base.authority().map_or("", |authority| authority.as_str());
    let is_absolute = reference.split_once("://").is_some_and(|(scheme, _)| !scheme.contains(['/', '?', '#']));
    let whole = if is_absolute {
        reference.to_owned()
    } else if let Some(rest) = reference.strip_prefix("//") {
        format!("{scheme}://{rest}")
    } else if reference.starts_with('/') {
        format!("{scheme}://{authority}{reference}")
    } else if reference.starts_with('?') {
        format!("{scheme}://{authority}{}{reference}", base.path())
    } else {
        let folder = base.path().rsplit_once('/').map_or("", |(folder, _)| folder);
        format!("{scheme}://{authority}{folder}/{reference}")
    };
    parse(&whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_web() {
        for text in ["https://a", "HTTP://a:1/b?c", " https://[::1]:5/x ", "http://127.0.0.1"] {
            assert!(parse(text).is_ok(), "{text}");
        }
        for text in ["", "a/b", "/x", "ftp://a/b", "https://", "https://me:pw@a/b", "http://a b/"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn origins() {
        let same = |a: &str, b: &str| origin(&parse(a).expect("a URL")) == origin(&parse(b).expect("a URL"));
        assert!(same("https://a.example/x", "https://A.example:443/y?z"));
        for other in ["http://a.example", "https://a.example:444", "https://b.example", "https://a.example.b"] {
            assert!(!same("https://a.example/x", other), "{other}");
        }
        let shown = |text: &str| origin(&parse(text).expect("a URL")).to_string();
        assert_eq!(shown("https://a:443/x"), "https://a");
        assert_eq!(shown("http://[::1]:8080/x"), "http://[::1]:8080");
    }

    #[test]
    fn who_can_read_along() {
        for (text, expected) in [
            ("https://a.example", false),
            ("http://a.example", true),
            ("http://192.168.0.7", true),
            ("http://localhost.example", true),
            ("http://localhost:1", false),
            ("http://127.8.9.1", false),
            ("http://[::1]:5", false),
        ] {
            assert_eq!(is_open(&parse(text).expect("a URL")), expected, "{text}");
        }
    }

    #[test]
    fn references() {
        let base = parse("https://a.example:8/x/y?z").expect("a URL");
        for (reference, expected) in [
            ("/m?s=1", "https://a.example:8/m?s=1"),
            ("m", "https://a.example:8/x/m"),
            ("?s=2", "https://a.example:8/x/y?s=2"),
            ("//b.example/m", "https://b.example/m"),
            ("http://c/m?to=https://d", "http://c/m?to=https://d"),
            ("/m?to=https://d", "https://a.example:8/m?to=https://d"),
        ] {
            assert_eq!(join(&base, reference).expect("an address").to_string(), expected, "{reference}");
        }
        assert!(join(&base, "ftp://x/y").is_err());
    }
}
