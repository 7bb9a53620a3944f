//! The child server that the benches bring along: a bench starts its own executable as `child TOOLS [BOOT_MS]`. It
//! answers what lies in its pipe and writes all answers at once, so it is never what a bench waits for. A call whose
//! argument `do` names a bad habit gets to see it.

use std::borrow::Cow;
use std::io::{Read as _, Write as _};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::Fallible;

/// The tool whose result is large.
pub(crate) const LARGE: &str = "large";
/// About how large, in bytes.
const LARGE_BYTES: usize = 800_000;

/// Lines of a flood.
const FLOOD: usize = 200;
/// How long it stalls.
const STALL: Duration = Duration::from_millis(30);

/// Plays the child to the end of its stdin, if the command line says so.
pub(crate) fn play_if_asked() -> Fallible<bool> {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() != Some("child") {
        return Ok(false);
    }
    let mut number = || arguments.next().and_then(|text| text.parse::<u64>().ok());
    let (tools, boot) = (number().unwrap_or(1), number().unwrap_or(0));
    std::thread::sleep(Duration::from_millis(boot));
    play(tools)?;
    Ok(true)
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

fn play(tools: u64) -> Fallible<()> {
    let large = large();
    let (mut stdin, mut stdout) = (std::io::stdin().lock(), std::io::stdout().lock());
    let (mut buffer, mut len) = (vec![0; 64 << 10], 0);
    let mut out = Vec::new();
    loop {
        let n = stdin.read(&mut buffer[len..])?;
        if n == 0 {
            return Ok(());
        }
        len += n;
        let mut from = 0;
        while let Some(end) = memchr::memchr(b'\n', &buffer[from..len]) {
            let message: Message<'_> = serde_json::from_slice(&buffer[from..from + end])?;
            from += end + 1;
            let Some(id) = message.id else { continue };
            let start = out.len();
            write!(out, r#"{{"jsonrpc":"2.0","id":{id},"result":"#)?;
            let habit = answer(&message, tools, &large, &mut out)?;
            out.extend_from_slice(b"}\n");
            if let Some(habit) = habit {
                let answer = out.split_off(start);
                show(&habit, id.get(), &answer, &large, &mut out)?;
            }
        }
        buffer.copy_within(from..len, 0);
        len -= from;
        if len == buffer.len() {
            buffer.resize(2 * len, 0);
        }
        // Past the buffer of `Stdout`, which looks for line ends.
        stdout.write_all(&out)?;
        stdout.flush()?;
        out.clear();
    }
}

fn answer(message: &Message<'_>, tools: u64, large: &str, out: &mut Vec<u8>) -> Fallible<Option<String>> {
    match &*message.method {
        "initialize" => out.extend_from_slice(
            br#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"echo","version":"1"}}"#,
        ),
        "tools/list" => list(tools, out)?,
        "tools/call" => {
            let call: Call<'_> = serde_json::from_str(message.params.map_or("{}", RawValue::get))?;
            if call.name == LARGE {
                out.extend_from_slice(large.as_bytes());
            } else {
                let arguments = call.arguments.map_or("{}", RawValue::get);
                write!(out, r#"{{"content":[{{"type":"text","text":"ok"}}],"structuredContent":{arguments}}}"#)?;
                if memchr::memmem::find(arguments.as_bytes(), br#""do""#).is_some() {
                    let arguments: Value = serde_json::from_str(arguments)?;
                    return Ok(arguments["do"].as_str().map(ToOwned::to_owned));
                }
            }
        }
        _ => out.extend_from_slice(b"{}"),
    }
    Ok(None)
}

/// Says `answer` in the manner of `habit`. The progress token of evokore's requests is their id.
fn show(habit: &str, id: &str, answer: &[u8], large: &str, out: &mut Vec<u8>) -> Fallible<()> {
    let mut times = 1;
    match habit {
        "silent" => times = 0,
        "twice" => times = 2,
        "stall" => std::thread::sleep(STALL),
        "noise" => out.extend_from_slice(b"[INFO] at work\n\n{\"level\":30}\n{oh no\n\xff\xfe\n"),
        "chatter" => {
            std::io::stderr().write_all(&b"a line of complaint, as they come by the hundred\n".repeat(FLOOD))?;
        }
        "flood" => {
            for n in 0..FLOOD {
                writeln!(
                    out,
                    r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"info","data":{n}}}}}"#
                )?;
            }
        }
        "progress" => {
            for n in 0..20 {
                writeln!(
                    out,
                    r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{id},"progress":{n}}}}}"#
                )?;
            }
        }
        "broken" => {
            times = 0;
            writeln!(out, r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[}}}}"#)?;
        }
        "huge" => {
            times = 0;
            write!(out, r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[],"parts":["#)?;
            out.extend_from_slice([large; 4].join(",").as_bytes());
            out.extend_from_slice(b"]}}\n");
        }
        // What was answered so far is lost with it.
        "crash" => std::process::exit(1),
        _ => {}
    }
    (0..times).for_each(|_| out.extend_from_slice(answer));
    Ok(())
}

/// The tools are `large`, and `echo0`, `echo1` and so on.
fn list(tools: u64, out: &mut Vec<u8>) -> Fallible<()> {
    write!(out, r#"{{"tools":[{{"name":"{LARGE}","inputSchema":{{"type":"object"}}}}"#)?;
    for n in 0..tools.saturating_sub(1) {
        write!(
            out,
            r#",{{"name":"echo{n}","description":"Says what it is told, for the {n}th time","inputSchema":{{"type":"object","properties":{{"text":{{"type":"string"}},"n":{{"type":"integer"}}}}}}}}"#
        )?;
    }
    out.extend_from_slice(b"]}");
    Ok(())
}

/// Records such as a database gives.
fn large() -> String {
    let mut text = r#"{"content":[],"structuredContent":{"rows":["#.to_owned();
    for n in 0.. {
        text += &format!(
            r#"{{"id":{n},"name":"record number {n}","score":{}.50,"tags":["alpha","beta \u00e9"],"owner":{{"login":"user{n}","active":true,"since":null}}}}"#,
            n % 100
        );
        if text.len() > LARGE_BYTES {
            break;
        }
        text.push(',');
    }
    text + "]}}"
}
