//! Files of other programs, in our own words, and what becomes of them.

use expect_test::{Expect, expect};

use super::*;

/// Everything that is decided about `text`, the file `path`: the dialect, the entries as they would be shown, the report.
fn imported(path: &str, text: &str) -> String {
    let found = match source::read(Path::new(path), text, Some(Path::new("/home/me"))) {
        Ok(found) => found,
        Err(Refusal { line, column, message }) => return format!("{line}:{column}: {message}\n"),
    };
    let plan = plan(&found);
    let entries = plan.servers.iter().map(|it| {
        let entry = serde_json::to_string(&it.shown).expect("JSON");
        format!("  {}: {entry}\n", it.server.id)
    });
    format!("{:?}\n{}{}", found.dialect, entries.collect::<String>(), told(&plan, None, false))
}

fn check(path: &str, text: &str, expected: Expect) {
    expected.assert_eq(&imported(path, text));
}

#[test]
fn claude_desktop_and_what_is_odd_in_it() {
    check(
        "/home/me/claude_desktop_config.json",
        "\u{feff}{ // mine\n\"globalShortcut\": \"x\", \"mcpServers\": {
            \"files\": {\"command\": \"npx -y files\", \"args\": null, \"env\": {\"PORT\": 8080, \"API_KEY\": \"hunter2\", \"LEVEL\": \"debug\"}},
            \"tracker\": {\"command\": \"docker\", \"args\": [\"run\", \"-e\", \"TOKEN=hunter2\", \"tracker\"]},
            \"evokore\": {\"command\": \"/opt/bin/evokore\", \"args\": [\"serve\"]},
            \"Ünïcode / Wörter\": {\"command\": \"./run me.sh\"}, \"nothing\": {}, \"odd\": 3,
        }}"
            .trim_start_matches('\u{feff}'),
        expect![[r#"
            Plain
              files: {"command":"npx","args":["-y","files"],"env":{"PORT":"8080","API_KEY":"${API_KEY}","LEVEL":"debug"}}
              tracker: {"command":"docker","args":["run","-e","TOKEN=${TRACKER_ARG_2}","tracker"]}
              W-rter: {"command":"./run me.sh"}

              take `files`
                `command` held a whole command line, which is split at its blanks
                secret in the clear: `env.API_KEY`, which would be compiled into the executable; write `${API_KEY}` there and `API_KEY=…` into `.env`

              take `tracker`
                secret in the clear: `args[2]`, which would be compiled into the executable; write `${TRACKER_ARG_2}` there and `TRACKER_ARG_2=…` into `.env`

              take `W-rter`
                it is called `Ünïcode / Wörter` there
                the relative command `./run me.sh` starts at the folder of evokore's configuration now

              leave `evokore` is evokore itself

              leave `nothing`: it has neither a command nor a URL
        "#]],
    );
}

