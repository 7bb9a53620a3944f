//! `evokore import`: what is said, what is written, and what is not.

use expect_test::expect;

use super::Sandbox;

const CONFIG: &str = r#"{
  // what runs here
  "servers": {
    "files": { "command": "mine" }, // stays
  },
  "discovery": { "tokenizer": "o200k_base" },
}
"#;

const OTHERS: &str = r#"{"mcpServers": {
    "Files": {"command": "npx", "args": ["-y", "files"]},
    "web": {"command": "uvx", "args": ["fetch", "--token", "hunter2"], "env": {"API_KEY": "hunter2"}, "trust": true}}}"#;

#[test]
fn servers_are_added_and_the_rest_stays() {
    let sandbox = Sandbox::new("import");
    sandbox.write("conf/mcp.config.json", CONFIG);
    sandbox.write("work/theirs.json", OTHERS);
    let mut told = sandbox.transcript(&["import", "theirs.json", "--dry-run"]);
    assert_eq!(sandbox.read("conf/mcp.config.json"), CONFIG, "a dry run writes nothing");
    told.push_str(&sandbox.transcript(&["import", "theirs.json"]));
    assert_eq!(sandbox.read("conf/mcp.config.json.bak"), CONFIG);
    let written = sandbox.read("conf/mcp.config.json");
    told.push_str(&sandbox.transcript(&["import", "theirs.json"]));
    assert_eq!(sandbox.read("conf/mcp.config.json"), written, "a second time changes nothing");
    told.push_str(&sandbox.transcript(&["import", "theirs.json", "--stdout"]));
    assert!(!told.contains("hunter2"), "no secret is shown: {told}");
    expect![[r#"
        $ evokore import theirs.json --dry-run
        `theirs.json` is written like Gemini CLI: 2 servers

          keep `Files`: one of this id is configured and stays; `--replace` puts this one in its place

          add `web`
            {"command":"uvx","args":["fetch","--token","${WEB_ARG_2}"],"env":{"API_KEY":"${API_KEY}"}}
            `trust` is not kept: who may call what is decided by permissions.yml
            secret in the clear: `env.API_KEY`, which would be compiled into the executable; write `${API_KEY}` there and `API_KEY=…` into `.env`
            secret in the clear: `args[2]`, which would be compiled into the executable; write `${WEB_ARG_2}` there and `WEB_ARG_2=…` into `.env`

        would write 1 server into `<root>/conf/mcp.config.json`

        $ evokore import theirs.json
        `theirs.json` is written like Gemini CLI: 2 servers

          keep `Files`: one of this id is configured and stays; `--replace` puts this one in its place

          add `web`
            `trust` is not kept: who may call what is decided by permissions.yml
            secret in the clear: `env.API_KEY`, which would be compiled into the executable; write `${API_KEY}` there and `API_KEY=…` into `.env`
            secret in the clear: `args[2]`, which would be compiled into the executable; write `${WEB_ARG_2}` there and `WEB_ARG_2=…` into `.env`

        wrote 1 server into `<root>/conf/mcp.config.json`
        what was there: `<root>/conf/mcp.config.json.bak`
        next: the configuration is compiled in, so build evokore again (`cargo build --release`), then `evokore doctor`

        $ evokore import theirs.json
        `theirs.json` is written like Gemini CLI: 2 servers

          keep `Files`: one of this id is configured and stays; `--replace` puts this one in its place

          keep `web`: one of this id is configured and stays; `--replace` puts this one in its place

        nothing to write: `<root>/conf/mcp.config.json` stays as it is

        $ evokore import theirs.json --stdout
        {
          "servers": {
            "Files": {
              "command": "npx",
              "args": [
                "-y",
                "files"
              ]
            },
            "web": {
              "command": "uvx",
              "args": [
                "fetch",
                "--token",
                "${WEB_ARG_2}"
              ],
              "env": {
                "API_KEY": "${API_KEY}"
              }
            }
          }
        }
        `theirs.json` is written like Gemini CLI: 2 servers

          take `Files`

          take `web`
            `trust` is not kept: who may call what is decided by permissions.yml
            secret in the clear: `env.API_KEY`, which would be compiled into the executable; write `${API_KEY}` there and `API_KEY=…` into `.env`
            secret in the clear: `args[2]`, which would be compiled into the executable; write `${WEB_ARG_2}` there and `WEB_ARG_2=…` into `.env`

    "#]].assert_eq(&told);
    expect![[r#"
        {
          // what runs here
          "servers": {
            "files": { "command": "mine" }, // stays
            "web": {
              "command": "uvx",
              "args": ["fetch", "--token", "hunter2"],
              "env": {
                "API_KEY": "hunter2",
              },
            },
          },
          "discovery": { "tokenizer": "o200k_base" },
        }
    "#]]
    .assert_eq(&written);

    sandbox.run(&["import", "theirs.json", "--replace"]).content();
    let written = sandbox.read("conf/mcp.config.json");
    assert!(written.contains("\"command\": \"npx\"") && !written.contains("mine"), "{written}");
    assert!(written.contains("// stays") && written.contains("// what runs here"), "{written}");
    let names = std::fs::read_dir(sandbox.path("conf")).unwrap().flatten();
    assert_eq!(names.count(), 2, "no temporary file is left");
}

#[test]
fn a_configuration_that_is_not_there_is_made() {
    let sandbox = Sandbox::new("import-new");
    sandbox.write("work/config.toml", "[mcp_servers.web]\ncommand = \"uvx\"\n");
    sandbox.run(&["import", "config.toml"]).content();
    let written = "{\n  \"servers\": {\n    \"web\": {\n      \"command\": \"uvx\"\n    }\n  }\n}\n";
    assert_eq!(sandbox.read("conf/mcp.config.json").trim_start(), written);
}

#[test]
fn what_cannot_be_read_is_said_and_left() {
    let sandbox = Sandbox::new("import-wrong");
    sandbox.write("work/good.json", OTHERS);
    sandbox.write("work/bad.json", "{\n  \"mcpServers\": {,}\n}");
    sandbox.write("work/other.json", "{\"theme\": \"dark\"}");
    sandbox.write("conf/mcp.config.json", "{ \"servers\": [] }");
    let mut told = String::new();
    for file in ["bad.json", "other.json", "gone.json", "good.json"] {
        told.push_str(&sandbox.transcript(&["import", file]));
    }
    expect![[r#"
        $ evokore import bad.json
        error: <root>/work/bad.json:2:18: unexpected token in object
        [exit 2]

        $ evokore import other.json
        error: <root>/work/other.json:1:1: there are no MCP servers in this file
        [exit 2]

        $ evokore import gone.json
        error: there is no file `<root>/work/gone.json`
        [exit 2]

        $ evokore import good.json
        error: <root>/conf/mcp.config.json:1:14: `servers` is no object
        [exit 2]

    "#]]
    .assert_eq(&told);
    assert_eq!(sandbox.read("conf/mcp.config.json"), "{ \"servers\": [] }");
}
