//! From a server's entry to the command that starts it, or the address that it has: placeholders, `~/`, relative paths,
//! environment. Pure; the variables come from the caller. No value of a variable ever gets into a message.

use std::path::{Path, PathBuf};

use evokore_catalog::server::{OAuth, ServerSpec, Transport};
use evokore_catalog::template::{self, TemplateError};

use super::remote::{Login, Remote};

/// A command, ready to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Command {
    /// A bare name (found through `PATH`) or an absolute path.
    pub(super) program: String,
    /// Arguments.
    pub(super) args: Vec<String>,
    /// Variables of its own.
    pub(super) env: Vec<(String, String)>,
    /// File with more variables, absolute if the base is.
    pub(super) env_file: Option<PathBuf>,
    /// Working directory, absolute if the base is; `None` for the one of the process.
    pub(super) cwd: Option<PathBuf>,
}

/// What an entry leads to.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Target {
    /// To be started.
    Command(Command),
    /// To be reached.
    Remote(Remote),
}

/// Why an entry leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ResolveError {
    /// Keys with the variables they need, which are not set.
    #[error("{}", missing(.0))]
    Missing(Vec<(String, String)>),
    /// A key whose placeholder cannot be read.
    #[error("`{key}` has {what}\nhint: write `${{NAME}}` or `${{NAME:-default}}`")]
    Placeholder {
        /// The key, such as `args[1]`.
        key: String,
        /// What is wrong with it.
        what: String,
    },
}

fn missing(keys: &[(String, String)]) -> String {
    let needs: Vec<_> = keys.iter().map(|(key, name)| format!("`{key}` needs `{name}`")).collect();
    format!("{}, which is not set", needs.join(", "))
}

/// What `spec` leads to. Relative paths start at `base`, the folder of the configuration.
///
/// # Errors
/// All missing variables at once, or the first key that cannot be used.
pub(super) fn resolve(
    spec: &ServerSpec,
    lookup: &dyn Fn(&str) -> Option<String>,
    base: &Path,
) -> Result<Target, ResolveError> {
    let mut texts = Texts { lookup, missing: Vec::new() };
    let target = match spec.transport {
        Transport::Http { url, headers, dialect } => {
            let url = texts.expand("url", url)?;
            let headers = headers.iter();
            let headers =
                headers.map(|(name, value)| Ok(((*name).to_owned(), texts.expand(&format!("headers.{name}"), value)?)));
            let headers = headers.collect::<Result<_, _>>()?;
            let OAuth { client_id, client_secret, scopes, redirect_port } = spec.oauth;
            let client_id = client_id.map(|id| texts.expand("oauth.clientId", id)).transpose()?;
            let client_secret = client_secret.map(|secret| texts.expand("oauth.clientSecret", secret)).transpose()?;
            let login = Login { client_id, client_secret, scopes, redirect_port };
            Target::Remote(Remote { id: spec.id, url, headers, dialect, login })
        }
        Transport::Stdio { command, args, env, cwd } => {
            let program = texts.expand_path("command", command)?;
            let args = args.iter().enumerate();
            let args =
                args.map(|(at, arg)| texts.expand_path(&format!("args[{at}]"), arg)).collect::<Result<_, _>>()?;
            let own =
                env.iter().map(|(name, value)| Ok(((*name).to_owned(), texts.expand(&format!("env.{name}"), value)?)));
            let own = own.collect::<Result<_, _>>()?;
            let cwd = cwd.map(|cwd| texts.expand_path("cwd", cwd)).transpose()?;
            let env_file = spec.env_file.map(|file| texts.expand_path("envFile", file)).transpose()?;
            Target::Command(Command {
                program: if program.contains(['/', '\\']) { absolute(base, &program) } else { program },
                args,
                env: own,
                env_file: env_file.map(|file| base.join(file)),
                cwd: cwd.map(|cwd| base.join(cwd)),
            })
        }
    };
    if !texts.missing.is_empty() {
        return Err(ResolveError::Missing(texts.missing));
    }
    Ok(target)
}

fn absolute(base: &Path, program: &str) -> String {
    let joined = base.join(program);
    let clean: PathBuf = joined.components().filter(|part| !matches!(part, std::path::Component::CurDir)).collect();
    let clean = if clean.is_relative() { Path::new(".").join(clean) } else { clean };
    clean.to_string_lossy().into_owned()
}

/// What editors call the home directory in a placeholder.
const USER_HOME: &str = "userHome";

/// Expands texts and gathers what is missing.
struct Texts<'a> {
    lookup: &'a dyn Fn(&str) -> Option<String>,
    missing: Vec<(String, String)>,
}

