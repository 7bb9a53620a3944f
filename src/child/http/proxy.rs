//! The way out through a proxy, where the environment names one: a tunnel (CONNECT; RFC 9110, 9.3.6) to what is not on
//! this machine. What is, is reached directly, and so is all that goes in the clear.

use std::fmt;
use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::Uri;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::address;
use super::auth::unescaped;
use crate::child::settings::Lookup;

/// Where a proxy may be named, in this order; curl and most others look there, too.
const NAMES: [&str; 4] = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
/// Hosts that need none.
const EXCEPT: [&str; 2] = ["no_proxy", "NO_PROXY"];
/// Bytes of the head of its answer.
const HEAD: usize = 16 << 10;

/// A proxy.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Proxy {
    pub(super) host: String,
    pub(super) port: u16,
    /// Whether it is spoken to with TLS.
    pub(super) is_tls: bool,
    /// The variable that names it.
    pub(super) name: &'static str,
    /// `Proxy-Authorization`, a secret.
    credentials: Option<String>,
}

impl fmt::Debug for Proxy {
    /// Without what is secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy").field("host", &self.host).field("port", &self.port).finish_non_exhaustive()
    }
}

/// The proxy on the way to `host`, if there is one.
///
/// # Errors
/// What is wrong with the variable that names it. Its value is not shown: it may hold a password.
pub(super) fn of(lookup: &Lookup, host: &str, port: u16) -> Result<Option<Proxy>, String> {
    let set = |name: &&'static str| {
        lookup(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty()).map(|value| (*name, value))
    };
    let Some((name, value)) = NAMES.iter().find_map(set) else { return Ok(None) };
    let except = EXCEPT.iter().find_map(set).map_or_else(String::new, |(_, value)| value);
    if address::is_here(host) || except.split(',').any(|entry| excepts(entry.trim(), host, port)) {
        return Ok(None);
    }
    read(name, &value).map(Some).map_err(|what| format!("`{name}` {what}"))
}

