"""A small MCP server for tests with real processes. Each argument switches on one habit:

  orphan       starts a grandchild that outlives everyone who does not end the whole group
  deaf         ignores SIGTERM and the end of its stdin
  flood        writes 1 MiB to stderr before each answer
  crash        exits with code 3 when a tool is called, without an answer
  once         ... but only in its first run (remembers in the file named by STATE)
  split        cuts its answers into pieces of one byte
  half         closes its stdout when a tool is called and stays alive
  late=FILE    answers nothing until FILE is there
  more         has further tools: `progress` reports three times and answers; `wait` answers when it is cancelled, which
               nobody reads, and writes FILE, its argument; `grow` says fifty times that its list has changed, and
               has one more tool from then on; `nap` answers after `ms` milliseconds
  replay=FILE  answers what FILE says, byte for byte. Its lines: a method, for a call ` ` and the tool, for a page ` ` and
               the cursor; a tab; members of the answer. What FILE does not say is answered as ever. Writes every line
               that it hears to FILE.heard
  asks         has a tool `ask`: sends the request that its arguments `method` and `params` are, and answers with the
               answer; with `leave` it answers without waiting for it, with `regret` it takes the request back when the
               next message comes; `also` are requests that it sends at once, `then` those that it sends one after the
               other when it has all answers; with `report` it reports progress before and after each request and at the
               end; with `slow` it waits a moment before. With `library`, it asks for a name before it gives the resource `note://ask` and the prompt `two words`
  roots        asks for the roots as soon as it is initialized
  logs         has the capability `logging`, and a tool `log` that sends the messages that its argument `messages` holds,
               `times` times, and answers
  harmless     says that its tools only read
  library      has resources, templates, prompts and completions, and tools about them: `publish` adds one of each and
               says a hundred times of each list that it has changed; `touch` says twice that the resource `uri` has;
               `seen` tells how often each method was asked, and with which parameters last
  modern       speaks nothing but 2026-07-28; has a tool `needs` that asks for a name as long as it has none, and for its
               argument `method` instead of a form if that is given; with `library`, it does the same for the resource
               `note://ask` and the prompt `two words`
  tool=NAME    has a tool of this name, which answers with its name and the habits; may come more than once
  tasks        has tools that become tasks, see tasks.py
  secret=TEXT  nothing: a secret among the arguments

Tool `about` tells about the process, `echo` gives its arguments back, `huge` as many megabytes as asked for.
"""

import json
import os
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from tasks import Tasks

HABITS = set(sys.argv[1:])
GROWN = []
# What it knows of its client: what it was told, the notifications it got, and the answers to its own requests.
CLIENT = {"capabilities": None, "heard": [], "answers": {}}
BACKLOG = []
PUBLISHED = []
SEEN = {}


def start():
    if "deaf" in HABITS:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    grandchild = None
    if "orphan" in HABITS:
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
        grandchild = subprocess.Popen([sys.executable, "-c", code], **quiet).pid
    return grandchild


def send(message):
    if "flood" in HABITS:
        for n in range(1024):
            sys.stderr.write("%07d" % n + "x" * 1016 + "\n")
        sys.stderr.write("flood is over\n")
        sys.stderr.flush()
    line = (json.dumps(message, ensure_ascii=False) + "\n").encode()
    out = sys.stdout.buffer
    if "split" in HABITS:
        for at in range(len(line)):
            out.write(line[at:at + 1])
            out.flush()
    else:
        out.write(line)
        out.flush()


def habit(name):
    """The value of a habit that has one."""
    return next((text.split("=", 1)[1] for text in HABITS if text.startswith(name + "=")), None)


def replay(method, params):
    """The members of the answer that the file of `replay` has."""
    if not habit("replay"):
        return None
    which = params.get("name") or params.get("cursor") if isinstance(params, dict) else None
    key = ("%s %s" % (method, which) if which else str(method)).encode()
    with open(habit("replay"), "rb") as file:
        return next((text.split(b"\t", 1)[1].rstrip(b"\n") for text in file if text.split(b"\t", 1)[0] == key), None)