impl Texts<'_> {
    fn home(&self) -> Option<String> {
        (self.lookup)("HOME").or_else(|| (self.lookup)("USERPROFILE"))
    }

    fn expand(&mut self, key: &str, text: &str) -> Result<String, ResolveError> {
        let lookup = |name: &str| (self.lookup)(name).or_else(|| self.home().filter(|_| name == USER_HOME));
        let what = match template::expand(text, &lookup) {
            Ok(text) => return Ok(text.into_owned()),
            Err(TemplateError::Missing(names)) => {
                self.missing.extend(names.into_iter().map(|name| (key.to_owned(), name)));
                return Ok(String::new());
            }
            Err(TemplateError::Unclosed(at)) => format!("a `${{` without its `}}` at byte {at}"),
            Err(TemplateError::BadName(at, name)) => format!("`{name}` at byte {at}, which is no variable name"),
        };
        Err(ResolveError::Placeholder { key: key.to_owned(), what })
    }

    /// Like [`Texts::expand`]; `~` or `~/` at the beginning is the home directory.
    fn expand_path(&mut self, key: &str, text: &str) -> Result<String, ResolveError> {
        let text = self.expand(key, text)?;
        let rest = match text.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with(['/', '\\']) => rest,
            _ => return Ok(text),
        };
        match self.home() {
            Some(home) => Ok(format!("{}{rest}", home.trim_end_matches('/'))),
            None => {
                self.missing.push((key.to_owned(), "HOME".to_owned()));
                Ok(text)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use evokore_catalog::server::Dialect;

    use super::*;

    fn spec(transport: Transport) -> ServerSpec {
        ServerSpec { id: "s", transport, ..ServerSpec::ABSENT }
    }

    fn command(spec: &ServerSpec, base: &str) -> Command {
        match resolve(spec, &lookup, Path::new(base)) {
            Ok(Target::Command(command)) => command,
            Ok(Target::Remote(remote)) => panic!("{}", remote.url),
            Err(error) => panic!("{error}"),
        }
    }

    fn refused(transport: Transport, lookup: &dyn Fn(&str) -> Option<String>) -> ResolveError {
        resolve(&spec(transport), lookup, Path::new(".")).err().expect("it leads nowhere")
    }

    fn lookup(name: &str) -> Option<String> {
        let value = match name {
            "HOME" => "/home/me",
            "TOKEN" => "t0ken",
            "WHERE" => "~/in",
            _ => return None,
        };
        Some(value.to_owned())
    }

    #[test]
    fn expands_every_text() {
        let transport = Transport::Stdio {
            command: "./bin/${NAME:-run}.sh",
            args: &["--at=${env:TOKEN}", "${userHome}/in", "~/data", "x~/y", "${WHERE}", "a&b"],
            env: &[("KEY", "${TOKEN}"), ("LABEL", "${LABEL:-a:-b}")],
            cwd: Some("work"),
        };
        let spec = ServerSpec { env_file: Some("~/${NAME:-x}.env"), ..spec(transport) };
        let command = command(&spec, "/etc/app");
        assert_eq!(command.program, "/etc/app/bin/run.sh");
        assert_eq!(command.args, ["--at=t0ken", "/home/me/in", "/home/me/data", "x~/y", "/home/me/in", "a&b"]);
        assert_eq!(command.cwd.as_deref(), Some(Path::new("/etc/app/work")));
        let env: Vec<_> = command.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(env, ["KEY=t0ken", "LABEL=a:-b"]);
        assert_eq!(command.env_file.as_deref(), Some(Path::new("/home/me/x.env")));
    }

    #[test]
    fn programs_and_folders() {
        for (command, base, program) in [
            ("npx", "/etc/app", "npx"),
            ("/bin/x", "/etc/app", "/bin/x"),
            ("~/x", "/etc/app", "/home/me/x"),
            ("../x", "/etc/app", "/etc/app/../x"),
            ("./x", ".", "./x"),
        ] {
            let transport = Transport::Stdio { command, args: &[], env: &[], cwd: None };
            let found = self::command(&spec(transport), base);
            assert_eq!((found.program.as_str(), found.cwd), (program, None), "{command}");
        }
    }

    #[test]
    fn expands_an_address_and_its_headers() {
        let headers: &[(&str, &str)] = &[("Authorization", "Bearer ${TOKEN}"), ("X-Team", "${TEAM:-a}")];
        let transport = Transport::Http { url: "https://${HOST:-example.org}/mcp", headers, dialect: Dialect::Sse };
        let Ok(Target::Remote(remote)) = resolve(&spec(transport), &lookup, Path::new(".")) else { panic!() };
        let headers: Vec<_> = remote.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        assert_eq!(remote.url, "https://example.org/mcp");
        assert_eq!(headers, ["Authorization: Bearer t0ken", "X-Team: a"]);
        assert_eq!(remote.dialect, Dialect::Sse);
    }

    #[test]
    fn names_key_and_variable_and_no_value() {
        let transport = Transport::Stdio {
            command: "x",
            args: &["${TOKEN}", "${A}/${TOKEN}/${B}"],
            env: &[("KEY", "${C}")],
            cwd: None,
        };
        let error = refused(transport, &lookup);
        assert_eq!(
            error.to_string(),
            "`args[1]` needs `A`, `args[1]` needs `B`, `env.KEY` needs `C`, which is not set"
        );

        let url = "https://${HOST:-example.org}/mcp";
        let headers: &[(&str, &str)] = &[("Authorization", "Bearer ${NOT_SET}")];
        let error = refused(Transport::Http { url, headers, dialect: Dialect::Either }, &lookup);
        assert_eq!(error.to_string(), "`headers.Authorization` needs `NOT_SET`, which is not set");

        for (arg, expected) in [
            (
                &["${TOKEN"],
                "`args[0]` has a `${` without its `}` at byte 0\nhint: write `${NAME}` or `${NAME:-default}`",
            ),
            (
                &["${TO KEN}"],
                "`args[0]` has `TO KEN` at byte 0, which is no variable name\nhint: write `${NAME}` or `${NAME:-default}`",
            ),
        ] {
            let transport = Transport::Stdio { command: "x", args: arg, env: &[], cwd: None };
            let error = refused(transport, &lookup);
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn a_home_that_is_not_known_is_missing() {
        let transport = Transport::Stdio { command: "~/x", args: &[], env: &[], cwd: None };
        let error = refused(transport, &|_| None);
        assert_eq!(error, ResolveError::Missing(vec![("command".into(), "HOME".into())]));
    }
}
