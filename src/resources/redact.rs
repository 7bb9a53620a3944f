//! Configuration as it may be shown: what could be a secret becomes `***`, and `${NAME}` stays, for a variable's name
//! is what a person needs to know. Defaults of variables are dropped, since they may be secrets too.
//!
//! When in doubt a text is hidden: nothing breaks when a harmless value is not shown.

const HIDDEN: &str = "***";

/// A value that is secret by its place, such as a variable's or a header's: its variables, or nothing.
pub(super) fn secret(text: &str) -> String {
    let text = without_defaults(text);
    let mut shown = Vec::new();
    let mut rest = text.as_str();
    while let Some(start) = rest.find("${") {
        let end = rest[start..].find('}').map_or(rest.len(), |end| start + end + 1);
        shown.push(rest[start..end].to_owned());
        rest = &rest[end..];
    }
    match (shown.is_empty(), text.is_empty()) {
        (true, true) => String::new(),
        (true, false) => HIDDEN.to_owned(),
        (false, _) => shown.join(" "),
    }
}

/// The arguments of a program; one that follows a flag such as `--token` is hidden.
pub(super) fn arguments(arguments: &[&str]) -> Vec<String> {
    let mut after = None;
    let mut shown = Vec::with_capacity(arguments.len());
    for text in arguments {
        let is_flag = text.starts_with('-') && !text.contains('=');
        shown.push(match after {
            Some(Flag::Secret) if !is_flag => secret(text),
            Some(Flag::Header) if !is_flag => header(text),
            _ => argument(text),
        });
        after = Some(*text).filter(|_| is_flag).and_then(Flag::of);
    }
    shown
}

/// One argument, program or folder.
pub(super) fn argument(text: &str) -> String {
    let text = without_defaults(text);
    if text.trim_start().starts_with(['{', '[']) && !text.starts_with("${") {
        return secret(&text);
    }
    if let Some((name, value)) = text.split_once(['=', ':']).filter(|(name, value)| hides(name, value)) {
        let separator = &text[name.len()..=name.len()];
        let blank = if value.starts_with(' ') { " " } else { "" };
        return format!("{name}{separator}{blank}{}", secret(value.trim_start()));
    }
    // `Server=x;Password=y` and the like.
    if text.contains('=') && text.contains([';', '&']) && !text.contains("://") {
        let pieces = text.split([';', '&']).map(argument);
        return pieces.collect::<Vec<_>>().join(";");
    }
    match text.find("://") {
        Some(at) => {
            let scheme = text[..at].rsplit(|c: char| !c.is_ascii_alphanumeric() && !"+.-".contains(c)).next();
            let start = at - scheme.map_or(0, str::len);
            format!("{}{}", scrubbed(&text[..start]), url(&text[start..]))
        }
        None => scrubbed(&text),
    }
}

