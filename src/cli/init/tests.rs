//! Merging into files as people have them: everything but the entry stays, byte for byte.

use expect_test::{Expect, expect};

use super::clients::Format;
use super::entry::{Change, Entry};
use super::{difference, merge};

const JSON: Format = Format::Json { key: "mcpServers", typed: false };
const TYPED: Format = Format::Json { key: "servers", typed: true };

fn entry(env: &[(&str, &str)]) -> Entry {
    let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Entry { command: "/opt/evokore".to_owned(), args: vec!["serve".to_owned()], env }
}

fn merged(format: Format, text: &str, env: &[(&str, &str)]) -> String {
    let first = match merge(format, text, &entry(env)) {
        Ok(merged) => merged,
        Err(refusal) => return format!("{}:{}: {}", refusal.line, refusal.column, refusal.message),
    };
    let again = merge(format, &first.text, &entry(env)).expect("what was written is read");
    assert_eq!((again.change, &again.text), (Change::None, &first.text), "a second time changes nothing");
    assert_eq!(first.change == Change::None, first.text == text, "the change is told as it is");
    first.text
}

fn check(format: Format, text: &str, expected: Expect) {
    expected.assert_eq(&merged(format, text, &[]));
}

#[test]
fn new_files() {
    let text = "{\n  \"mcpServers\": {\n    \"evokore\": {\n      \"command\": \"/opt/evokore\",\n      \"args\": [\"serve\"]\n    }\n  }\n}\n";
    for empty in ["", " \n", "{}", "{}\n"] {
        assert_eq!(merged(JSON, empty, &[]).trim_start(), text, "{empty:?}");
    }
    assert_eq!(merged(JSON, "// nothing yet", &[]), format!("// nothing yet\n{text}"));
    check(
        TYPED,
        "{}\n",
        expect![[r#"
            {
              "servers": {
                "evokore": {
                  "type": "stdio",
                  "command": "/opt/evokore",
                  "args": ["serve"]
                }
              }
            }
        "#]],
    );
    check(
        Format::Toml,
        "",
        expect![[r#"
            [mcp_servers.evokore]
            command = "/opt/evokore"
            args = ["serve"]
        "#]],
    );
}

#[test]
fn comments_order_and_other_entries_stay() {
    check(
        JSON,
        r#"{
    // my servers
    "theme": "dark", /* kept */
    "mcpServers": {
        "git": {"command":"uvx",   "args":["mcp-server-git"]}, // odd spacing is mine
    },
    "numbers": [1e3, 0.10],
}
"#,
        expect![[r#"
            {
                // my servers
                "theme": "dark", /* kept */
                "mcpServers": {
                    "git": {"command":"uvx",   "args":["mcp-server-git"]}, // odd spacing is mine
                    "evokore": {
                        "command": "/opt/evokore",
                        "args": ["serve"],
                    },
                },
                "numbers": [1e3, 0.10],
            }
        "#]],
    );
    check(
        Format::Toml,
        r#"# mine
model = "x"   # kept

[mcp_servers.git]
command = "uvx"
args = [ "mcp-server-git" ]

[tui]
theme = "dark"
"#,
        expect![[r#"
            # mine
            model = "x"   # kept

            [mcp_servers.git]
            command = "uvx"
            args = [ "mcp-server-git" ]

            [mcp_servers.evokore]
            command = "/opt/evokore"
            args = ["serve"]

            [tui]
            theme = "dark"
        "#]],
    );
}

#[test]
fn an_existing_entry_keeps_what_is_not_ours() {
    let json = r#"{
  "mcpServers": {
    "evokore": {
      "command": "/old/evokore", // moved
      "args": [],
      "env": { "EVOKORE_ROLE": "readonly" },
      "timeout": 5
    },
    "other": {}
  }
}
"#;
    expect![[r#"
        {
          "mcpServers": {
            "evokore": {
              "command": "/opt/evokore", // moved
              "args": ["serve"],
              "env": {
                "EVOKORE_ROLE": "readonly",
                "EVOKORE_DISCOVERY_PROFILE": "lean"
              },
              "timeout": 5
            },
            "other": {}
          }
        }
    "#]]
    .assert_eq(&merged(JSON, json, &[("EVOKORE_DISCOVERY_PROFILE", "lean")]));
    let toml = r#"[mcp_servers.evokore]
command = "/old/evokore" # moved
args = []
startup_timeout_sec = 20
env = { EVOKORE_ROLE = "readonly" }
"#;
    expect![[r#"
        [mcp_servers.evokore]
        command = "/opt/evokore" # moved
        args = ["serve"]
        startup_timeout_sec = 20
        env = { EVOKORE_ROLE = "readonly", EVOKORE_DISCOVERY_PROFILE = "lean" }
    "#]]
    .assert_eq(&merged(Format::Toml, toml, &[("EVOKORE_DISCOVERY_PROFILE", "lean")]));
    let table = "[mcp_servers.evokore.env]\nEVOKORE_DISCOVERY_PROFILE = \"coding\"\n";
    expect![[r#"
        [mcp_servers.evokore]
        command = "/opt/evokore"
        args = ["serve"]
        [mcp_servers.evokore.env]
        EVOKORE_DISCOVERY_PROFILE = "lean"
    "#]]
    .assert_eq(&merged(Format::Toml, table, &[("EVOKORE_DISCOVERY_PROFILE", "lean")]));
}

#[test]
fn inline_tables_and_foreign_line_ends() {
    check(
        Format::Toml,
        "mcp_servers = { git = { command = \"uvx\" } }\n",
        expect![[r#"
            mcp_servers = { git = { command = "uvx" } , evokore = { command = "/opt/evokore", args = ["serve"] } }
        "#]],
    );
    for (format, text) in [(JSON, "{\r\n  \"a\": 1\r\n}\r\n"), (Format::Toml, "a = 1\r\n\r\n[b]\r\nc = 2\r\n")] {
        let text = merged(format, text, &[]);
        assert_eq!(text.matches('\n').count(), text.matches("\r\n").count(), "{text:?}");
    }
}

#[test]
fn what_is_not_understood_is_refused_with_its_place() {
    let cases = [
        (JSON, "{\n  \"mcpServers\": {\n    \"a\": {} \"b\": {}\n  }\n}"),
        (JSON, "{ \"mcpServers\": {"),
        (JSON, "{\n  'mcpServers': {}\n}"),
        (JSON, "[]"),
        (JSON, "{ \"mcpServers\": [] }"),
        (JSON, "{ \"mcpServers\": {},\n  \"mcpServers\": {} }"),
        (JSON, "{ \"mcpServers\": { \"evokore\": \"x\" } }"),
        (JSON, "{ \"mcpServers\": { \"evokore\": { \"url\": \"https://example.org\" } } }"),
        (JSON, "{ \"ä\": \"ö\", nothing }"),
        (Format::Toml, "a = 1\nb = = 2\n"),
        (Format::Toml, "[mcp_servers\n"),
        (Format::Toml, "x = 1\nmcp_servers = 3\n"),
        (Format::Toml, "[mcp_servers]\nevokore = 3\n"),
        (Format::Toml, "[mcp_servers.evokore]\nurl = \"https://example.org\"\n"),
    ];
    let told: Vec<String> = cases.iter().map(|(format, text)| merged(*format, text, &[]) + "\n").collect();
    expect![[r#"
        3:12: expected comma
        1:17: unterminated object
        2:3: single-quoted strings are not allowed
        1:1: an object is expected here
        1:17: `mcpServers` is no object
        2:3: `mcpServers` stands here a second time
        1:30: `evokore` is no object
        1:32: `evokore` is a remote server here
        1:13: expected string for object property
        2:5: extra `=`, expected nothing
        1:13: unclosed table, expected `]`
        2:1: `mcp_servers` is no table
        2:1: `evokore` is no table
        2:1: `evokore` is a remote server here
    "#]]
    .assert_eq(&told.concat());
    let deep = "[".repeat(100_000);
    assert!(merge(JSON, &deep, &entry(&[])).is_err());
    assert!(merge(Format::Toml, &format!("a = {deep}"), &entry(&[])).is_err());
}

#[test]
fn the_difference_shows_changed_lines_only() {
    assert_eq!(difference("a\nb\nc\n", "a\nx\ny\nc\n"), "  at line 2\n  - b\n  + x\n  + y\n");
    assert_eq!(difference("a\n", "a\nb\n"), "  at line 2\n  + b\n");
    assert_eq!(difference("a\na\n", "a\na\na\n"), "  at line 3\n  + a\n");
}
