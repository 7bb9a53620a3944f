//! Configurations as other programs write them, read from a folder beside the checkout when it is there.

use std::fs;

use evokore_codegen::problem::Severity;
use expect_test::expect;

use crate::support::{Small, repository};

#[test]
fn files_of_other_programs() {
    let folder = repository().join("../shared/faults/handed/config");
    if !folder.is_dir() {
        println!("skipped: {} is not there", folder.display());
        return;
    }
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut report = String::new();
    for file in &files {
        let compilation = Small::new(&fs::read_to_string(file).unwrap()).lock("locks/none.json", "{}").compile();
        let servers: Vec<&str> = compilation.model.servers.iter().map(|server| server.id).collect();
        report.push_str(&format!("{}: {}\n", file.file_name().unwrap().to_string_lossy(), servers.join(" ")));
        for problem in compilation.problems.iter().filter(|problem| problem.file != "locks/none.json") {
            let kind = if problem.severity == Severity::Error { "error" } else { "note" };
            report.push_str(&format!("  {kind}: {}\n", problem.message));
        }
    }
    expect![[r#"
        01_claude_desktop.json: files tracker
          note: the key `globalShortcut` in the configuration has no meaning here and is ignored
        02_claude_code_project.json: local api old
        03_vscode_mcp.jsonc: local remote
          error: `KEY` in `env` of server `local` has the placeholder `${input:demo-key}`, which names no variable
          error: `X-Key` in `headers` of server `remote` has the placeholder `${input:demo-key}`, which names no variable
          note: `inputs` are questions that an editor asks; evokore asks none
          note: an argument of server `local` needs `workspaceFolder`, which editors fill in and evokore does not
          note: `envFile` of server `local` needs `workspaceFolder`, which editors fill in and evokore does not
        04_cursor.json: remote local
        05_evokore.json: fs voice lab remote
          error: profile `coding` declares mandatory skills but shows no tool that reaches them
          error: profile `coding` declares the mandatory skill `orch-plan`, which does not exist
        06_gemini_settings.json: a b c d
          note: the key `theme` in the configuration has no meaning here and is ignored
          note: `trust` of server `a` is another program's key and is ignored
          note: `includeTools` of server `a` is another program's key and is ignored
          note: `excludeTools` of server `a` is another program's key and is ignored
          note: `X-Key` in `headers` of server `b` is handed on as it stands: `$DEMO_TOKEN` is no placeholder
          note: `K` in `env` of server `d` is handed on as it stands: `%DEMO_TOKEN%` is no placeholder
        07_cline.json: db
          error: the server id `github.com/example/tracker-mcp` has characters that tool names must not have
          note: `autoApprove` of server `github.com/example/tracker-mcp` is another program's key and is ignored
          note: `timeout` of server `github.com/example/tracker-mcp` is 600 milliseconds, which few servers keep
          note: `alwaysAllow` of server `db` is another program's key and is ignored
        08_proxy_with_options.json: tracker maps
          note: the key `mcpProxy` in the configuration has no meaning here and is ignored
          note: `options` of server `tracker` is another program's key and is ignored
        09_bom_server_url.json: remote local
          note: `disabledTools` of server `local` is another program's key and is ignored
        10_windows.json: a b c
        11_opencode.jsonc: 
          error: servers under `mcp` are the dialect of OpenCode and of VS Code's settings, which is not read
        12_zed.jsonc: 
          error: servers under `context_servers` are the dialect of Zed, which is not read
          note: the key `ui_font_size` in the configuration has no meaning here and is ignored
        13_codex.toml: 
          error: no valid JSON: unexpected word
        14_docker_run.json: tracker
        15_uvx_git.json: tools
          error: the server id `naïve-地图` has characters that tool names must not have
        16_server_list.json: 
          error: `servers` is a list, the dialect of some proxies, which is not read
        17_continue.yaml: 
          error: no valid JSON: unexpected word
        18_empty.json: 
          note: no child servers are configured: only the native tools are there
        19_default_in_default.json: c
    "#]].assert_eq(&report);
}
