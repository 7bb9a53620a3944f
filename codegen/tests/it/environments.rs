//! What is said about the environment of a server: `inheritEnv`, `envFile`, placeholders of editors.

use expect_test::expect;

use crate::support::Small;

#[test]
fn what_is_inherited_and_what_is_not() {
    let of = |members: &str| {
        let config = format!("{{ \"servers\": {{ \"fs\": {{ \"command\": \"x\", {members} }} }} }}");
        let compilation = Small::new(&config).compile();
        let found = compilation.model.servers.first().map(|server| (server.inherit_env, server.env_file));
        let problems = compilation.problems.iter().map(|problem| {
            let hint = problem.hint.as_deref().unwrap_or("none");
            format!("\n  {:?}: {}\n    hint: {hint}", problem.severity, problem.message)
        });
        format!("{members}\n  {found:?}{}\n", problems.collect::<String>())
    };
    let told: String = [
        r#""inheritEnv": ["AWS_REGION", "AWS_*", "ProgramFiles(x86)"]"#,
        r#""inheritEnv": ["*"]"#,
        r#""inheritEnv": true"#,
        r#""inheritEnv": false"#,
        r#""inheritEnv": "AWS_REGION""#,
        r#""inheritEnv": ["EVOKORE_HOME", "evokore_*", "", "A*B", "${A}", "A=b", "**"]"#,
        r#""envFile": "${userHome}/x.env""#,
        r#""envFile": "${workspaceFolder}/.env""#,
        r#""envFile": ["a"]"#,
    ]
    .into_iter()
    .map(of)
    .collect();
    expect![[r#"
        "inheritEnv": ["AWS_REGION", "AWS_*", "ProgramFiles(x86)"]
          Some((["AWS_REGION", "AWS_*", "ProgramFiles(x86)"], None))
        "inheritEnv": ["*"]
          Some((["*"], None))
          Note: `inheritEnv` of server `fs` hands every variable of the environment to this server, secrets too
            hint: list the names that it needs
        "inheritEnv": true
          Some((["*"], None))
          Note: `inheritEnv` of server `fs` hands every variable of the environment to this server, secrets too
            hint: list the names that it needs
        "inheritEnv": false
          Some(([], None))
        "inheritEnv": "AWS_REGION"
          Some(([], None))
          Error: `inheritEnv` of server `fs` must be a list of names, or true for every variable, but is a string
            hint: none
        "inheritEnv": ["EVOKORE_HOME", "evokore_*", "", "A*B", "${A}", "A=b", "**"]
          Some(([], None))
          Error: `inheritEnv` of server `fs` names `EVOKORE_HOME`, and variables of evokore's own are not handed on
            hint: write it into `env`, as in "NAME": "${EVOKORE_…}", if this server is meant to have it
          Error: `inheritEnv` of server `fs` names `evokore_*`, and variables of evokore's own are not handed on
            hint: write it into `env`, as in "NAME": "${EVOKORE_…}", if this server is meant to have it
          Error: `inheritEnv` of server `fs` names ``, which is no variable
            hint: write a name such as "AWS_REGION", a beginning such as "AWS_*", or "*" for every variable
          Error: `inheritEnv` of server `fs` names `A*B`, which is no variable
            hint: write a name such as "AWS_REGION", a beginning such as "AWS_*", or "*" for every variable
          Error: `inheritEnv` of server `fs` names `${A}`, which is no variable
            hint: write a name such as "AWS_REGION", a beginning such as "AWS_*", or "*" for every variable
          Error: `inheritEnv` of server `fs` names `A=b`, which is no variable
            hint: write a name such as "AWS_REGION", a beginning such as "AWS_*", or "*" for every variable
          Error: `inheritEnv` of server `fs` names `**`, which is no variable
            hint: write a name such as "AWS_REGION", a beginning such as "AWS_*", or "*" for every variable
        "envFile": "${userHome}/x.env"
          Some(([], Some("${userHome}/x.env")))
        "envFile": "${workspaceFolder}/.env"
          Some(([], Some("${workspaceFolder}/.env")))
          Note: `envFile` of server `fs` needs `workspaceFolder`, which editors fill in and evokore does not
            hint: set an environment variable of this name, or write the path in place of `${workspaceFolder}`
        "envFile": ["a"]
          Some(([], None))
          Error: `envFile` of server `fs` must be a string, but is a list
            hint: none
    "#]]
    .assert_eq(&told);
}
