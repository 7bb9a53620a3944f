//! What becomes of the limits of a server, and of the one of all together.

use expect_test::expect;

use crate::support::Small;

/// What `members` of a server's entry come to, and what is said of them.
fn limits(members: &str) -> String {
    let compilation = Small::new(&format!(r#"{{ "servers": {{ "fs": {{ "command": "x", {members} }} }} }}"#)).compile();
    let limits = compilation.model.servers.first().map(|server| format!("{:?}", server.limits)).unwrap_or_default();
    let problems: String = compilation.problems.iter().map(|problem| format!("  {}\n", problem.message)).collect();
    format!("{members}\n  {}\n{problems}", limits.replace("Limits ", "").replace("None", "-"))
}

#[test]
fn every_limit_is_read_and_checked() {
    let told: String = [
        r#""boot": "eager""#,
        r#""bootTimeoutMs": 1000, "listTimeoutMs": 2000, "timeout": 3000, "idleTimeoutMs": 4000, "cooldownMs": 0, "maxInFlight": 6"#,
        r#""cooldownMs": 86400000, "maxInFlight": 1000"#,
        r#""cooldownMs": 86400001, "maxInFlight": 1001, "idleTimeoutMs": 0"#,
        r#""cooldownMs": -1, "maxInFlight": 0, "listTimeoutMs": "5""#,
    ]
    .into_iter()
    .map(limits)
    .collect();
    expect![[r#"
        "boot": "eager"
          { boot_timeout_ms: -, list_timeout_ms: -, call_timeout_ms: -, idle_timeout_ms: -, cooldown_ms: -, max_in_flight: - }
        "bootTimeoutMs": 1000, "listTimeoutMs": 2000, "timeout": 3000, "idleTimeoutMs": 4000, "cooldownMs": 0, "maxInFlight": 6
          { boot_timeout_ms: Some(1000), list_timeout_ms: Some(2000), call_timeout_ms: Some(3000), idle_timeout_ms: Some(4000), cooldown_ms: Some(0), max_in_flight: Some(6) }
        "cooldownMs": 86400000, "maxInFlight": 1000
          { boot_timeout_ms: -, list_timeout_ms: -, call_timeout_ms: -, idle_timeout_ms: -, cooldown_ms: Some(86400000), max_in_flight: Some(1000) }
        "cooldownMs": 86400001, "maxInFlight": 1001, "idleTimeoutMs": 0
          { boot_timeout_ms: -, list_timeout_ms: -, call_timeout_ms: -, idle_timeout_ms: -, cooldown_ms: -, max_in_flight: - }
          `cooldownMs` of server `fs` is over a day (86400000 milliseconds)
          `maxInFlight` of server `fs` is over 1000
          `idleTimeoutMs` of server `fs` must be a whole number above 0, but is 0
        "cooldownMs": -1, "maxInFlight": 0, "listTimeoutMs": "5"
          { boot_timeout_ms: -, list_timeout_ms: -, call_timeout_ms: -, idle_timeout_ms: -, cooldown_ms: -, max_in_flight: - }
          `cooldownMs` of server `fs` must be a whole number, but is -1
          `maxInFlight` of server `fs` must be a whole number above 0, but is 0
          `listTimeoutMs` of server `fs` must be a whole number above 0, but is a string
    "#]].assert_eq(&told);
}

#[test]
fn boots_at_the_same_time() {
    for (members, expected) in [
        ("", 8),
        (r#", "maxConcurrentBoots": 2"#, 2),
        (r#", "maxConcurrentBoots": 0"#, 8),
        (r#", "maxConcurrentBoots": "3""#, 8),
    ] {
        let compilation =
            Small::new(&format!(r#"{{ "servers": {{ "fs": {{ "command": "x" }} }}{members} }}"#)).compile();
        assert_eq!(compilation.model.max_concurrent_boots, expected, "{members}");
        let is_wrong = compilation.problems.iter().any(|problem| problem.message.contains("maxConcurrentBoots"));
        assert_eq!(is_wrong, expected == 8 && !members.is_empty(), "{members}");
    }
}