#[test]
fn claude_code_and_its_projects() {
    check(
        "/home/me/.claude.json",
        r#"{"mcpServers": {"a": {"type": "stdio", "command": "a"}},
            "projects": {"/src/one": {"mcpServers": {"a": {"command": "./a.sh"}, "b": {"type": "sse", "url": "https://h.test/sse"}}},
                         "/src/two": {"allowedTools": []}}}"#,
        expect![[r#"
            ClaudeCode
              a: {"command":"a"}
              a-2: {"command":"/src/one/a.sh","cwd":"/src/one"}
              b: {"type":"sse","url":"https://h.test/sse"}

              take `a`

              take `a-2`
                it is called `a` there
                it is started in `/src/one`, as in its project

              take `b`
                it is reached over the older transport `sse`; its Streamable HTTP endpoint is the better one, if it has one
        "#]],
    );
    check(
        "/src/one/.mcp.json",
        r#"{"mcpServers": {"api": {"type": "http", "url": "${BASE:-https://h.test}/mcp", "headers": {"Authorization": "Bearer ${TOKEN:-none}"}}}}"#,
        expect![[r#"
            Plain
              api: {"type":"http","url":"${BASE:-https://h.test}/mcp","headers":{"Authorization":"Bearer ${TOKEN:-none}"}}

              take `api`
        "#]],
    );
}

#[test]
fn editors() {
    check(
        "/src/one/.vscode/mcp.json",
        r#"{"inputs": [{"id": "the-key", "password": true}],
            "servers": {"l": {"type": "stdio", "command": "python3", "args": ["${workspaceFolder}/x.py", "${input:the-key}"],
                              "env": {"K": "${input:the-key}", "H": "${userHome}"}, "envFile": "${workspaceFolder}/.env", "dev": {"watch": "x"}},
                        "r": {"type": "http", "url": "https://h.test/mcp", "headers": {"X-Key": "${env:KEY}"}}}}"#,
        expect![[r#"
            VsCode
              l: {"command":"python3","args":["/src/one/x.py","${THE_KEY}"],"env":{"K":"${THE_KEY}","H":"${userHome}"},"cwd":"/src/one","envFile":"/src/one/.env"}
              r: {"type":"http","url":"https://h.test/mcp","headers":{"X-Key":"${KEY}"}}

              take `l`
                `args[1]`: the editor asked for `the-key`; set the variable `THE_KEY`
                `env.K`: the editor asked for `the-key`; set the variable `THE_KEY`
                it is started in `/src/one`, as in its project
                `dev` is not kept: it has no meaning here

              take `r`
        "#]],
    );
    check(
        "/home/me/.cursor/mcp.json",
        r#"{"mcpServers": {"l": {"command": "uvx", "args": ["x", "${workspaceFolder}"], "envFile": ".env"}}}"#,
        expect![[r#"
            Plain
              l: {"command":"uvx","args":["x","${workspaceFolder}"],"envFile":".env"}

              take `l`
                `args[1]`: `${workspaceFolder}` is the folder of an editor's project; write a path in its place
        "#]],
    );
    check(
        "/home/me/settings.json",
        r#"{"context_servers": {"old": {"command": {"path": "python3", "args": ["x.py"], "env": null}, "settings": {}},
            "new": {"source": "custom", "command": "python3", "args": ["x.py"], "env": {}}, "empty": {}}}"#,
        expect![[r#"
            Zed
              old: {"command":"python3","args":["x.py"]}
              new: {"command":"python3","args":["x.py"]}

              take `old`
                `settings` is not kept: it has no meaning here

              take `new`
                `source` is not kept: it has no meaning here

              leave `empty`: it has neither a command nor a URL
        "#]],
    );
    check(
        "/home/me/.codeium/windsurf/mcp_config.json",
        r#"{"mcpServers": {"w": {"serverUrl": "https://h.test/mcp?key=hunter2", "disabledTools": ["drop", "wipe"]}}}"#,
        expect![[r#"
            Windsurf
              w: {"url":"https://h.test/mcp?key=${W_URL_SECRET}"}

              take `w`
                `disabledTools` is not kept: give `w_drop`, `w_wipe` the level `deny` in permissions.yml
                secret in the clear: `url`, which would be compiled into the executable; write `${W_URL_SECRET}` there and `W_URL_SECRET=…` into `.env`
        "#]],
    );
    check(
        "/home/me/cline_mcp_settings.json",
        r#"{"mcpServers": {"github.com/some/tracker": {"autoApprove": ["x"], "timeout": 600, "command": "node", "args": ["b.js"], "transportType": "stdio"},
            "gitlab.com/other/tracker/": {"alwaysAllow": [], "disabled": true, "command": "npx", "args": ["-y", "x", "--access-token", "hunter2"]}}}"#,
        expect![[r#"
            Cline
              tracker: {"command":"node","args":["b.js"],"callTimeoutMs":600000}
              tracker-2: {"command":"npx","args":["-y","x","--access-token","${TRACKER_2_ARG_3}"],"disabled":true}

              take `tracker`
                it is called `github.com/some/tracker` there
                `timeout` is in seconds there: `callTimeoutMs` is 600000 milliseconds
                `autoApprove` is not kept: who may call what is decided by permissions.yml

              take `tracker-2`
                it is called `gitlab.com/other/tracker/` there
                secret in the clear: `args[3]`, which would be compiled into the executable; write `${TRACKER_2_ARG_3}` there and `TRACKER_2_ARG_3=…` into `.env`
        "#]],
    );
}

#[test]
fn programs_for_terminals() {
    check(
        "/home/me/.codex/config.toml",
        "model = \"m\"\n[mcp_servers.l]\ncommand = \"python3\"\nargs = [\"x.py\"]\ncwd = \"~/code\"\nenv = { \"API_KEY\" = \"hunter2\" }\nenv_vars = [\"PASS\"]\nstartup_timeout_sec = 12.5\ntool_timeout_sec = 0\nenabled_tools = [\"echo\"]\n[mcp_servers.\"dotted.name\"]\nurl = \"https://h.test/mcp\"\nbearer_token_env_var = \"TOKEN\"\nenabled = false\n[mcp_servers.\"dotted.name\".env_http_headers]\nX-Team = \"TEAM\"\n",
        expect![[r#"
            Codex
              l: {"command":"python3","args":["x.py"],"env":{"API_KEY":"${API_KEY}"},"inheritEnv":["PASS"],"cwd":"~/code","bootTimeoutMs":12500}
              dotted-name: {"url":"https://h.test/mcp","headers":{"X-Team":"${TEAM}","Authorization":"Bearer ${TOKEN}"},"disabled":true}

              take `l`
                `tool_timeout_sec` is 0, which is no time-out, and is not kept
                `startup_timeout_sec` is in seconds there: `bootTimeoutMs` is 12500 milliseconds
                `enabled_tools` is not kept, all its tools are offered: deny the others in permissions.yml, or name `l_echo` in a profile
                secret in the clear: `env.API_KEY`, which would be compiled into the executable; write `${API_KEY}` there and `API_KEY=…` into `.env`

              take `dotted-name`
                it is called `dotted.name` there
        "#]],
    );
    check(
        "/src/one/.gemini/settings.json",
        r#"{"theme": "x", "mcpServers": {"a": {"command": "bash", "args": ["run.sh"], "cwd": "tools", "timeout": 15000, "trust": true, "includeTools": ["one"], "excludeTools": ["two"]},
            "b": {"httpUrl": "https://h.test/mcp", "headers": {"X-Key": "$TOKEN", "Authorization": "Bearer $TOKEN"}}, "c": {"command": "x.exe", "env": {"K": "%TOKEN%"}}}}"#,
        expect![[r#"
            Gemini
              a: {"command":"bash","args":["run.sh"],"cwd":"/src/one/tools","callTimeoutMs":15000}
              b: {"type":"http","url":"https://h.test/mcp","headers":{"X-Key":"${TOKEN}","Authorization":"Bearer ${TOKEN}"}}
              c: {"command":"x.exe","env":{"K":"${TOKEN}"},"cwd":"/src/one"}

              take `a`
                `excludeTools` is not kept: give `a_two` the level `deny` in permissions.yml
                `includeTools` is not kept, all its tools are offered: deny the others in permissions.yml, or name `a_one` in a profile
                `trust` is not kept: who may call what is decided by permissions.yml

              take `b`

              take `c`
                it is started in `/src/one`, as in its project
        "#]],
    );
    check(
        "/home/me/opencode.json",
        r#"{"mcp": {"l": {"type": "local", "command": ["npx", "-y", "x"], "environment": {"K": "{env:TOKEN}", "F": "{file:~/key}"}, "enabled": true, "timeout": 5000},
            "r": {"type": "remote", "url": "https://h.test/mcp", "enabled": false}}}"#,
        expect![[r#"
            OpenCode
              l: {"command":"npx","args":["-y","x"],"env":{"K":"${TOKEN}","F":"{file:~/key}"},"bootTimeoutMs":5000}
              r: {"url":"https://h.test/mcp","disabled":true}

              take `l`
                `env.F`: `{file:~/key}` cannot be read here; set a variable and write `${NAME}`

              take `r`
        "#]],
    );
    check(
        "/home/me/config.yaml",
        "name: mine\nmcpServers:\n  - name: My Server\n    command: uvx\n    args:\n      - sqlite\n      - ./test.db\n    env:\n      KEY: ${{ secrets.SQLITE_KEY }}\n  - name: My server\n    type: streamable-http\n    url: https://h.test/mcp\n    requestOptions:\n      headers:\n        Authorization: Bearer hunter2\n",
        expect![[r#"
            Continue
              My-Server: {"command":"uvx","args":["sqlite","./test.db"],"env":{"KEY":"${SQLITE_KEY}"}}
              My-server-2: {"type":"http","url":"https://h.test/mcp","headers":{"Authorization":"Bearer ${MY_SERVER_2_AUTHORIZATION}"}}

              take `My-Server`
                it is called `My Server` there

              take `My-server-2`
                it is called `My server` there
                secret in the clear: `headers.Authorization`, which would be compiled into the executable; write `${MY_SERVER_2_AUTHORIZATION}` there and `MY_SERVER_2_AUTHORIZATION=…` into `.env`
        "#]],
    );
    check(
        "/home/me/list.json",
        r#"{"servers": [{"name": "One", "transport": {"command": "/srv/one"}}, {"name": "Two", "transport": {"command": "two", "env": ["NAME", "A=b"]}},
            {"name": "Three", "transport": {"type": "sse", "url": "http://127.0.0.1:9/sse"}}, "odd"]}"#,
        expect![[r#"
            List
              One: {"command":"/srv/one"}
              Two: {"command":"two","env":{"A":"b"},"inheritEnv":["NAME"]}
              Three: {"type":"sse","url":"http://127.0.0.1:9/sse"}

              take `One`

              take `Two`

              take `Three`
                it is reached over the older transport `sse`; its Streamable HTTP endpoint is the better one, if it has one
        "#]],
    );
    check(
        "/home/me/mcp.config.json",
        r#"{"servers": {"a": {"command": "a", "boot": "lazy", "whatever": 1}}, "discovery": {}}"#,
        expect![[r#"
            Evokore
              a: {"command":"a","boot":"lazy","whatever":1}

              take `a`
        "#]],
    );
}

#[test]
fn what_is_not_understood() {
    for (path, text, told) in [
        ("/x.json", "{\n \"mcpServers\": {,}}", "2:17: "),
        ("/x.json", "{}", "1:1: there are no MCP servers in this file"),
        ("/x.json", "", "1:1: there are no MCP servers in this file"),
        ("/x.json", "[]", "1:1: there are no MCP servers in this file"),
        ("/x.toml", "a = 1\nb = = 2\n", "2:5: "),
        ("/x.yaml", "a: [1\nb: 2\n", ":"),
    ] {
        let refusal = imported(path, text);
        assert!(refusal.starts_with(told) || (told == ":" && refusal.contains("no YAML")), "{text:?}: {refusal}");
    }
    assert!(source::read(Path::new("/x.json"), &"[".repeat(100_000), None).is_err());
}

#[test]
fn ids_are_safe_and_unique() {
    for (name, id) in [
        ("fs", "fs"),
        ("a/b/My Server!", "My-Server"),
        ("地图", "server"),
        ("dotted.name", "dotted-name"),
        ("_x_", "_x_"),
        (&"n".repeat(99), &"n".repeat(40)),
    ] {
        assert_eq!(ids::safe(name), id, "{name}");
    }
    let long = "n".repeat(40);
    let taken = ["FS".to_owned(), "fs-2".to_owned(), long.clone()];
    assert_eq!((ids::unique("fs", &taken).as_str(), ids::unique("git", &taken).as_str()), ("fs-3", "git"));
    assert_eq!(ids::unique(&long, &taken), format!("{}-2", "n".repeat(38)));
}
