//! The environment of a child: a small basic set, what its entry inherits, its own variables. No secret of the
//! process or of another server is in it.

/// `inheritEnv: ["*"]` hands everything through.
pub(super) const EVERYTHING: &str = "*";

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

/// The variables of a child. Later ones win over earlier ones of the same name.
pub(super) fn environment(
    lookup: &dyn Fn(&str) -> Option<String>,
    inherit: &[&str],
    own: Vec<(String, String)>,
) -> Vec<(String, String)> {
    let named = BASIC.iter().chain(inherit).filter(|name| **name != EVERYTHING);
    named.filter_map(|name| Some(((*name).to_owned(), lookup(name)?))).chain(own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn basics_what_is_inherited_and_its_own() {
        let lookup = |name: &str| match name {
            "PATH" | "LC_TIME" | "https_proxy" => Some(format!("of {name}")),
            "GIVEN" | "EVOKORE_ADMIN_TOKEN" | "OTHER_KEY" => Some("secret".to_owned()),
            _ => None,
        };
        let own = vec![("PATH".to_owned(), "/mine".to_owned()), ("KEY".to_owned(), "k".to_owned())];
        let found = environment(&lookup, &["GIVEN", "NOT_SET", EVERYTHING], own);
        let found: Vec<_> = found.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let expected =
            ["PATH=of PATH", "LC_TIME=of LC_TIME", "https_proxy=of https_proxy", "GIVEN=secret", "PATH=/mine", "KEY=k"];
        assert_eq!(found, expected);
    }
}
