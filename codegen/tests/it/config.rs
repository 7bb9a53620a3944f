//! What is said about `mcp.config.json`.

use expect_test::{Expect, expect};

use crate::support::Small;

fn check(config: &str, expected: Expect) {
    expected.assert_eq(&Small::new(config).shown());
}

#[test]
fn no_json() {
    check(
        "{\n  \"servers\": {\n    \"fs\": { \"command\": \"x\" }\n    \"git\": {}\n  }\n}",
        expect![[r#"
            error: no valid JSON: expected comma
              --> mcp.config.json:3:29
              |
            3 |     "fs": { "command": "x" }
              |                             ^
            hint: put a comma after the value before it
        "#]],
    );
    check(
        "{ 'servers': {} }",
        expect![[r#"
            error: no valid JSON: single-quoted strings are not allowed
              --> mcp.config.json:1:3
              |
            1 | { 'servers': {} }
              |   ^
            hint: use double quotes
        "#]],
    );
    check(
        "{ \"servers\": { ",
        expect![[r#"
            error: no valid JSON: unterminated object
              --> mcp.config.json:1:14
              |
            1 | { "servers": {
              |              ^^
            hint: is a `}` missing?
        "#]],
    );
    check(
        "[]",
        expect![[r#"
            error: the configuration must be an object, but is a list
              --> mcp.config.json:1:1
              |
            1 | []
              | ^^
        "#]],
    );
    check(
        "{ \"servers\": { \"a\": { \"command\": \"C:\\dir\" } } }",
        expect![[r#"
            error: no valid JSON: invalid escape
              --> mcp.config.json:1:37
              |
            1 | { "servers": { "a": { "command": "C:\dir" } } }
              |                                     ^^
            hint: a backslash is written `\\` in JSON
        "#]],
    );
}

#[test]
fn no_servers() {
    check(
        "",
        expect![[r#"
        note: the lock of `fs` belongs to no configured server
          --> locks/fs.json
        hint: delete the file, or configure the server

        note: no child servers are configured: only the native tools are there
          --> mcp.config.json
        hint: add them under `servers`, as `"id": { "command": …, "args": […] }`
    "#]],
    );
    check(
        "{ // nothing yet\n }",
        expect![[r#"
        note: the lock of `fs` belongs to no configured server
          --> locks/fs.json
        hint: delete the file, or configure the server

        note: no child servers are configured: only the native tools are there
          --> mcp.config.json
        hint: add them under `servers`, as `"id": { "command": …, "args": […] }`
    "#]],
    );
}

#[test]
fn comments_commas_and_bom_are_fine() {
    check(
        "\u{feff}{ // why\n \"mcpServers\": { \"fs\": { /* x */ \"command\": \"x\", \"args\": [\"http://a//b\",], }, }, }",
        expect![[""]],
    );
}

#[test]
fn keys() {
    check(
        r#"{
  "severs": {},
  "globalShortcut": "x",
  "_comment": 1,
  "servers": {
    "fs": { "comand": "files", "arg": [], "autoApprove": [], "options": {}, "disabledTools": [], "wall": 1 },
    "git": { "command": "x", "command": "y", "timeout": 600 }
  }
}"#,
        expect![[r#"
            error: unknown key `severs` in the configuration
              --> mcp.config.json:2:3
              |
            2 |   "severs": {},
              |   ^^^^^^^^
            hint: did you mean `servers`?

            error: unknown key `comand` in server `fs`
              --> mcp.config.json:6:13
              |
            6 |     "fs": { "comand": "files", "arg": [], "autoApprove": [], "options": {}, "disabledTools": [], "wall": 1 },
              |             ^^^^^^^^
            hint: did you mean `command`?

            error: unknown key `arg` in server `fs`
              --> mcp.config.json:6:32
              |
            6 |     "fs": { "comand": "files", "arg": [], "autoApprove": [], "options": {}, "disabledTools": [], "wall": 1 },
              |                                ^^^^^
            hint: did you mean `args`?

            error: the key `command` stands twice in the same object
              --> mcp.config.json:7:30
              |
            7 |     "git": { "command": "x", "command": "y", "timeout": 600 }
              |                              ^^^^^^^^^
            hint: delete one of the two; readers of JSON disagree about which one counts

            note: the key `globalShortcut` in the configuration has no meaning here and is ignored
              --> mcp.config.json:3:3
              |
            3 |   "globalShortcut": "x",
              |   ^^^^^^^^^^^^^^^^
            hint: keys read here: servers, mcpServers, discovery, maxConcurrentBoots, lock, hostileContent, skillRegistries, webhooks

            note: `autoApprove` of server `fs` is another program's key and is ignored
              --> mcp.config.json:6:43
              |
            6 |     "fs": { "comand": "files", "arg": [], "autoApprove": [], "options": {}, "disabledTools": [], "wall": 1 },
              |                                           ^^^^^^^^^^^^^
            hint: who may call what is decided by permissions.yml

            note: `options` of server `fs` is another program's key and is ignored
              --> mcp.config.json:6:62
              |
            6 |     "fs": { "comand": "files", "arg": [], "autoApprove": [], "options": {}, "disabledTools": [], "wall": 1 },
              |                                                              ^^^^^^^^^
            hint: no tool is withheld because of it: deny tools in permissions.yml, choose visible ones in a profile

            note: `disabledTools` of server `fs` is another program's key and is ignored
              --> mcp.config.json:6:77
              |
            6 |     "fs": { "comand": "files", "arg": [], "autoApprove": [], "options": {}, "disabledTools": [], "wall": 1 },
              |                                                                             ^^^^^^^^^^^^^^^
            hint: no tool is withheld because of it: deny tools in permissions.yml, choose visible ones in a profile

            note: the key `wall` in server `fs` has no meaning here and is ignored
              --> mcp.config.json:6:98
              |
            6 |     "fs": { "comand": "files", "arg": [], "autoApprove": [], "options": {}, "disabledTools": [], "wall": 1 },
              |                                                                                                  ^^^^^^
            hint: keys read here: command, args, env, cwd, type, transport, url, headers, disabled, enabled, optional, boot, bootTimeoutMs, listTimeoutMs, callTimeoutMs, timeout, idleTimeoutMs, cooldownMs, maxInFlight, maxResultBytes, maxResultTokens, tools, inheritEnv, envFile, oauth, rateLimit, lock, hostileContent, description

            note: `timeout` of server `git` is 600 milliseconds, which few servers keep
              --> mcp.config.json:7:57
              |
            7 |     "git": { "command": "x", "command": "y", "timeout": 600 }
              |                                                         ^^^
            hint: for 600 seconds write 600000
        "#]],
    );
}

#[test]
fn ids() {
    check(
        r#"{
  "servers": { "fs": { "command": "a" }, "github.com/a/b": { "command": "a" }, "": { "command": "a" } },
  "mcpServers": {
    "fs": { "command": "b" },
    "a_name_of_more_than_forty_characters_is_too_long": { "command": "a" }
  }
}"#,
        expect![[r#"
            error: the server id `github.com/a/b` has characters that tool names must not have
              --> mcp.config.json:2:42
              |
            2 |   "servers": { "fs": { "command": "a" }, "github.com/a/b": { "command": "a" }, "": { "command": "a" } },
              |                                          ^^^^^^^^^^^^^^^^
            hint: use letters, digits, `-` and `_`, such as `github-com-a-b`; it becomes the prefix of its tools

            error: a server id is empty
              --> mcp.config.json:2:80
              |
            2 |   "servers": { "fs": { "command": "a" }, "github.com/a/b": { "command": "a" }, "": { "command": "a" } },
              |                                                                                ^^
            hint: give the server a short name, such as `files`

            error: the server id `fs` is given to two servers
              --> mcp.config.json:4:5
              |
            4 |     "fs": { "command": "b" },
              |     ^^^^
            hint: rename one of them; upper and lower case count as the same

            error: the server id `a_name_of_more_than_forty_characters_is_too_long` is 48 characters long, 40 are allowed
              --> mcp.config.json:5:5
              |
            5 |     "a_name_of_more_than_forty_characters_is_too_long": { "command": "a" }
              |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
            hint: shorten it; exposed tool names have 64 characters for id and tool together
        "#]],
    );
}

#[test]
fn two_servers_with_one_id_in_one_object() {
    check(
        "{ \"servers\": {\n  \"fs\": { \"command\": \"a\" },\n  \"fs\": { \"command\": \"b\" } } }",
        expect![[r#"
            error: the server id `fs` is given to two servers
              --> mcp.config.json:3:3
              |
            3 |   "fs": { "command": "b" } } }
              |   ^^^^
            hint: rename one of them; upper and lower case count as the same
        "#]],
    );
}

#[test]
fn values() {
    check(
        r#"{
  "servers": {
    "a": { "command": "x", "args": ["--port", 80, true], "env": { "N": 5 }, "disabled": "true" },
    "b": { "command": "x", "args": "-y", "bootTimeoutMs": "100", "timeout": 0, "boot": "later" },
    "c": { "command": "x", "env": ["TOKEN"], "cwd": null },
    "d": "npx",
    "e": { "command": "x", "boot": "lazy" },
    "f": { "command": " " },
    "g": { "url": "https://a.test", "type": "web" }
  }
}"#,
        expect![[r#"
            error: an element of `args` of server `a` must be a string, but is 80
              --> mcp.config.json:3:47
              |
            3 |     "a": { "command": "x", "args": ["--port", 80, true], "env": { "N": 5 }, "disabled": "true" },
              |                                               ^^
            hint: write it in quotes: "80"

            error: an element of `args` of server `a` must be a string, but is true
              --> mcp.config.json:3:51
              |
            3 |     "a": { "command": "x", "args": ["--port", 80, true], "env": { "N": 5 }, "disabled": "true" },
              |                                                   ^^^^
            hint: write it in quotes: "true"

            error: `N` in `env` of server `a` must be a string, but is 5
              --> mcp.config.json:3:72
              |
            3 |     "a": { "command": "x", "args": ["--port", 80, true], "env": { "N": 5 }, "disabled": "true" },
              |                                                                        ^
            hint: write it in quotes: "5"

            error: `disabled` of server `a` must be true or false, but is a string
              --> mcp.config.json:3:89
              |
            3 |     "a": { "command": "x", "args": ["--port", 80, true], "env": { "N": 5 }, "disabled": "true" },
              |                                                                                         ^^^^^^
            hint: write it without quotes: true

            error: `args` of server `b` must be a list of strings, but is a string
              --> mcp.config.json:4:36
              |
            4 |     "b": { "command": "x", "args": "-y", "bootTimeoutMs": "100", "timeout": 0, "boot": "later" },
              |                                    ^^^^

            error: `bootTimeoutMs` of server `b` must be a whole number above 0, but is a string
              --> mcp.config.json:4:59
              |
            4 |     "b": { "command": "x", "args": "-y", "bootTimeoutMs": "100", "timeout": 0, "boot": "later" },
              |                                                           ^^^^^
            hint: write it without quotes: 100

            error: `timeout` of server `b` must be a whole number above 0, but is 0
              --> mcp.config.json:4:77
              |
            4 |     "b": { "command": "x", "args": "-y", "bootTimeoutMs": "100", "timeout": 0, "boot": "later" },
              |                                                                             ^

            error: `boot` of server `b` is `later`, which is none of `eager`, `lazy`
              --> mcp.config.json:4:88
              |
            4 |     "b": { "command": "x", "args": "-y", "bootTimeoutMs": "100", "timeout": 0, "boot": "later" },
              |                                                                                        ^^^^^^^

            error: `env` of server `c` must be an object of strings, but is a list
              --> mcp.config.json:5:35
              |
            5 |     "c": { "command": "x", "env": ["TOKEN"], "cwd": null },
              |                                   ^^^^^^^^^
            hint: to hand variables through by name, list them in `inheritEnv`

            error: server `d` must be an object, but is a string
              --> mcp.config.json:6:10
              |
            6 |     "d": "npx",
              |          ^^^^^

            error: `command` of server `f` is empty
              --> mcp.config.json:8:23
              |
            8 |     "f": { "command": " " },
              |                       ^^^
            hint: name the program to start

            error: `type` of server `g` is `web`, which is none of `stdio`, `http`, `streamable-http`, `streamableHttp`, `sse`
              --> mcp.config.json:9:45
              |
            9 |     "g": { "url": "https://a.test", "type": "web" }
              |                                             ^^^^^
        "#]],
    );
}

#[test]
fn transports() {
    check(
        r#"{
  "servers": {
    "a": {},
    "b": { "command": "x", "url": "https://a.test" },
    "c": { "type": "http", "command": "x" },
    "d": { "type": "sse", "url": "https://a.test" },
    "e": { "type": "sse", "command": "x" },
    "f": { "type": "streamable-http", "url": "https://a.test" },
    "g": { "command": "x", "url": "https://a.test", "type": "stdio" }
  }
}"#,
        expect![[r#"
            error: server `a` has neither `command` nor `url`
              --> mcp.config.json:3:5
              |
            3 |     "a": {},
              |     ^^^
            hint: a program needs `command` and `args`, a remote server needs `url`

            error: server `b` has both `command` and `url`
              --> mcp.config.json:4:35
              |
            4 |     "b": { "command": "x", "url": "https://a.test" },
              |                                   ^^^^^^^^^^^^^^^^
            hint: keep one of them, or say which with `type`

            error: server `c` has no `url`
              --> mcp.config.json:5:5
              |
            5 |     "c": { "type": "http", "command": "x" },
              |     ^^^
            hint: a program needs `command` and `args`, a remote server needs `url`

            error: server `e` has no `url`
              --> mcp.config.json:7:5
              |
            7 |     "e": { "type": "sse", "command": "x" },
              |     ^^^
            hint: a program needs `command` and `args`, a remote server needs `url`
        "#]],
    );
}

#[test]
fn placeholders() {
    check(
        r#"{
  "servers": {
    "a": { "command": "${A", "args": ["${input:key}", "${workspaceFolder}/x"], "env": { "K": "$KEY", "L": "%KEY%" } },
    "b": { "url": "${A:-https://a.test}/${B C}", "headers": { "H": "{env:KEY}" } }
  }
}"#,
        expect![[r#"
            error: `command` of server `a` has a `${` without its `}`
              --> mcp.config.json:3:23
              |
            3 |     "a": { "command": "${A", "args": ["${input:key}", "${workspaceFolder}/x"], "env": { "K": "$KEY", "L": "%KEY%" } },
              |                       ^^^^^
            hint: close it: `${NAME}` or `${NAME:-default}`

            error: an argument of server `a` has the placeholder `${input:key}`, which names no variable
              --> mcp.config.json:3:39
              |
            3 |     "a": { "command": "${A", "args": ["${input:key}", "${workspaceFolder}/x"], "env": { "K": "$KEY", "L": "%KEY%" } },
              |                                       ^^^^^^^^^^^^^^
            hint: an editor asks for inputs, evokore cannot: name an environment variable, as in `${NAME}`

            error: `url` of server `b` has the placeholder `${B C}`, which names no variable
              --> mcp.config.json:4:19
              |
            4 |     "b": { "url": "${A:-https://a.test}/${B C}", "headers": { "H": "{env:KEY}" } }
              |                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
            hint: write `${NAME}`, `${NAME:-default}` or `${env:NAME}`

            note: an argument of server `a` needs `workspaceFolder`, which editors fill in and evokore does not
              --> mcp.config.json:3:55
              |
            3 |     "a": { "command": "${A", "args": ["${input:key}", "${workspaceFolder}/x"], "env": { "K": "$KEY", "L": "%KEY%" } },
              |                                                       ^^^^^^^^^^^^^^^^^^^^^^
            hint: set an environment variable of this name, or write the path in place of `${workspaceFolder}`

            note: `K` in `env` of server `a` is handed on as it stands: `$KEY` is no placeholder
              --> mcp.config.json:3:94
              |
            3 |     "a": { "command": "${A", "args": ["${input:key}", "${workspaceFolder}/x"], "env": { "K": "$KEY", "L": "%KEY%" } },
              |                                                                                              ^^^^^^
            hint: did you mean `${KEY}`?

            note: `L` in `env` of server `a` is handed on as it stands: `%KEY%` is no placeholder
              --> mcp.config.json:3:107
              |
            3 |     "a": { "command": "${A", "args": ["${input:key}", "${workspaceFolder}/x"], "env": { "K": "$KEY", "L": "%KEY%" } },
              |                                                                                                           ^^^^^^^
            hint: did you mean `${KEY}`?

            note: `H` in `headers` of server `b` is handed on as it stands: `{env:KEY}` is no placeholder
              --> mcp.config.json:4:68
              |
            4 |     "b": { "url": "${A:-https://a.test}/${B C}", "headers": { "H": "{env:KEY}" } }
              |                                                                    ^^^^^^^^^^^
            hint: did you mean `${KEY}`?
        "#]],
    );
}

#[test]
fn dialects() {
    for (config, expected) in [
        (
            r#"{ "mcp": { "a": { "type": "local", "command": ["x"] } } }"#,
            expect![[r#"
                error: servers under `mcp` are the dialect of OpenCode and of VS Code's settings, which is not read
                  --> mcp.config.json:1:3
                  |
                1 | { "mcp": { "a": { "type": "local", "command": ["x"] } } }
                  |   ^^^^^
                hint: move its servers under `servers`, with `command` as one string and the rest in `args`
            "#]],
        ),
        (
            r#"{ "context_servers": { "a": {} } }"#,
            expect![[r#"
                error: servers under `context_servers` are the dialect of Zed, which is not read
                  --> mcp.config.json:1:3
                  |
                1 | { "context_servers": { "a": {} } }
                  |   ^^^^^^^^^^^^^^^^^
                hint: move its servers under `servers`, with `command`, `args` and `env` side by side
            "#]],
        ),
        (
            r#"{ "mcp_servers": { "a": {} } }"#,
            expect![[r#"
                error: servers under `mcp_servers` are the dialect of Codex, which is not read
                  --> mcp.config.json:1:3
                  |
                1 | { "mcp_servers": { "a": {} } }
                  |   ^^^^^^^^^^^^^
                hint: move its servers under `servers`
            "#]],
        ),
        (
            "[mcp_servers.a]\ncommand = \"x\"\n",
            expect![[r#"
            error: no valid JSON: unexpected token
              --> mcp.config.json:1:2
              |
            1 | [mcp_servers.a]
              |  ^^^^^^^^^^^
            hint: this is the TOML of Codex; write it as JSON: { "servers": { "id": { "command": … } } }
        "#]],
        ),
        (
            "name: mine\nmcpServers:\n  - name: a\n",
            expect![[r#"
            error: no valid JSON: unexpected word
              --> mcp.config.json:1:1
              |
            1 | name: mine
              | ^^^^
            hint: this is YAML, as Continue has it; write it as JSON: { "servers": { "id": { "command": … } } }
        "#]],
        ),
        (
            r#"{ "servers": [ { "name": "a" } ] }"#,
            expect![[r#"
                error: `servers` is a list, the dialect of some proxies, which is not read
                  --> mcp.config.json:1:3
                  |
                1 | { "servers": [ { "name": "a" } ] }
                  |   ^^^^^^^^^
                hint: write an object: "id": { "command": …, "args": […] }
            "#]],
        ),
        (
            r#"{ "mcpServers": { "a": { "command": ["npx", "-y"] } } }"#,
            expect![[r#"
                error: `command` of server `a` must be a string; this is the dialect of OpenCode
                  --> mcp.config.json:1:37
                  |
                1 | { "mcpServers": { "a": { "command": ["npx", "-y"] } } }
                  |                                     ^^^^^^^^^^^^^
                hint: write the program as a string and the rest as a list in `args`
            "#]],
        ),
        (
            r#"{ "mcpServers": { "a": { "command": { "path": "x" } } } }"#,
            expect![[r#"
                error: `command` of server `a` must be a string; this is the dialect of Zed
                  --> mcp.config.json:1:37
                  |
                1 | { "mcpServers": { "a": { "command": { "path": "x" } } } }
                  |                                     ^^^^^^^^^^^^^^^
                hint: write the program as a string and the rest as a list in `args`
            "#]],
        ),
    ] {
        check(config, expected);
    }
}

#[test]
fn limits_of_results() {
    let config = |members: &str| format!("{{ \"servers\": {{ \"fs\": {{ \"command\": \"x\", {members} }} }} }}");
    let small = Small::new(&config(
        "\"maxResultBytes\": 1000, \"maxResultTokens\": 20, \"tools\": { \"read_file\": { \"maxResultTokens\": 7 }, \"write_file\": {} }",
    ));
    let compilation = small.compile();
    assert!(compilation.problems.is_empty(), "{}", small.shown());
    let server = compilation.model.servers[0];
    assert_eq!((server.max_result_bytes, server.max_result_tokens), (Some(1000), Some(20)));
    let tools: Vec<_> = server.tools.iter().map(|rule| (rule.name, rule.max_result_tokens)).collect();
    assert_eq!(tools, [("read_file", Some(7)), ("write_file", None)]);
    check(
        &config("\"tools\": { \"fs_read_file\": { \"maxResultTokens\": 7 } }"),
        expect![[r#"
        error: `tools` of server `fs` limits `fs_read_file`, which its lock does not know
          --> mcp.config.json:1:51
          |
        1 | { "servers": { "fs": { "command": "x", "tools": { "fs_read_file": { "maxResultTokens": 7 } } } } }
          |                                                   ^^^^^^^^^^^^^^
        hint: limits are given by the server's own names: write `read_file`
    "#]],
    );
    check(
        &config(
            "\"maxResultBytes\": 0, \"tools\": { \"a\": 5, \"read_file\": { \"maxResultToken\": 5, \"maxResultTokens\": \"5\" } }",
        ),
        expect![[r#"
            error: `maxResultBytes` of server `fs` must be a whole number above 0, but is 0
              --> mcp.config.json:1:58
              |
            1 | { "servers": { "fs": { "command": "x", "maxResultBytes": 0, "tools": { "a": 5, "read_file": { "maxResultToken": 5, "maxResultTokens": "5" } } } } }
              |                                                          ^

            error: `a` in `tools` of server `fs` must be an object, but is 5
              --> mcp.config.json:1:77
              |
            1 | { "servers": { "fs": { "command": "x", "maxResultBytes": 0, "tools": { "a": 5, "read_file": { "maxResultToken": 5, "maxResultTokens": "5" } } } } }
              |                                                                             ^

            error: unknown key `maxResultToken` in `read_file` in `tools` of server `fs`
              --> mcp.config.json:1:95
              |
            1 | { "servers": { "fs": { "command": "x", "maxResultBytes": 0, "tools": { "a": 5, "read_file": { "maxResultToken": 5, "maxResultTokens": "5" } } } } }
              |                                                                                               ^^^^^^^^^^^^^^^^
            hint: did you mean `maxResultTokens`?

            error: `maxResultTokens` of `read_file` in `tools` of server `fs` must be a whole number above 0, but is a string
              --> mcp.config.json:1:135
              |
            1 | { "servers": { "fs": { "command": "x", "maxResultBytes": 0, "tools": { "a": 5, "read_file": { "maxResultToken": 5, "maxResultTokens": "5" } } } } }
              |                                                                                                                                       ^^^
            hint: write it without quotes: 5
        "#]],
    );
    check(
        &config("\"tools\": [\"a\"]"),
        expect![[r#"
        note: `tools` of server `fs` is another program's key and is ignored
          --> mcp.config.json:1:40
          |
        1 | { "servers": { "fs": { "command": "x", "tools": ["a"] } } }
          |                                        ^^^^^^^
        hint: no tool is withheld because of it: deny tools in permissions.yml, choose visible ones in a profile
    "#]],
    );
}
