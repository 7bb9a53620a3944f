//! What is listed can be read; what is shown of the configuration holds no secret.

use std::sync::Arc;

use evokore_catalog::server::{Boot, Dialect, LockKind, Rate, RateLimit, ServerSpec, ToolRule, Transport};
use expect_test::expect;
use serde_json::Value;

use super::{CATEGORIES, CONFIG, STATUS, completions, list, read, server, templates};
use crate::app::App;
use crate::catalog::CATALOG;
use crate::settings::Settings;
use crate::skills::Library;
use crate::skills::tests::compiled;

fn app() -> Arc<App> {
    let (settings, _) = Settings::resolve(&CATALOG, &|_| None).unwrap();
    App::new(settings, Library::with(compiled(), None))
}

fn document(app: &App, uri: &str) -> Value {
    let answer = read(app, uri).unwrap();
    assert_eq!(answer["contents"][0]["mimeType"], "application/json");
    serde_json::from_str(answer["contents"][0]["text"].as_str().unwrap()).unwrap()
}

#[test]
fn everything_listed_can_be_read() {
    let app = app();
    let listed = list(&app);
    let listed = listed["resources"].as_array().unwrap();
    let mut shown = String::new();
    for resource in listed {
        let uri = resource["uri"].as_str().unwrap();
        let contents = &read(&app, uri).unwrap_or_else(|| panic!("{uri}"))["contents"][0];
        assert_eq!((&contents["uri"], &contents["mimeType"]), (&resource["uri"], &resource["mimeType"]));
        let text = contents["text"].as_str().unwrap();
        assert!(!text.is_empty());
        assert!(resource.get("size").is_none_or(|size| size == text.len()), "{uri}");
        shown.push_str(&format!("{uri} {} {}\n", resource["name"], resource["title"]));
    }
    expect![[r#"
        evokore://server/status "server-status" "Server status"
        evokore://server/config "server-config" "Server configuration"
        evokore://skills/categories "skill-categories" "Skill categories"
        skill://DEV/checklist "checklist" "Skill: checklist"
        skill://DEV/code-review "code-review" "Skill: code-review"
        skill://DEV/lint "lint" "Skill: lint"
        skill://OPS/deploy "deploy" "Skill: deploy"
        skill://OPS/lint "lint" "Skill: lint"
        skill://OPS/release "release" "Skill: release"
    "#]]
    .assert_eq(&shown);
    assert_eq!(templates()["resourceTemplates"][0]["uriTemplate"], "skill://{category}/{name}");
}

#[test]
fn nothing_else_can_be_read() {
    let app = app();
    for uri in [
        "",
        "skill://",
        "skill://DEV/",
        "skill://code-review",
        "skill://DEV/../../etc/passwd",
        "skill://DEV/%2e%2e/x",
        "file:///etc/passwd",
        "/etc/passwd",
        "evokore://server/",
        "evokore://server/secrets",
    ] {
        assert!(read(&app, uri).is_none(), "{uri}");
    }
}

#[test]
fn the_documents_about_the_server() {
    let app = app();
    let status = document(&app, STATUS);
    assert_eq!(status["skillCount"], 6);
    assert_eq!((&status["discoveryMode"], &status["version"]), (&"dynamic".into(), &env!("CARGO_PKG_VERSION").into()));
    assert!(status["toolCount"].as_u64().unwrap() >= u64::from(CATALOG.natives));
    let children: Vec<&str> =
        status["childServers"].as_array().unwrap().iter().filter_map(|child| child["id"].as_str()).collect();
    assert_eq!(children, CATALOG.servers.iter().map(|spec| spec.id).collect::<Vec<_>>());
    let config = document(&app, CONFIG);
    let ids: Vec<&str> = config["servers"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(ids, CATALOG.servers.iter().map(|spec| spec.id).collect::<Vec<_>>());
    expect![[r#"
        {
          "totalSkills": 6,
          "categories": [
            {
              "name": "DEV",
              "count": 3
            },
            {
              "name": "OPS",
              "count": 3
            }
          ]
        }"#]]
    .assert_eq(read(&app, CATEGORIES).unwrap()["contents"][0]["text"].as_str().unwrap());
}

#[test]
fn a_server_without_its_secrets() {
    let spec = ServerSpec {
        id: "x",
        transport: Transport::Stdio {
            command: "npx",
            args: &["-y", "some-server@1.2.3", "--api-key", "abc", "${ROOT:-/srv}", "https://u:p@host/?k=v"],
            env: &[("API_TOKEN", "Bearer ${TOKEN:-dflt}"), ("LITERAL", "abc"), ("EMPTY", "")],
            cwd: Some("/srv"),
        },
        disabled: true,
        optional: true,
        boot: Boot::Lazy,
        inherit_env: &["LANG"],
        max_result_bytes: Some(1000),
        tools: &[ToolRule { name: "t", max_result_tokens: Some(9) }],
        rate_limit: Some(RateLimit { server: None, tools: &[("t", Rate { burst: 9, refill: 1, interval_ms: 20 })] }),
        lock: LockKind::Full,
        description: "does x",
        ..ServerSpec::ABSENT
    };
    let http = Transport::Http {
        url: "https://host/s/ab12cd34ef56gh78ij90?token=abc",
        headers: &[("Authorization", "Bearer abc"), ("X-Key", "${KEY}")],
        dialect: Dialect::Either,
    };
    let shown = [server::server(&spec), server::server(&ServerSpec { id: "x", transport: http, ..ServerSpec::ABSENT })];
    expect![[r#"
        [
          {
            "type": "stdio",
            "command": "npx",
            "args": [
              "-y",
              "some-server@1.2.3",
              "--api-key",
              "***",
              "${ROOT}",
              "https://***@host/?k=***"
            ],
            "env": {
              "API_TOKEN": "${TOKEN}",
              "EMPTY": "",
              "LITERAL": "***"
            },
            "cwd": "/srv",
            "inheritEnv": [
              "LANG"
            ],
            "disabled": true,
            "optional": true,
            "boot": "lazy",
            "maxResultBytes": 1000,
            "tools": {
              "t": {
                "maxResultTokens": 9
              }
            },
            "rateLimit": {
              "toolLimits": {
                "t": {
                  "maxTokens": 9,
                  "refillRate": 1,
                  "refillIntervalMs": 20
                }
              }
            },
            "lock": "full",
            "description": "does x"
          },
          {
            "type": "http",
            "url": "https://host/s/***?token=***",
            "headers": {
              "Authorization": "***",
              "X-Key": "${KEY}"
            }
          }
        ]"#]]
    .assert_eq(&serde_json::to_string_pretty(&shown).unwrap());
}

#[test]
fn parts_of_the_template_are_completed() {
    let app = app();
    assert_eq!(completions(&app, "category", ""), ["DEV", "OPS"]);
    assert_eq!(completions(&app, "category", "d"), ["DEV"]);
    assert_eq!(completions(&app, "name", "l"), ["lint"]);
    assert_eq!(completions(&app, "other", ""), Vec::<String>::new());
}
