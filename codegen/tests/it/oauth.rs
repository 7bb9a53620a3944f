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
    expect![[r#"
        {}
          Some(OAuth { client_id: None, client_secret: None, scopes: [], redirect_port: None })
          the lock of `fs` belongs to no configured server
            hint: delete the file, or configure the server
        { "clientId": "${ID}", "clientSecret": "${SECRET}", "scopes": ["a:read", "b"], "redirectPort": 8123 }
          Some(OAuth { client_id: Some("${ID}"), client_secret: Some("${SECRET}"), scopes: ["a:read", "b"], redirect_port: Some(8123) })
          the lock of `fs` belongs to no configured server
            hint: delete the file, or configure the server
        { "clientId": "x", "clientSecret": "written out", "callbackPort": 70000 }
          Some(OAuth { client_id: Some("x"), client_secret: None, scopes: [], redirect_port: None })
          `clientSecret` in `oauth` of server `far` holds the secret itself, which would get into the executable
            hint: write `${NAME}` and set that variable
          `callbackPort` in `oauth` of server `far` is 70000, which is no port
            hint: give a port up to 65535
        { "clientSecret": "${SECRET}", "scopes": ["a b"], "scope": 1 }
          Some(OAuth { client_id: None, client_secret: Some("${SECRET}"), scopes: [], redirect_port: None })
          `oauth` of server `far` has a `clientSecret` and no `clientId`
            hint: give both, as the authorization server gave them to you
          `scopes` in `oauth` of server `far` has `a b`, which is no scope
            hint: write each scope as a text of its own, without spaces
          unknown key `scope` in `oauth` of server `far`
            hint: did you mean `scopes`?
        false
          Some(OAuth { client_id: None, client_secret: None, scopes: [], redirect_port: None })
          the lock of `fs` belongs to no configured server
            hint: delete the file, or configure the server
          `oauth` of server `far` is another program's key and is ignored
            hint: the key takes an object, such as {"clientId": "…"}; mostly none is needed for `evokore login`
    "#]].assert_eq(&told);
}