def named():
    return sorted(text.split("=", 1)[1] for text in HABITS if text.startswith("tool="))


def tools():
    library = ["publish", "seen", "touch"] if "library" in HABITS else []
    more = ["progress", "wait", "grow", "nap"] + GROWN if "more" in HABITS else []
    more += ["ask"] if "asks" in HABITS else []
    more += ["log"] if "logs" in HABITS else []
    more += ["needs"] if "modern" in HABITS else []
    tasks = TASKS.tools() if TASKS else []
    hints = {"annotations": {"readOnlyHint": True}} if "harmless" in HABITS else {}
    names = ["about", "echo", "huge"] + library + more + named()
    return [{"name": name, "inputSchema": {"type": "object"}, **hints} for name in names] + tasks


def capabilities():
    library = {"resources": {"subscribe": True}, "prompts": {"listChanged": False}, "completions": {}}
    library = {**(library if "library" in HABITS else {}), **({"logging": {}} if "logs" in HABITS else {})}
    return {"tools": {"listChanged": True}, **library, **(TASKS.capabilities() if TASKS else {})}


def library(method, params):
    """The answer to what is not about tools: the member of the message."""
    uri = params.get("uri", "")
    if method == "resources/list" and "cursor" not in params:
        notes = [{"uri": "note://a", "name": "A", "odd": {"b": 1, "a": [9007199254740993]}}, {"title": "no uri"}, 7]
        return {"result": {"resources": notes, "nextCursor": "2"}}
    if method == "resources/list":
        rest = [{"uri": "file:///x y/\u00fc.txt", "name": 5}, {"uri": "ui://panel/main", "name": "panel", "mimeType": "text/html;profile=mcp-app"}]
        return {"result": {"resources": rest + [{"uri": "note://new/" + name, "name": name} for name in PUBLISHED]}}
    if method == "resources/templates/list":
        return {"result": {"resourceTemplates": [{"uriTemplate": "note://by/{id}{?q}", "name": "by id", "odd": None}]}}
    if method == "prompts/list":
        greet = {"name": "greet", "arguments": [{"name": "who", "required": True}], "odd": True}
        return {"result": {"prompts": [greet, {"name": "two words"}] + [{"name": name} for name in PUBLISHED]}}
    if method == "resources/read" and uri == "note://gone":
        return {"error": {"code": -32002, "message": "gone", "data": {"uri": uri}}}
    needs_name = uri == "note://ask" or method == "prompts/get" and params["name"] == "two words"
    if "asks" in HABITS and needs_name:
        params["arguments"] = {"who": json.dumps(ask("elicitation/create", FORM)[0])}
    if "modern" in HABITS and needs_name:
        params["arguments"] = {"who": json.dumps(params["inputResponses"])}
    if method == "resources/read":
        contents = [{"uri": uri, "text": sys.argv[-1], "odd": 1}, {"uri": uri + "/part", "text": uri}]
        return {"result": {"contents": contents, "odd": {"params": params}}}
    if method == "prompts/get" and params["name"] == "two words" and not HABITS & {"asks", "modern"}:
        return {"error": {"code": -32602, "message": "not now"}}
    if method == "prompts/get":
        text = "hello " + params.get("arguments", {}).get("who", "nobody")
        return {"result": {"messages": [{"role": "user", "content": {"type": "text", "text": text}}], "odd": 1}}
    if method == "completion/complete":
        return {"result": {"completion": {"values": [json.dumps(params["ref"]), params["argument"]["value"] + "!"]}, "odd": 1}}
    return {"result": {}}


