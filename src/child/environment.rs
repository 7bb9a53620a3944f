//! What a child gets of the environment: a small basic set, and what its entry inherits. No secret of another server is
//! in it, and nothing of evokore's own, whatever is inherited.

/// `inheritEnv: ["*"]` hands everything through.
pub(super) const EVERYTHING: &str = "*";

/// Whether a variable is one of evokore's own.
pub(super) fn is_own(name: &str) -> bool {
    const OWN: &[u8] = b"EVOKORE_";
    name.as_bytes().get(..OWN.len()).is_some_and(|start| start.eq_ignore_ascii_case(OWN))
}

/// What programs need to find their files, speak the user's language and reach the network.
const BASIC: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TMP",
    "TEMP",
    "TZ",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_ADDRESS",
    "LC_COLLATE",
    "LC_CTYPE",
    "LC_IDENTIFICATION",
    "LC_MEASUREMENT",
    "LC_MESSAGES",
    "LC_MONETARY",
    "LC_NAME",
    "LC_NUMERIC",
    "LC_PAPER",
    "LC_TELEPHONE",
    "LC_TIME",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_DIRS",
    "XDG_CONFIG_HOME",
    "XDG_CURRENT_DESKTOP",
    "XDG_DATA_DIRS",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_SESSION_TYPE",
    "XDG_STATE_HOME",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    // Windows; not set elsewhere.
    "SystemRoot",
    "SystemDrive",
    "windir",
    "ComSpec",
    "PATHEXT",
    "USERNAME",
    "USERPROFILE",
    "HOMEDRIVE",
    "HOMEPATH",
    "APPDATA",
    "LOCALAPPDATA",
    "ProgramData",
    "ProgramFiles",
    "ProgramFiles(x86)",
    "CommonProgramFiles",
    "NUMBER_OF_PROCESSORS",
    "PROCESSOR_ARCHITECTURE",
    "OS",
];

/// The variables that a child gets besides its own, each once. `names` are those that are set; it is asked only where
/// `inherit` has the beginning of a name.
pub(super) fn inherited(
    lookup: &dyn Fn(&str) -> Option<String>,
    names: &dyn Fn() -> Vec<String>,
    inherit: &[&str],
) -> Vec<(String, String)> {
    let (beginnings, exact): (Vec<&str>, Vec<&str>) =
        inherit.iter().filter(|name| **name != EVERYTHING).partition(|name| name.ends_with('*'));
    let mut wanted: Vec<String> = BASIC.iter().chain(&exact).map(|name| (*name).to_owned()).collect();
    if !beginnings.is_empty() {
        let fits = |name: &String| beginnings.iter().any(|start| name.starts_with(start.trim_end_matches('*')));
        wanted.extend(names().into_iter().filter(fits));
    }
    let mut found: Vec<(String, String)> = Vec::new();
    for name in wanted {
        if !is_own(&name)
            && !found.iter().any(|(known, _)| *known == name)
            && let Some(value) = lookup(&name)
        {
            found.push((name, value));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn basics_and_what_is_inherited() {
        let set =
            ["PATH", "LC_TIME", "https_proxy", "GIVEN", "AWS_REGION", "AWS_KEY", "EVOKORE_ADMIN_TOKEN", "OTHER_KEY"];
        let lookup = |name: &str| set.contains(&name).then(|| format!("of {name}"));
        let names = || set.map(str::to_owned).to_vec();
        let basic = "PATH LC_TIME https_proxy";
        for (inherit, more) in [
            (&[][..], ""),
            (&["GIVEN", "NOT_SET", "GIVEN", "PATH"], " GIVEN"),
            (&["AWS_*"], " AWS_REGION AWS_KEY"),
            (&["E*", "EVOKORE_*", "EVOKORE_ADMIN_TOKEN"], ""),
            // All of it is handed on without being named here.
            (&[EVERYTHING], ""),
        ] {
            let found = inherited(&lookup, &names, inherit);
            assert!(found.iter().all(|(name, value)| *value == format!("of {name}")));
            let found: Vec<_> = found.into_iter().map(|(name, _)| name).collect();
            assert_eq!(found.join(" "), format!("{basic}{more}"), "{inherit:?}");
        }
        assert!(is_own("evokore_x") && !is_own("EVOKORE") && !is_own("ÄVOKORE_X"));
    }
}
