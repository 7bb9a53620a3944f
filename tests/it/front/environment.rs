//! What child servers see of the environment of a server that runs.

use serde_json::{Map, Value, json};

use super::{Sandbox, Session};

fn environment_of(session: &mut Session, server: &str) -> Map<String, Value> {
    let about = session.call(&format!("{server}_about"), json!({}));
    about["structuredContent"]["env"].as_object().unwrap_or_else(|| panic!("{about} {}", session.said())).clone()
}

#[test]
fn each_child_gets_the_basics_and_its_own_secrets() {
    let mut sandbox = Sandbox::new("environment");
    if !sandbox.with_fs_server() {
        return;
    }
    let own = "GITHUB_PERSONAL_ACCESS_TOKEN";
    for secret in [own, "OTHER_KEY", "EVOKORE_ADMIN_TOKEN", "AWS_SECRET_ACCESS_KEY", "LD_PRELOAD_X"] {
        sandbox.set(secret, "of the process");
    }
    sandbox.write("conf/.env", "SUPABASE_ACCESS_TOKEN=of the file\nONLY_IN_FILE=of the file\n");
    sandbox.set("LANG", "C.UTF-8");
    let mut session = Session::greeted(&sandbox);
    for (server, secret) in [("fs", None), ("github", Some(own)), ("supabase", Some("SUPABASE_ACCESS_TOKEN"))] {
        let mut found = environment_of(&mut session, server);
        assert_eq!(found.remove("LANG"), Some(json!("C.UTF-8")), "{server}");
        assert!(["HOME", "PATH"].iter().all(|name| found.remove(*name).is_some()), "{server}");
        let is_own = |name: &String| secret.is_some_and(|secret| secret == name);
        let (own, rest): (Vec<_>, Vec<_>) = found.keys().partition(|name| is_own(name));
        assert_eq!(own.len(), usize::from(secret.is_some()), "{server}: {found:?}");
        // The shell that starts the test server, and Python, set some of their own.
        let harmless = ["PWD", "OLDPWD", "SHLVL", "_", "LC_CTYPE"];
        assert!(rest.iter().all(|name| harmless.contains(&name.as_str())), "{server}: {found:?}");
    }
}
