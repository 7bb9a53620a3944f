"""A small MCP server over HTTP for tests. Prints its port when it listens. Ends with its stdin. Each argument switches on
one habit:

  sse            answers requests with a stream of events
  get            offers the stream for what it says unasked; tool `grow` says there that the list has changed
  refuse=STATUS  answers GET with this status (405 unless `get`)
  auth=VALUE     wants this `Authorization` with each request
  forget=N       forgets its sessions before the Nth tools/call
  forget400      ... and says so with 400 instead of 404
  forgetful      ... before every call
  status=N       answers each tools/call with this status, `once` only the first; 0 hangs up instead
  boot=N         answers the first `initialize` with this status
  after=TEXT     ... and this Retry-After
  body=TEXT      ... and this body; kind=TEXT is its type
  break          breaks the stream of an answer off, and gives the rest when it is asked for it
  from=PATH      redirects this path to /mcp with status `with=N` (307)
  to=URL         redirects every POST there
  farewell=FILE  writes FILE when its session is ended: the request that did it
  old=PLACE      speaks HTTP+SSE of 2024-11-05 at /sse and wants messages there (/messages?session=7)
  stateless      speaks nothing but 2026-07-28, and compares the headers with what it is asked
  params         ... and lists tools whose parameters are to be repeated in headers: `annotated`, and `bad`, wrongly
  moves=N        ... of which one has another header since the Nth list; 0 for a header that no list tells
  raw            lists tool `raw`, whose definition and results are no bytes that Python writes
  tls=FOLDER     speaks TLS with FOLDER/cert.pem and FOLDER/key.pem

Tool `echo` gives its arguments back, `large` so many `bytes`, `hangup` ends the streams that are open,
`requests` what has been asked so far, `wait` never answers, `progress` reports three times and answers.
"""

import base64
import json
import os
import ssl
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HABITS = dict(habit.partition("=")[::2] for habit in sys.argv[1:])
LOCK = threading.Lock()
SESSIONS = set()
REQUESTS = []
STREAMS = []
SEEN = {"calls": 0, "sessions": 0, "boots": 0, "hangups": 0, "grown": False, "lists": 0}
REST = {}
PREFIX = "io.modelcontextprotocol/"
# What stands for a text in what is answered.
RAW = {
    '"@tool@"': '{"name":"raw","inputSchema":{"type":"object","z":1.10,"a":9007199254740993},"x/odd":[1e2,"\\u00e9"]}',
    '"@result@"': '{"z":1.10, "content":[{"type":"x/unknown","n":9007199254740993}],"_meta":{"b":1E+2,"a":"\\u00e9é"}}',
}


def tools():
    names = ["echo", "requests", "wait", "progress", "grow"] + (["grown"] if SEEN["grown"] else [])
    found = [{"name": name, "inputSchema": {"type": "object"}} for name in names]
    if "raw" in HABITS:
        found.append("@tool@")
    if "params" in HABITS:
        level = {"type": "integer", "x-mcp-header": "Level"}
        properties = {
            "region": {"type": "string", "x-mcp-header": "Area" if SEEN["lists"] >= int(HABITS.get("moves") or 1 << 30) else "Region"},
            "at": {"type": "object", "properties": {"level": level}},
        }
        found.append({"name": "annotated", "inputSchema": {"type": "object", "properties": properties}})
        found.append({"name": "bad", "inputSchema": {"type": "object", "properties": {"n": {"x-mcp-header": "N", "type": "number"}}}})
    return found