def call_library(name, params):
    """The tools about the library."""
    if name == "publish":
        PUBLISHED.append("p%d" % len(PUBLISHED))
        for n in range(100):
            for what in ["resources", "prompts"]:
                send({"jsonrpc": "2.0", "method": "notifications/%s/list_changed" % what})
    if name == "touch":
        for n in range(2):
            send({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": params["arguments"]["uri"]}})


def call_more(name, params, id):
    """The tools that talk on while they run."""
    TOKEN[0] = params.get("_meta", {}).get("progressToken")
    if name == "progress":
        token = params.get("_meta", {}).get("progressToken")
        for n in range(3):
            report = {"progressToken": token, "progress": n, "total": 3, "message": "step %d" % n}
            send({"jsonrpc": "2.0", "method": "notifications/progress", "params": report})
    if name == "grow":
        GROWN.append("grown%d" % len(GROWN))
        for n in range(50):
            send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    if name == "nap":
        time.sleep(params["arguments"]["ms"] / 1000)
    if name == "wait":
        for line in sys.stdin.buffer:
            message = json.loads(line)
            if message.get("method") == "notifications/cancelled" and message["params"]["requestId"] == id:
                with open(params["arguments"]["file"], "w") as file:
                    file.write("cancelled")
                break


def call(name, arguments, grandchild):
    if "crash" in HABITS and first_time():
        sys.stderr.write("fatal: out of luck\n")
        sys.stderr.flush()
        os._exit(3)
    if "half" in HABITS:
        os.close(1)
        time.sleep(600)
    if name == "about":
        facts = {"client": CLIENT, "pid": os.getpid(), "grandchild": grandchild, "env": dict(os.environ), "cwd": os.getcwd(), "argv": sys.argv}
        return {"structuredContent": facts, "content": []}
    if name == "log":
        for message in arguments["messages"] * arguments.get("times", 1):
            send({"jsonrpc": "2.0", "method": "notifications/message", "params": message})
        return {"content": []}
    if name == "ask":
        rounds = [{key: arguments[key] for key in arguments if key != "then"}] + arguments.get("then", [])
        answers = [answer for round in rounds for answer in ask(**round)]
        report_progress(arguments)
        return {"structuredContent": {"answer": answers[0], "answers": answers}, "content": []}
    if name == "seen":
        return {"structuredContent": SEEN, "content": []}
    if name in named():
        return {"structuredContent": {"tool": name, "habits": sys.argv[1:]}, "content": []}
    if name == "huge":
        return {"content": [{"type": "text", "text": "h" * int(arguments["megabytes"] * 1e6)}]}
    return {"content": [{"type": "text", "text": json.dumps(arguments, ensure_ascii=False)}]}


PREFIX = "io.modelcontextprotocol/"
TASKS = Tasks(send, "modern" in HABITS) if "tasks" in HABITS else None
FORM = {"message": "name?", "requestedSchema": {"type": "object"}}


def modern(message, method, params):
    """What a server that speaks nothing but 2026-07-28 says before it deals with a request; None if nothing."""
    meta = params.get("_meta", {})
    CLIENT["capabilities"] = meta.get(PREFIX + "clientCapabilities", CLIENT["capabilities"])
    if method == "initialize" or meta.get(PREFIX + "protocolVersion") != "2026-07-28":
        return {"error": {"code": -32022 if method == "initialize" else -32602, "message": "2026-07-28 only"}}
    if method == "server/discover":
        server = {PREFIX + "serverInfo": {"name": "test", "version": "1"}}
        return {"result": {"supportedVersions": ["2026-07-28"], "capabilities": capabilities(), "_meta": server}}
    if method == "subscriptions/listen":
        note = {"notifications": params["notifications"], "_meta": {PREFIX + "subscriptionId": message["id"]}}
        send({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": note})
        return {}
    if (params.get("name") in ["needs", "two words"] or params.get("uri") == "note://ask") and "inputResponses" not in params:
        request = {"method": params.get("arguments", {}).get("method", "elicitation/create"), "params": FORM}
        return {"result": {"resultType": "input_required", "inputRequests": {"name": request}, "requestState": "st"}}
    if params.get("name") == "needs":
        given = {"answers": params["inputResponses"], "state": params.get("requestState")}
        return {"result": {"resultType": "complete", "content": [], "structuredContent": given}}
    return None


def ask(method, params=None, leave=False, regret=False, also=(), report=False, slow=False):
    """Asks the client; what comes before the answers is dealt with later."""
    report_progress({"report": report})
    time.sleep(0.3 if slow else 0)
    ids = [put(method, params)] + [put(**question) for question in also]
    report_progress({"report": report})
    if regret:
        BACKLOG.append(next(received()))
        send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": ids[0]}})
    return [None] if leave or regret else [wait(id, ids) for id in ids]


def put(method, params=None):
    """Sends a request to the client; its id."""
    id = "%s %d" % (method, len(ASKED))
    ASKED.append(id)
    send({"jsonrpc": "2.0", "id": id, "method": method, **({} if params is None else {"params": params})})
    return id


def wait(id, ids):
    """The answer to a request of ours; those to the others among `ids` are kept."""
    if id in EARLY:
        return EARLY.pop(id)
    for message in received():
        if message.get("id") == id and "method" not in message:
            return message
        if message.get("id") in ids and "method" not in message:
            EARLY[message["id"]] = message
        else:
            BACKLOG.append(message)


def report_progress(arguments):
    """Reports progress of the call that is dealt with, if it is to."""
    if arguments.get("report"):
        REPORTED.append(len(REPORTED))
        report = {"progressToken": TOKEN[0], "progress": len(REPORTED)}
        send({"jsonrpc": "2.0", "method": "notifications/progress", "params": report})


# Ids of our own requests, answers that came before they were waited for, and what was reported.
ASKED, EARLY, REPORTED, TOKEN = [], {}, [], [None]


def received():
    """The messages that come."""
    for line in sys.stdin.buffer:
        if habit("replay"):
            with open(habit("replay") + ".heard", "ab") as heard:
                heard.write(line)
        yield json.loads(line)


def messages():
    """The messages that came and were put off, and then those that come."""
    while True:
        yield from iter(lambda: BACKLOG.pop(0) if BACKLOG else None, None)
        message = next(received(), None)
        if message is None:
            return
        yield message


def first_time():
    if "once" not in HABITS:
        return True
    if os.path.exists(os.environ["STATE"]):
        return False
    open(os.environ["STATE"], "w").close()
    return True


def main():
    grandchild = start()
    while habit("late") and not os.path.exists(habit("late")):
        time.sleep(0.01)
    for message in messages():
        method, params = message.get("method"), message.get("params", {})
        if method is None:
            CLIENT["answers"][message["id"]] = message
            if TASKS:
                TASKS.answered(message)
            continue
        members = replay(method, params)
        if "id" not in message:
            CLIENT["heard"].append(method)
            if method == "notifications/initialized" and "roots" in HABITS:
                ask("roots/list", leave=True)
            continue
        SEEN[method] = {"times": SEEN.get(method, {}).get("times", 0) + 1, "params": params}
        if members is not None:
            sys.stdout.buffer.write(b'{"jsonrpc":"2.0","id":%d,%s}\n' % (message["id"], members))
            sys.stdout.buffer.flush()
            continue
        said = modern(message, method, params) if "modern" in HABITS else None
        if said is not None:
            if said:
                send({"jsonrpc": "2.0", "id": message["id"], **said})
            continue
        said = TASKS.answer(message["id"], method, params) if TASKS else None
        if said is not None:
            if said:
                send({"jsonrpc": "2.0", "id": message["id"], **said})
                TASKS.made(said.get("result", {}))
            continue
        if method == "initialize":
            CLIENT["capabilities"] = params["capabilities"]
            version = params["protocolVersion"]
            result = {"protocolVersion": version, "capabilities": capabilities(), "serverInfo": {"name": "test", "version": "1"}}
        elif method == "logging/setLevel":
            CLIENT["heard"].append(params["level"])
            result = {}
        elif method == "tools/list":
            result = {"tools": tools()}
        elif method != "tools/call":
            send({"jsonrpc": "2.0", "id": message["id"], **library(method, params)})
            continue
        else:
            call_library(params["name"], params)
            call_more(params["name"], params, message["id"])
            result = call(params["name"], params.get("arguments", {}), grandchild)
        send({"jsonrpc": "2.0", "id": message["id"], "result": result})
    while "deaf" in HABITS:
        time.sleep(1)


main()