/// A URL: no user, no values in the query, no fragment, no random-looking part of the path.
pub(super) fn url(text: &str) -> String {
    let text = without_defaults(text);
    let Some((scheme, rest)) = text.split_once("://") else { return scrubbed(&text) };
    let (rest, fragment) = match rest.split_once('#') {
        Some((rest, fragment)) => (rest, format!("#{}", secret(fragment))),
        None => (rest, String::new()),
    };
    let (rest, query) = match rest.split_once('?') {
        Some((rest, query)) => (rest, format!("?{}", query.split('&').map(parameter).collect::<Vec<_>>().join("&"))),
        None => (rest, String::new()),
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    // A password may hold a slash by mistake; then everything up to the last `@` is hidden.
    let (authority, path) = match rest.rfind('@') {
        Some(at) => {
            let host = &rest[at + 1..];
            let end = host.find('/').unwrap_or(host.len());
            (format!("{}@{}", secret(&rest[..at]), &host[..end]), &host[end..])
        }
        None => (authority.to_owned(), path),
    };
    format!("{scheme}://{}{}{query}{fragment}", scrubbed(&authority), scrubbed(path))
}

fn parameter(text: &str) -> String {
    match text.split_once('=') {
        Some((name, value)) => format!("{}={}", scrubbed(name), secret(value)),
        None => scrubbed(text),
    }
}

fn header(text: &str) -> String {
    match text.split_once(':') {
        Some((name, value)) => format!("{name}: {}", secret(value.trim_start())),
        None => secret(text),
    }
}

enum Flag {
    Secret,
    Header,
}

impl Flag {
    fn of(text: &str) -> Option<Flag> {
        match text.trim_start_matches('-').to_ascii_lowercase().as_str() {
            "h" | "header" | "headers" => Some(Flag::Header),
            "u" | "user" => Some(Flag::Secret),
            _ => is_secret_name(text).then_some(Flag::Secret),
        }
    }
}

/// Whether what stands behind `name` and `=` or `:` is hidden: secret names, and the `NAME=value` of `docker -e`.
fn hides(name: &str, value: &str) -> bool {
    let is_variable = name.len() > 1
        && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
        && name.bytes().any(|byte| byte.is_ascii_uppercase());
    let is_url = value.starts_with("//");
    !value.is_empty() && !is_url && !name.contains("://") && (is_variable || is_secret_name(name))
}

const SECRET_WORDS: [&str; 24] = [
    "token",
    "tokens",
    "secret",
    "secrets",
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "pass",
    "key",
    "keys",
    "apikey",
    "auth",
    "authorization",
    "credential",
    "credentials",
    "bearer",
    "cookie",
    "pat",
    "dsn",
    "signature",
    "sig",
    "jwt",
    "connection",
];

/// Whether what is called `name` is secret.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let lower = name.to_lowercase();
    let in_one_word = ["apikey", "token", "secret", "passw", "credential"].iter().any(|word| lower.contains(word));
    in_one_word || evokore_catalog::search::words(name).any(|word| SECRET_WORDS.contains(&word.to_lowercase().as_str()))
}

/// `text` with every part that looks like a key hidden.
fn scrubbed(text: &str) -> String {
    let separates = |c: char| "/\\=:,;&?@\"' ".contains(c);
    text.split_inclusive(separates)
        .map(|piece| {
            let word = piece.trim_end_matches(separates);
            if is_random(word) { format!("{HIDDEN}{}", &piece[word.len()..]) } else { piece.to_owned() }
        })
        .collect()
}

/// How the keys of well-known services start.
const KEY_STARTS: [&str; 24] = [
    "sk-",
    "pk-",
    "rk_",
    "sk_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxa-",
    "xoxb-",
    "xoxp-",
    "xoxs-",
    "AKIA",
    "ASIA",
    "AIza",
    "eyJ",
    "npm_",
    "pypi-",
    "hf_",
    "sbp_",
    "ya29.",
];

/// Whether `word` is a well-known kind of key, a UUID, or has a long run in which letters and digits mix.
pub(crate) fn is_random(word: &str) -> bool {
    if word.len() >= 12 && KEY_STARTS.iter().any(|start| word.starts_with(start)) {
        return true;
    }
    let parts: Vec<&str> = word.split('-').collect();
    let is_hex = |part: &&str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    if parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12]) && parts.iter().all(is_hex) {
        return true;
    }
    word.split(|c: char| !c.is_ascii_alphanumeric()).any(|run| {
        let digits = run.bytes().filter(u8::is_ascii_digit).count();
        run.len() >= 16 && digits >= 3 && run.len() - digits >= 3
    })
}

/// `text` with `${NAME:-default}` as `${NAME}`; what is not closed is hidden.
fn without_defaults(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        out.push_str(&rest[..start]);
        let inner = &rest[start + 2..];
        let Some(end) = closing(inner) else {
            out.push_str(HIDDEN);
            return out;
        };
        let name = inner[..end].split(":-").next().unwrap_or("");
        out.push_str(&format!("${{{}}}", name.strip_prefix("env:").unwrap_or(name)));
        rest = &inner[end + 1..];
    }
    out.push_str(rest);
    out
}

