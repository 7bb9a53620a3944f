//! What passes through unchanged, byte for byte: definitions, arguments, results, errors. The child sends what the test
//! writes, and the test reads what the child heard.

use std::path::PathBuf;

use expect_test::expect;
use serde_json::json;

use super::{LONG, Sandbox, Session, eventually, modern};

/// A sandbox whose server `fs` answers with these lines, and a session that shows every tool.
struct Played {
    sandbox: Sandbox,
    session: Session,
}

impl Played {
    /// Each line is what is answered, a tab, and members of the answer. Tool `about` is to be among those listed.
    fn start(name: &str, lines: &[String]) -> Option<Played> {
        Played::start_with(name, lines, &[])
    }

    fn start_with(name: &str, lines: &[String], variables: &[(&str, &str)]) -> Option<Played> {
        let mut sandbox = Sandbox::new(name);
        for (variable, value) in variables {
            sandbox.set(variable, value);
        }
        let file = sandbox.path("work/played");
        if !sandbox.with_fs_server_that(&[&format!("replay={}", file.display())]) {
            return None;
        }
        sandbox.write("work/played", lines.join("\n"));
        sandbox.set("EVOKORE_TOOL_DISCOVERY_MODE", "legacy");
        let mut session = Session::greeted(&sandbox);
        session.wait_for_child();
        Some(Played { sandbox, session })
    }

