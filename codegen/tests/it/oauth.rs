//! What becomes of `oauth`.

use expect_test::expect;

use crate::support::Small;

#[test]
fn what_a_login_needs_and_what_is_none() {
    let of = |oauth: &str| {
        let config = format!("{{ \"servers\": {{ \"far\": {{ \"url\": \"https://a\", \"oauth\": {oauth} }} }} }}");
        let compilation = Small::new(&config).compile();
        let found = compilation.model.servers.first().map(|server| server.oauth);
        let problems = compilation.problems.iter().map(|problem| {
            let hint = problem.hint.as_deref().unwrap_or("none");
            format!("\n  {}\n    hint: {hint}", problem.message)
        });
        format!("{oauth}\n  {found:?}{}\n", problems.collect::<String>())
    };
    let told: String = [
        r#"{}"#,
        r#"{ "clientId": "${ID}", "clientSecret": "${SECRET}", "scopes": ["a:read", "b"], "redirectPort": 8123 }"#,
        r#"{ "clientId": "x", "clientSecret": "written out", "callbackPort": 70000 }"#,
        r#"{ "clientSecret": "${SECRET}", "scopes": ["a b"], "scope": 1 }"#,
        r#"false"#,
    ]
    .into_iter()
    .map(of)
    .collect();
    expect![[r#""#]]
    .assert_eq(&told);
}