/// Position of the `}` that closes a placeholder whose `${` has just been read; defaults may hold placeholders.
fn closing(inner: &str) -> Option<usize> {
    let mut depth = 0usize;
    let mut before = ' ';
    for (at, c) in inner.char_indices() {
        match c {
            '{' if before == '$' => depth += 1,
            '}' if depth == 0 => return Some(at),
            '}' => depth -= 1,
            _ => {}
        }
        before = c;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn single_arguments() {
        for (text, expected) in [
            ("-y", "-y"),
            (
                "@modelcontextprotocol/server-filesystem@2025.12.18",
                "@modelcontextprotocol/server-filesystem@2025.12.18",
            ),
            ("/home/me/My Projects", "/home/me/My Projects"),
            ("C:\\Users\\me", "C:\\Users\\me"),
            ("${ROOT:-./here}", "${ROOT}"),
            ("${A:-${B:-x}}/y", "${A}/y"),
            ("--dsn=postgres://u:p@h/db", "--dsn=***"),
            ("--api-key=abc", "--api-key=***"),
            ("--apiKey=${API_KEY}", "--apiKey=${API_KEY}"),
            ("--token=${env:T:-fallback}", "--token=${T}"),
            ("--author=me", "--author=me"),
            ("LOG_LEVEL=debug", "LOG_LEVEL=***"),
            ("Authorization: Bearer abc", "Authorization: ***"),
            ("Authorization: Bearer ${TOKEN}", "Authorization: ${TOKEN}"),
            ("postgres://me:pw@host:5432/db?sslmode=require", "postgres://***@host:5432/db?sslmode=***"),
            ("--url=https://me@host/x", "--url=https://***@host/x"),
            ("see…https://me@host/x", "see…https://***@host/x"),
            ("Server=x;Password=y;Port=1", "Server=x;Password=***;Port=1"),
            ("{\"apiKey\":\"abc\"}", "***"),
            ("ghp_abcdefabcdefabcdef", "***"),
            ("--x=sk-abcdefgh1234", "--x=***"),
            ("0b6a7c1e-1111-2222-3333-444455556666", "***"),
            ("${UNCLOSED", "***"),
            ("", ""),
        ] {
            assert_eq!(argument(text), expected, "{text}");
        }
    }

    #[test]
    fn arguments_after_flags() {
        let shown = arguments(&[
            "--token",
            "abc",
            "--header",
            "X-Any: value",
            "-H",
            "Cookie: a",
            "-u",
            "me:pw",
            "--auth",
            "--quiet",
            "run",
            "--project-ref=${REF}",
        ]);
        let expected = [
            "--token",
            "***",
            "--header",
            "X-Any: ***",
            "-H",
            "Cookie: ***",
            "-u",
            "***",
            "--auth",
            "--quiet",
            "run",
            "--project-ref=${REF}",
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn urls() {
        for (text, expected) in [
            ("https://host/mcp", "https://host/mcp"),
            ("https://host/mcp?api_key=abc&x=${X}&flag", "https://host/mcp?api_key=***&x=${X}&flag"),
            ("https://host/s/ab12cd34ef56gh78ij90/mcp#frag", "https://host/s/***/mcp#***"),
            ("https://me:p/w@host/x", "https://***@host/x"),
            ("https://${USER}:${PASS}@host", "https://${USER} ${PASS}@host"),
            ("${URL}", "${URL}"),
            ("${URL:-https://a:b@c}", "${URL}"),
        ] {
            assert_eq!(url(text), expected, "{text}");
        }
    }

    proptest! {
        /// Wherever configurations hold secrets, none is shown.
        #[test]
        fn no_secret_is_shown(secret_text in "[a-z0-9]{8,40}") {
            let marked = format!("zq{secret_text}");
            let texts = [
                argument(&format!("--token={marked}")),
                argument(&format!("SOME_NAME={marked}")),
                argument(&format!("https://user:{marked}@host/path")),
                argument(&format!("--url=https://host/?k={marked}")),
                argument(&format!("${{NAME:-{marked}}}")),
                argument(&format!("Host=h;Pwd={marked}")),
                url(&format!("https://host/p?{marked}={marked}")).replace(&format!("?{marked}="), "?"),
                url(&format!("https://{marked}@host/#{marked}")),
                secret(&format!("Bearer {marked} ${{T}}")),
                arguments(&["--password", &marked]).join(" "),
                arguments(&["--header", &format!("X: {marked}")]).join(" "),
            ];
            for text in texts {
                prop_assert!(!text.contains(&marked), "{text}");
            }
        }

        #[test]
        fn any_text_is_taken(text in "\\PC{0,60}") {
            let _ = (argument(&text), url(&text), secret(&text), arguments(&[&text, &text]));
        }
    }
}
