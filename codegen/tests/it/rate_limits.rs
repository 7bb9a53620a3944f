//! What becomes of `rateLimit`.

use expect_test::expect;

use crate::support::Small;

#[test]
fn both_notations_and_what_is_none() {
    let of = |limit: &str| {
        let config = format!("{{ \"servers\": {{ \"fs\": {{ \"command\": \"x\", \"rateLimit\": {limit} }} }} }}");
        let compilation = Small::new(&config).compile();
        let found = compilation.model.servers.first().and_then(|server| server.rate_limit);
        let problems = compilation.problems.iter().map(|problem| {
            let hint = problem.hint.as_deref().unwrap_or("none");
            format!("\n  {}\n    hint: {hint}", problem.message)
        });
        format!("{limit}\n  {found:?}{}\n", problems.collect::<String>())
    };
    let told: String = [
        r#"{ "requestsPerMinute": 30 }"#,
        r#"{ "maxTokens": 5, "refillRate": 1, "refillIntervalMs": 250 }"#,
        r#"{ "requestsPerMinute": 9, "toolLimits": { "read_file": 3, "write_file": { "maxTokens": 1, "refillRate": 2, "refillIntervalMs": 5 } } }"#,
        r#"{ "toolLimits": { "read_file": { "requestsPerMinute": 4 } } }"#,
        r#"{}"#,
        r#"60"#,
        r#"{ "requestsPerMinute": 0, "maxTokens": -1, "refillRate": 1.5, "refillIntervalMs": "9" }"#,
        r#"{ "requestPerMinute": 9, "burst": 2 }"#,
        r#"{ "requestsPerMinute": 9, "maxTokens": 2 }"#,
        r#"{ "maxTokens": 2, "refillRate": 2 }"#,
        r#"{ "requestsPerMinute": 1000001 }"#,
        r#"{ "toolLimits": { "fs_read_file": 1, "reed_file": 1, "other": 1, "write_file": 1 } }"#,
        r#"{ "toolLimits": { "write_file": {}, "read_file": 0 } }"#,
    ]
    .into_iter()
    .map(of)
    .collect();
    expect![[r#"
        { "requestsPerMinute": 30 }
          Some(RateLimit { server: Some(Rate { burst: 30, refill: 30, interval_ms: 60000 }), tools: [] })
        { "maxTokens": 5, "refillRate": 1, "refillIntervalMs": 250 }
          Some(RateLimit { server: Some(Rate { burst: 5, refill: 1, interval_ms: 250 }), tools: [] })
        { "requestsPerMinute": 9, "toolLimits": { "read_file": 3, "write_file": { "maxTokens": 1, "refillRate": 2, "refillIntervalMs": 5 } } }
          Some(RateLimit { server: Some(Rate { burst: 9, refill: 9, interval_ms: 60000 }), tools: [("read_file", Rate { burst: 3, refill: 3, interval_ms: 60000 }), ("write_file", Rate { burst: 1, refill: 2, interval_ms: 5 })] })
        { "toolLimits": { "read_file": { "requestsPerMinute": 4 } } }
          Some(RateLimit { server: None, tools: [("read_file", Rate { burst: 4, refill: 4, interval_ms: 60000 })] })
        {}
          None
          `rateLimit` of server `fs` limits nothing
            hint: write `"requestsPerMinute": 60`, or delete it
        60
          None
          `rateLimit` of server `fs` must be an object, but is 60
            hint: none
        { "requestsPerMinute": 0, "maxTokens": -1, "refillRate": 1.5, "refillIntervalMs": "9" }
          None
          `requestsPerMinute` in `rateLimit` of server `fs` is 0, which would let no call pass
            hint: give a number above 0; to let no call pass, deny the tools in permissions.yml
          `maxTokens` in `rateLimit` of server `fs` must be a whole number above 0, but is -1
            hint: none
          `refillRate` in `rateLimit` of server `fs` must be a whole number above 0, but is 1.5
            hint: none
          `refillIntervalMs` in `rateLimit` of server `fs` must be a whole number above 0, but is a string
            hint: write it without quotes: 9
        { "requestPerMinute": 9, "burst": 2 }
          None
          unknown key `requestPerMinute` in `rateLimit` of server `fs`
            hint: did you mean `requestsPerMinute`?
          `rateLimit` of server `fs` limits nothing
            hint: write `"requestsPerMinute": 60`, or delete it
          the key `burst` in `rateLimit` of server `fs` has no meaning here and is ignored
            hint: keys read here: requestsPerMinute, maxTokens, refillRate, refillIntervalMs, toolLimits
        { "requestsPerMinute": 9, "maxTokens": 2 }
          None
          `rateLimit` of server `fs` has both `requestsPerMinute` and the numbers of a bucket
            hint: keep one notation: `requestsPerMinute`, or `maxTokens`, `refillRate` and `refillIntervalMs`
        { "maxTokens": 2, "refillRate": 2 }
          None
          `rateLimit` of server `fs` lacks `refillIntervalMs`
            hint: a bucket of `maxTokens` calls gets `refillRate` new ones every `refillIntervalMs` milliseconds
        { "requestsPerMinute": 1000001 }
          None
          `requestsPerMinute` in `rateLimit` of server `fs` is above 1000000
            hint: delete a limit that limits nothing
        { "toolLimits": { "fs_read_file": 1, "reed_file": 1, "other": 1, "write_file": 1 } }
          Some(RateLimit { server: None, tools: [("fs_read_file", Rate { burst: 1, refill: 1, interval_ms: 60000 }), ("reed_file", Rate { burst: 1, refill: 1, interval_ms: 60000 }), ("other", Rate { burst: 1, refill: 1, interval_ms: 60000 }), ("write_file", Rate { burst: 1, refill: 1, interval_ms: 60000 })] })
          `toolLimits` of server `fs` limits `fs_read_file`, which its lock does not know
            hint: limits are given by the server's own names: write `read_file`
          `toolLimits` of server `fs` limits `reed_file`, which its lock does not know
            hint: did you mean `read_file`?
          `toolLimits` of server `fs` limits `other`, which its lock does not know
            hint: make the lock anew if the server has changed
        { "toolLimits": { "write_file": {}, "read_file": 0 } }
          None
          the limit of `write_file` in `rateLimit` of server `fs` lacks `maxTokens` and `refillRate` and `refillIntervalMs`
            hint: a bucket of `maxTokens` calls gets `refillRate` new ones every `refillIntervalMs` milliseconds
          the limit of `read_file` in `rateLimit` of server `fs` is 0, which would let no call pass
            hint: give a number above 0; to let no call pass, deny the tools in permissions.yml
    "#]].assert_eq(&told);
}