fn read(name: &'static str, value: &str) -> Result<Proxy, &'static str> {
    let (scheme, rest) = value.split_once("://").unwrap_or(("http", value));
    let is_tls = match scheme.to_ascii_lowercase().as_str() {
        "http" => false,
        "https" => true,
        _ => return Err("names a proxy that is spoken to in another way than HTTP"),
    };
    let rest = rest.split('/').next().unwrap_or_default();
    let (user, place) = rest.rsplit_once('@').map_or((None, rest), |(user, place)| (Some(user), place));
    let url: Uri = format!("http://{place}/").parse().map_err(|_| "holds no address of a proxy")?;
    let (host, _) = address::host_and_port(&url);
    if host.is_empty() {
        return Err("names no host");
    }
    let credentials = user.map(|user| {
        let (name, password) = user.split_once(':').unwrap_or((user, ""));
        format!("Basic {}", STANDARD.encode(format!("{}:{}", unescaped(name), unescaped(password))))
    });
    let port = url.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
    Ok(Proxy { host, port, is_tls, name, credentials })
}

/// Whether an entry of `NO_PROXY` means this host: a name with all below it, an address, a range of addresses (`10.0.0.0/8`),
/// or `*`; with a port, only that.
fn excepts(entry: &str, host: &str, port: u16) -> bool {
    if entry == "*" {
        return true;
    }
    if let Some((start, bits)) = entry.split_once('/') {
        return host.parse().is_ok_and(|host| is_in(host, start, bits));
    }
    let is_address = entry.parse::<IpAddr>().is_ok();
    let (name, only) = match entry.rsplit_once(':').filter(|_| !is_address) {
        Some((name, only)) => (name, Some(only)),
        None => (entry, None),
    };
    let name = name.trim_start_matches("*.").trim_start_matches(['.', '[']).trim_end_matches(']').to_ascii_lowercase();
    let is_below = || host.strip_suffix(&*name).is_some_and(|rest| rest.ends_with('.'));
    !name.is_empty() && (host == name || is_below()) && only.is_none_or(|only| only.parse() == Ok(port))
}

fn is_in(host: IpAddr, start: &str, bits: &str) -> bool {
    let (Ok(start), Ok(bits)) = (start.parse::<IpAddr>(), bits.parse::<u32>()) else { return false };
    match (host, start) {
        (IpAddr::V4(host), IpAddr::V4(start)) if bits <= 32 => {
            (host.to_bits() ^ start.to_bits()).checked_shr(32 - bits).unwrap_or_default() == 0
        }
        (IpAddr::V6(host), IpAddr::V6(start)) if bits <= 128 => {
            (host.to_bits() ^ start.to_bits()).checked_shr(128 - bits).unwrap_or_default() == 0
        }
        _ => false,
    }
}

/// Asks the proxy at the other end of `stream` for a tunnel to `host`; from then on the stream leads there.
///
/// # Errors
/// Why there is none, as the rest of a sentence about the proxy.
pub(super) async fn tunnel(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    proxy: &Proxy,
    host: &str,
    port: u16,
) -> Result<(), String> {
    let place = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
    let mut head = format!("CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n");
    if let Some(credentials) = &proxy.credentials {
        head.push_str(&format!("Proxy-Authorization: {credentials}\r\n"));
    }
    head.push_str("\r\n");
    let failed = |error: std::io::Error| format!("hung up ({error})");
    stream.write_all(head.as_bytes()).await.map_err(failed)?;
    stream.flush().await.map_err(failed)?;
    let mut answer = Vec::new();
    // The server says nothing before we do, so that what follows the head is not of it.
    while !answer.windows(4).any(|end| end == b"\r\n\r\n") {
        if answer.len() >= HEAD || stream.read_buf(&mut answer).await.map_err(failed)? == 0 {
            return Err("did not answer as a proxy does".to_owned());
        }
    }
    let line = String::from_utf8_lossy(&answer).lines().next().unwrap_or_default().to_owned();
    let status = line.strip_prefix("HTTP/1.").and_then(|rest| rest.split(' ').nth(1)).unwrap_or_default();
    match status.parse::<u16>() {
        Ok(200..=299) => Ok(()),
        Ok(407) => Err("wants to know who asks (407): put `NAME:PASSWORD@` before its host".to_owned()),
        Ok(status) => Err(format!("refused the way to {place} (HTTP {status})")),
        Err(_) => Err("did not answer as a proxy does".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn found(variables: &'static [(&str, &str)], host: &str) -> Result<Option<Proxy>, String> {
        let lookup: Lookup = Arc::new(move |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        });
        of(&lookup, host, 443)
    }

    #[test]
    fn variables_name_a_proxy() {
        let proxy = |variables| found(variables, "a.example").map(|proxy| proxy.expect("a proxy"));
        for (variables, host, port, is_tls, credentials) in [
            (&[("HTTPS_PROXY", "http://p.example:3128")][..], "p.example", 3128, false, None),
            (&[("HTTPS_PROXY", "no"), ("https_proxy", "P.example:1/")], "p.example", 1, false, None),
            (&[("ALL_PROXY", " https://p.example "), ("https_proxy", "")], "p.example", 443, true, None),
            (&[("HTTPS_PROXY", "http://me:p%40ss@[::1]:8")], "::1", 8, false, Some("Basic bWU6cEBzcw==")),
        ] {
            let found = proxy(variables).expect("a proxy");
            assert_eq!(
                (&*found.host, found.port, found.is_tls, found.credentials.as_deref()),
                (host, port, is_tls, credentials)
            );
        }
        assert_eq!(found(&[("HTTP_PROXY", "http://p.example"), ("NO_PROXY", "x")], "a.example"), Ok(None));
        for (value, what) in [
            (
                &[("HTTPS_PROXY", "socks5://me:secret@p.example")],
                "names a proxy that is spoken to in another way than HTTP",
            ),
            (&[("HTTPS_PROXY", "http://me:secret@a b")], "holds no address of a proxy"),
        ] {
            assert_eq!(proxy(value).expect_err("no proxy"), format!("`HTTPS_PROXY` {what}"));
        }
    }

    #[test]
    fn some_hosts_need_none() {
        const VARIABLES: &[(&str, &str)] = &[
            ("HTTPS_PROXY", "http://p.example"),
            (
                "no_proxy",
                "b.example, .c.example,*.d.example,10.0.0.0/8,fd00::/8,192.168.0.7,e.example:443,f.example:8443,x/33",
            ),
        ];
        for (host, expected) in [
            ("a.example", true),
            ("localhost", false),
            ("127.0.0.1", false),
            ("::1", false),
            ("b.example", false),
            ("a.b.example", false),
            ("ab.example", true),
            ("a.c.example", false),
            ("d.example", false),
            ("10.1.2.3", false),
            ("11.1.2.3", true),
            ("fd12::1", false),
            ("192.168.0.7", false),
            ("192.168.0.8", true),
            ("e.example", false),
            ("f.example", true),
        ] {
            assert_eq!(found(VARIABLES, host).expect("readable").is_some(), expected, "{host}");
        }
        assert_eq!(found(&[("HTTPS_PROXY", "http://p.example"), ("NO_PROXY", "*")], "a.example"), Ok(None));
    }
}