def text(message):
    found = json.dumps(message)
    for name, raw in RAW.items():
        found = found.replace(name, raw)
    return found.encode()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 0

    def log_message(self, *_):
        pass

    def note(self, message=None, body=b""):
        headers = {name.lower(): value for name, value in self.headers.items()}
        entry = {"verb": self.command, "path": self.path, "headers": headers}
        if message is not None:
            entry["method"] = message.get("method")
            entry["params"] = message.get("params")
            entry["body"] = body.decode()
        with LOCK:
            REQUESTS.append(entry)

    def answer(self, status, body=b"", kind="application/json", headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if kind and body:
            self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def begin(self, headers=()):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def event(self, message, number=None):
        head = b"" if number is None else b"id: %d\n" % number
        self.chunk(b": hello\n\n" + head + b"event: message\ndata: " + text(message) + b"\n\n")

    def allowed(self):
        if "auth" in HABITS and self.headers.get("Authorization") != HABITS["auth"]:
            self.answer(401, b'{"error":"invalid_token"}')
            return False
        return True

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        message = json.loads(body)
        self.note(message, body)
        if "to" in HABITS:
            return self.answer(307, headers=[("Location", HABITS["to"])])
        if "from" in HABITS and self.path == HABITS["from"]:
            return self.answer(int(HABITS.get("with", 307)), headers=[("Location", "/mcp")])
        if not self.allowed():
            return None
        if "old" in HABITS:
            if not self.path.startswith("/messages"):
                return self.answer(405)
            self.answer(202)
            if "id" in message and "method" in message:
                self.old(message)
            return None
        return self.stateless(message) if "stateless" in HABITS else self.modern(message)

    def stateless(self, message):
        method, params = message.get("method"), message.get("params") or {}
        meta = params.get("_meta") or {}
        name = {"tools/call": params.get("name")}.get(method)
        said = [self.headers.get("MCP-Protocol-Version"), self.headers.get("Mcp-Method"), self.headers.get("Mcp-Name")]
        wrong = name == "annotated" and self.is_otherwise(params.get("arguments") or {})
        if wrong or said != [meta.get(PREFIX + "protocolVersion", "?"), method, name] or "Mcp-Session-Id" in self.headers:
            error = {"code": -32020, "message": "HeaderMismatch: %s" % said}
            answer = {"jsonrpc": "2.0", "id": message.get("id"), "error": error}
            return self.answer(400, json.dumps(answer).encode())
        return self.give(message)

    def is_otherwise(self, arguments):
        region, level = arguments.get("region"), (arguments.get("at") or {}).get("level")
        region_name = {None: "Region", "0": "Secret"}.get(HABITS.get("moves"), "Area")
        wanted = {"mcp-param-" + region_name.lower(): region, "mcp-param-level": None if level is None else str(level)}
        told = {name.lower(): value for name, value in self.headers.items() if name.lower().startswith("mcp-param-")}
        for name, value in told.items():
            if value.startswith("=?base64?") and value.endswith("?="):
                told[name] = base64.b64decode(value[9:-2]).decode()
        return told != {name: value for name, value in wanted.items() if value is not None}

    def modern(self, message):
        method, session = message.get("method"), self.headers.get("Mcp-Session-Id")
        after = [("Retry-After", HABITS["after"])] if "after" in HABITS else []
        if method == "initialize":
            SEEN["boots"] += 1
            if "boot" in HABITS and SEEN["boots"] == 1:
                return self.answer(int(HABITS["boot"]), headers=after)
            with LOCK:
                SEEN["sessions"] += 1
                session = "s%d" % SEEN["sessions"]
                SESSIONS.add(session)
            return self.give(message, [("Mcp-Session-Id", session)])
        if method == "tools/call":
            with LOCK:
                SEEN["calls"] += 1
                if "forgetful" in HABITS or HABITS.get("forget") == str(SEEN["calls"]):
                    SESSIONS.clear()
        if session not in SESSIONS:
            status = 400 if "forget400" in HABITS else 404
            return self.answer(status, b"Bad Request: no valid session" if status == 400 else b"")
        if "id" not in message or method is None:
            return self.answer(202)
        if method == "tools/call" and "status" in HABITS and not ("once" in HABITS and SEEN["calls"] > 1):
            if HABITS["status"] == "0":
                self.close_connection = True
                return None
            body, kind = HABITS.get("body", "").encode(), HABITS.get("kind", "text/html")
            return self.answer(int(HABITS["status"]), body, kind, after)
        return self.give(message)

    def give(self, message, headers=()):
        result = self.result(message)
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        params = message.get("params") or {}
        name = params.get("name") if message["method"] == "tools/call" else None
        if name == "wait":
            self.begin()
            try:
                while True:
                    self.chunk(b": waiting\n\n")
                    time.sleep(0.02)
            except OSError:
                with LOCK:
                    REQUESTS.append({"verb": "closed"})
            return None
        if name == "progress":
            self.begin()
            for n in range(3):
                token = params["_meta"]["progressToken"]
                note = {"progressToken": token, "progress": n}
                self.event({"jsonrpc": "2.0", "method": "notifications/progress", "params": note})
            self.event(answer)
            return self.chunk(b"")
        if name == "echo" and "break" in HABITS:
            REST["answer"] = answer
            self.begin()
            self.chunk(b"id: 41\nretry: 10\ndata:\n\n")
            self.close_connection = True
            return None
        if "sse" in HABITS:
            self.begin(headers)
            self.event(answer, 1)
            return self.chunk(b"")
        return self.answer(200, text(answer), headers=headers)

    def result(self, message):
        method, params = message["method"], message.get("params") or {}
        if method == "initialize":
            capabilities = {"tools": {"listChanged": True}}
            version = params["protocolVersion"]
            return {"protocolVersion": version, "capabilities": capabilities, "serverInfo": {"name": "remote", "version": "1"}}
        if method == "server/discover":
            meta = {PREFIX + "serverInfo": {"name": "remote", "version": "1"}}
            return {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "_meta": meta}
        if method == "tools/list":
            SEEN["lists"] += 1
            return {"tools": tools()}
        if params.get("name") == "requests":
            with LOCK:
                return {"structuredContent": {"requests": list(REQUESTS)}, "content": []}
        if params.get("name") == "raw":
            return "@result@"
        if params.get("name") == "large":
            return {"content": [{"type": "text", "text": "x" * params["arguments"]["bytes"]}]}
        if params.get("name") == "hangup":
            SEEN["hangups"] += 1
        if params.get("name") == "grow":
            SEEN["grown"] = True
            changed = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
            for stream in list(STREAMS):
                stream.event(changed)
        return {"structuredContent": params.get("arguments", {}), "content": []}

    def old(self, message):
        if (message.get("params") or {}).get("name") == "wait":
            return
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": self.result(message)}
        if (message.get("params") or {}).get("name") == "hangup":
            return
        for stream in list(STREAMS):
            stream.event(answer)

    def do_GET(self):
        self.note()
        if not self.allowed():
            return None
        if "old" in HABITS and self.path == "/sse":
            self.begin()
            place = HABITS.get("old") or "/messages?session=7"
            return self.stay(b"event: endpoint\ndata: %s\n\n" % place.encode())
        if self.headers.get("Last-Event-ID") == "41" and REST:
            self.begin()
            self.event(REST.pop("answer"), 42)
            return self.chunk(b"")
        if "get" not in HABITS:
            return self.answer(int(HABITS.get("refuse", 405)), b"no")
        self.begin()
        return self.stay()

    def stay(self, first=b":\n\n"):
        # What is answered to whoever has read `first` must find the stream.
        STREAMS.append(self)
        hangups = SEEN["hangups"]
        try:
            self.chunk(first)
            while SEEN["hangups"] == hangups:
                self.chunk(b":\n\n")
                time.sleep(0.05)
            self.chunk(b"")
        except OSError:
            pass
        STREAMS.remove(self)

    def do_DELETE(self):
        self.note()
        if "farewell" in HABITS:
            with open(HABITS["farewell"] + ".new", "w") as file:
                file.write(json.dumps(REQUESTS[-1]))
            os.rename(HABITS["farewell"] + ".new", HABITS["farewell"])
        self.answer(200)


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if "tls" in HABITS:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(os.path.join(HABITS["tls"], "cert.pem"), os.path.join(HABITS["tls"], "key.pem"))
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()


main()