    /// Sends a request with these parameters and gives back the line that answers it.
    fn line(&mut self, id: &str, method: &str, params: &str) -> String {
        self.session.raw(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#) + "\n");
        let start = format!(r#"{{"jsonrpc":"2.0","id":{id},"#);
        loop {
            let line = self.session.lines.recv_timeout(LONG).unwrap_or_else(|_| panic!("no answer to {id}"));
            if line.starts_with(&start) {
                return line;
            }
        }
    }

    /// The last line that the child heard.
    fn heard(&self) -> String {
        let file: PathBuf = self.sandbox.path("work/played.heard");
        std::fs::read_to_string(file).unwrap().lines().last().unwrap().to_owned()
    }
}

const ABOUT: &str = r#"{"name":"about","inputSchema":{"type":"object"}}"#;

fn list(tools: &[&str]) -> String {
    format!("tools/list\t\"result\":{{\"tools\":[{ABOUT},{}]}}", tools.join(","))
}

/// Legal definitions that a typed reader would change, named `a.b`, which becomes another name in the list.
const DEFINITIONS: [&str; 6] = [
    r##"{"zeta":{"b":1.10,"a":9007199254740993},"title":"T\u0069tle","name":"NAME","inputSchema":{"type":"object","zz":1e2,"$defs":{"Q":{"type":"object","properties":{"__proto__":{"default":1.50}}}},"properties":{"q":{"$ref":"#/$defs/Q"},"a":{"maximum":18446744073709551615}},"required":["q"]}}"##,
    r#"{"name":"NAME","icons":[{"src":"data:image/png;base64,AA==","sizes":["any"],"theme":"dark"}],"execution":{"taskSupport":"optional"},"annotations":{"x":1.0,"readOnlyHint":true,"destructiveHint":false},"_meta":{"vendor.example/z":1.10,"ui":{"resourceUri":"ui://x"}},"inputSchema":{"type":"object"}}"#,
    r#"{"name":"NAME","inputSchema":{"type":"object","anyOf":[{"required":["path"]},{"required":["url"]}]},"outputSchema":{"type":"object","oneOf":[{"z":1.10},{"a":-0}]}}"#,
    r#"{"name":"NAME","inputSchema":{"type":"object","allOf":[{"if":{"properties":{"mode":{"const":"big"}}},"then":{"required":["n"]}}]},"description":"≤ 日本 \ud83d\ude00 \\/ \u2028"}"#,
    r##"{"name":"NAME","inputSchema":{"type":"object","definitions":{"Item":{"enum":["a","b"]}},"properties":{"item":{"$ref":"#/definitions/Item"}},"additionalProperties":false}}"##,
    r#"{"inputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{}},"constructor":null,"stack":[],"":0,"name":"NAME"}"#,
];

#[test]
fn a_definition_keeps_its_bytes_but_for_its_name() {
    let named = |id: &str| -> Vec<String> {
        (0..).zip(DEFINITIONS).map(|(n, text)| text.replace("NAME", &format!("{id}t{n}"))).collect()
    };
    let sent = named("");
    let lines = [list(&sent.iter().map(String::as_str).collect::<Vec<_>>())];
    let Some(mut played) = Played::start("bytes-lists", &lines) else { return };
    for (id, params) in [("71", "{}".to_owned()), ("72", modern(json!({})).to_string())] {
        let list = played.line(id, "tools/list", &params);
        for definition in named("fs_") {
            assert!(list.contains(&definition), "{definition}\nis not in\n{list}");
        }
    }
    let status = played.session.call("proxy_server_status", json!({"server_id": "fs"}));
    let server = &status["structuredContent"]["servers"][0];
    assert_eq!((server.get("notes"), server.get("skippedTools")), (None, None), "{server}");
}

/// Names that clients refuse, schemas that cost strict clients the whole list, entries that are no tools, a name that
/// comes twice and cursors that go in circles.
#[test]
fn what_is_wrong_with_a_list_costs_single_entries_and_is_told() {
    const SCHEMA: &str = r#""inputSchema":{"type":"object"}"#;
    let long = "x".repeat(80);
    let odd = ["a.b", "repo/create", "repo:create", "with space", "naïve", &long];
    let named: Vec<String> = odd.iter().map(|name| format!(r#"{{"name":"{name}",{SCHEMA}}}"#)).collect();
    let page = |cursor: &str, tools: &str, next: &str| {
        format!("tools/list{cursor}\t\"result\":{{\"tools\":[{tools}],\"nextCursor\":\"{next}\"}}")
    };
    let faulty = [
        r#"{"name":"empty","inputSchema":{}}"#,
        r#"{"name":"text","inputSchema":{"type":"string"}}"#,
        r#"{"name":"true","inputSchema":true}"#,
        r#"{"name":"null","inputSchema":null}"#,
        r#"{"name":"absent"}"#,
        r#"{"name":"any","inputSchema":{"anyOf":[{"required":["x"]}]}}"#,
        r#"{"name":"hints","annotations":{"readOnlyHint":"yes"},"inputSchema":{"type":"object"}}"#,
    ];
    let beyond = [
        r#"{"name":"infinite","inputSchema":{"type":"object","maximum":1e999}}"#,
        r#"{"title":"nameless"}"#,
        "7",
        r#"{"name":"absent","other":1}"#,
    ];
    let good = format!(r#"{{"name":"good",{SCHEMA}}}"#);
    let lines = [
        page("", &format!("{ABOUT},{}", named.join(",")), "2"),
        page(" 2", &faulty.join(","), "3"),
        page(" 3", &format!("{},{good}", beyond.join(",")), "2"),
        "tools/call a.b\t\"result\":{\"own\":1}".to_owned(),
        format!("tools/call {long}\t\"result\":{{\"own\":2}}"),
    ];
    let Some(mut played) = Played::start("bytes-odd", &lines) else { return };
    let list = played.session.ask("tools/list", json!({}));
    let listed =
        list["tools"].as_array().unwrap().iter().filter(|tool| tool["name"].as_str().unwrap().starts_with("fs_"));
    let listed: Vec<_> = listed.collect();
    let names: Vec<&str> = listed.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 1 + odd.len() + faulty.len() + 1, "{names:?}");
    let is_safe =
        |name: &&str| name.len() <= 64 && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    assert!(names.iter().all(is_safe), "{names:?}");
    assert!(listed.iter().all(|tool| tool["inputSchema"]["type"] == "object"), "{listed:?}");
    let any = listed.iter().find(|tool| tool["name"] == "fs_any").unwrap();
    assert_eq!(any["inputSchema"]["anyOf"], json!([{"required": ["x"]}]));

    let status = played.session.call("proxy_server_status", json!({"server_id": "fs"}));
    let server = &status["structuredContent"]["servers"][0];
    let told: Vec<String> = server["skippedTools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|skip| format!("{}: {}", skip["name"].as_str().unwrap(), skip["reason"].as_str().unwrap()))
        .chain(server["notes"].as_array().unwrap().iter().map(|note| note.as_str().unwrap().to_owned()))
        .collect();
    expect![[r#"
        entry 16: it has no name
        entry 17: it is no object
        absent: an earlier tool of this server has the same name
        infinite: `inputSchema` holds what no JSON reader takes, such as a number out of range
        gives the same cursor twice; the list ends there
        tool `empty` is listed mended: `inputSchema` is not of type `object`
        tool `text` is listed mended: `inputSchema` is not of type `object`
        tool `true` is listed mended: `inputSchema` is no object
        tool `null` is listed mended: `inputSchema` is no object
        tool `absent` is listed mended: it has no `inputSchema`
        tool `any` is listed mended: `inputSchema` is not of type `object`
        tool `hints` is listed mended: `annotations.readOnlyHint` is no boolean"#]]
    .assert_eq(&told.join("\n"));

    // The child hears its own spelling.
    for (start, own) in [("fs_a_b_", 1), ("fs_xxxx", 2)] {
        let name = names.iter().find(|name| name.starts_with(start)).unwrap();
        assert_eq!(played.session.call(name, json!({})), json!({ "own": own }), "{name}");
    }
}

#[test]
fn a_list_that_changes_is_listed_as_it_is_then() {
    let tools = |hint: bool, more: &str| {
        list(&[
            r#"{"name":"grow","inputSchema":{"type":"object"}}"#,
            &format!(
                r#"{{"name":"t","inputSchema":{{"type":"object"}},"annotations":{{"readOnlyHint":{hint}}}{more}}}"#
            ),
        ])
    };
    let mut sandbox = Sandbox::new("bytes-changes");
    let replay = format!("replay={}", sandbox.path("work/played").display());
    if !sandbox.with_fs_server_that(&[&replay, "more"]) {
        return;
    }
    sandbox.write("work/played", tools(true, ""));
    sandbox.set("EVOKORE_TOOL_DISCOVERY_MODE", "legacy");
    let mut session = Session::greeted(&sandbox);
    session.wait_for_child();
    for (hint, more) in [(true, ""), (false, ""), (false, r#","title":"T","icons":[]"#)] {
        sandbox.write("work/played", tools(hint, more));
        session.call("fs_grow", json!({}));
        let expected = if more.is_empty() { json!({"readOnlyHint": hint}) } else { json!("T") };
        eventually("the list is the new one", || {
            let list = session.ask("tools/list", json!({}));
            let tool = list["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "fs_t").cloned().unwrap();
            *if more.is_empty() { &tool["annotations"] } else { &tool["title"] } == expected
        });
    }
}

#[test]
fn results_errors_and_arguments_keep_their_bytes() {
    const TOOL: &str = r#"{"name":"t","inputSchema":{"type":"object"}}"#;
    let results = [
        r#""result":{"zeta":1.10,"content":[{"type":"text","text":"≤ \u2028\ud83d\ude00","annotations":{"priority":0.30}},{"type":"image","data":"AA==","mimeType":"image/png"},{"type":"audio","data":"AA==","mimeType":"audio/wav"},{"type":"resource_link","uri":"x://y","name":"y","size":9007199254740993},{"type":"resource","resource":{"uri":"x://y","blob":"AA=="}},{"type":"hologram","z":1e400}],"structuredContent":{"zeta":9007199254740993,"alpha":-9007199254740993,"__proto__":{"constructor":1.0,"stack":null}},"_meta":{"vendor.example/x":{"b":1,"a":2},"io.modelcontextprotocol/related-task":{"taskId":"1"}}}"#,
        r#""result":{"content":[],"isError":true,"isError":true}"#,
        r#""result":{"structuredContent":[1.10,{"resultType":7}],"content":[]}"#,
        r#""result":{"resultType":"complete","content":[]}"#,
        r#""result":{ "content" : [ ] }"#,
        r#""result":{}"#,
        r#""result":{"task":{"taskId":7,"ttl":6.0e4}}"#,
        r#""error":{"code":-32050,"message":"no \u00e9","data":{"z":1.10,"a":[9007199254740993]},"more":0}"#,
        r#""error":{"message":"x","code":1}"#,
    ];
    let list = list(&[TOOL]);
    let Some(mut played) = Played::start("bytes-calls", std::slice::from_ref(&list)) else { return };
    let arguments =
        r#"{"zeta":9007199254740993,"alpha":-0.0,"n":1.10,"__proto__":{"b":[1E2],"a":"\u0041≤"},"dup":1,"dup":2}"#;
    let others = r#""task":{"ttl":6.0e4},"vendor":[1.10]"#;
    let meta = r#""vendor.example/x":{"b":1.10,"a":2},"traceparent":"00-1""#;
    let ours = r#""progressToken":"mine","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"n","version":"1"},"io.modelcontextprotocol/logLevel":"info""#;
    let mut id = 100;
    for members in results {
        played.sandbox.write("work/played", format!("{list}\ntools/call t\t{members}"));
        for (is_modern, is_through) in [(false, false), (true, false), (false, true), (true, true)] {
            id += 1;
            let meta = if is_modern { format!("{meta},{ours}") } else { meta.to_owned() };
            let call = if is_through {
                format!(r#""name":"call_tool","arguments":{{"name":"fs_t","arguments":{arguments}}}"#)
            } else {
                format!(r#""arguments":{arguments},"name":"fs_t""#)
            };
            let line =
                played.line(&id.to_string(), "tools/call", &format!(r#"{{{others},"_meta":{{{meta}}},{call}}}"#));
            let members = match members.strip_prefix(r#""result":{"#).filter(|_| is_modern) {
                Some(rest) if !rest.contains(r#""resultType":"complete""#) => {
                    let comma = if rest == "}" { "" } else { "," };
                    format!(r#""result":{{"resultType":"complete"{comma}{}"#, rest.trim_start())
                }
                _ => members.to_owned(),
            };
            assert_eq!(line, format!(r#"{{"jsonrpc":"2.0","id":{id},{members}}}"#) + "\n");
            let heard = played.heard();
            let (head, rest) = heard.split_once(r#""params":"#).unwrap();
            let own_id: u64 =
                head.trim_start_matches(r#"{"jsonrpc":"2.0","id":"#).split(',').next().unwrap().parse().unwrap();
            let meta = r#""vendor.example/x":{"b":1.10,"a":2},"traceparent":"00-1""#;
            let expected = format!(
                r#"{{"name":"t","arguments":{arguments},{others},"_meta":{{"progressToken":{own_id},{meta}}}}}}}"#
            );
            assert_eq!(rest, expected, "modern {is_modern}, through call_tool {is_through}");
        }
    }
}

/// A client that was shown a placeholder cannot know better; one that was shown the schema can.
#[test]
fn text_is_turned_back_and_refusals_explained_where_schemas_are_deferred() {
    const TOOL: &str = r#"{"name":"t","inputSchema":{"type":"object","required":["o"],"properties":{"o":{"type":"object"},"s":{"type":"string"}}}}"#;
    const CALL: &str = r#"{"name":"fs_t","arguments":{"s":"{}","o":"{\"k\": 1.10}"}}"#;
    const REFUSAL: &str = "tools/call t\t\"error\":{\"code\":-32602,\"message\":\"no\"}";
    for (mode, heard) in [("deferred", r#"{"s":"{}","o":{"k": 1.10}}"#), ("full", r#"{"s":"{}","o":"{\"k\": 1.10}"}"#)]
    {
        let lines = [list(&[TOOL]), REFUSAL.to_owned()];
        let variables = [("EVOKORE_TOOL_SCHEMA_MODE", mode)];
        let Some(mut played) = Played::start_with(&format!("bytes-{mode}"), &lines, &variables) else { return };
        for (id, params) in [("81", CALL.to_owned()), ("82", modern(serde_json::from_str(CALL).unwrap()).to_string())] {
            let line = played.line(id, "tools/call", &params);
            assert_eq!(
                line,
                format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":-32602,\"message\":\"no\"}}}}\n")
            );
            assert!(played.heard().contains(&format!(r#""arguments":{heard},"#)), "{mode}: {}", played.heard());
        }
        let line = played.line("83", "tools/call", r#"{"name":"fs_t","arguments":{"s":"x"}}"#);
        assert_eq!(line.contains("`o` is missing; the input schema of `fs_t` is {"), mode == "deferred", "{line}");
    }
}
