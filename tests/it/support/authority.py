"""An authorization server and the MCP server that trusts it, for tests. Prints its port when it listens. Ends with its
stdin. Each argument switches on one habit:

  expires=N      tokens end after N seconds
  state=TEXT     sends browsers back with this `state`
  iss=TEXT       ... with this `iss`; `iss=` with none, although it says it always gives one
  deny           ... with an error
  plain          does not list S256
  issuer=TEXT    calls itself so
  token=URL      says its token endpoint is there
  resource=TEXT  describes another protected resource
  quiet          its 401 does not say where the resource is described
  known=ID:KEY   registers nobody, and wants this client with this secret
  open           wants no login
  spent          takes no refresh token
  calls          wants a login for tools/call alone
  nobody         registers nobody
  documents      says that it reads documents of clients
  back=STATUS    has a place that takes tokens back, and answers there with STATUS (200)
  wants=SCOPES   wants these scopes for tools/call
  grants=SCOPES  gives these, whatever it is asked for
  stream         is a server of 2024-11-05: /mcp is its stream, /messages its place for messages

POST /revoke ends every access token, GET /log gives what has been asked: one JSON array.
"""

import base64
import hashlib
import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

HABITS = dict(habit.partition("=")[::2] for habit in sys.argv[1:])
LOCK = threading.Lock()
LOG, CODES, STREAMS = [], {}, []
# Tokens, and the scopes of each.
ACCESS, REFRESH = {}, {}
COUNT = {"token": 0}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 0

    def log_message(self, *_):
        pass

    def answer(self, status, body=None, headers=()):
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    @property
    def origin(self):
        return "http://127.0.0.1:%d" % self.server.server_address[1]

    @property
    def issuer(self):
        return HABITS.get("issuer", self.origin + "/tenant")

    def note(self, **more):
        with LOCK:
            LOG.append({"verb": self.command, "path": urlsplit(self.path).path, **more})

    def do_GET(self):
        path = urlsplit(self.path).path
        if path == "/log":
            return self.answer(200, LOG)
        self.note()
        if path in ("/described", "/.well-known/oauth-protected-resource/mcp") and "open" not in HABITS:
            resource = HABITS.get("resource", self.origin + "/mcp")
            servers = [self.origin + "/tenant"]
            scopes = ["read", "write"]
            return self.answer(200, {"resource": resource, "authorization_servers": servers, "scopes_supported": scopes})
        if path == "/tenant/.well-known/openid-configuration":
            return self.answer(200, self.about())
        if path == "/authorize":
            return self.authorize({name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()})
        if path == "/mcp" and "stream" in HABITS:
            return self.stream() if self.allowed() else None
        return self.answer(405 if path == "/mcp" else 404)

    def about(self):
        about = {
            "issuer": self.issuer,
            "authorization_endpoint": self.origin + "/authorize?audience=x",
            "token_endpoint": HABITS.get("token", self.origin + "/token"),
            "scopes_supported": ["read", "write", "offline_access"],
            "code_challenge_methods_supported": ["plain"] if "plain" in HABITS else ["plain", "S256"],
            "authorization_response_iss_parameter_supported": True,
        }
        if "documents" in HABITS:
            about["client_id_metadata_document_supported"] = True
        if "back" in HABITS:
            about["revocation_endpoint"] = self.origin + "/back"
        if "known" not in HABITS and "nobody" not in HABITS:
            about["registration_endpoint"] = self.origin + "/register"
        return about

    def authorize(self, asked):
        self.note(asked=asked)
        code = "code%d" % len(CODES)
        CODES[code] = asked
        back = {"code": code, "state": HABITS.get("state", asked["state"])}
        if HABITS.get("iss", self.issuer):
            back["iss"] = HABITS.get("iss", self.issuer)
        if "deny" in HABITS:
            del back["code"]
            back.update(error="access_denied", error_description="not you")
        return self.answer(302, headers=[("Location", asked["redirect_uri"] + "?" + urlencode(back))])

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/revoke":
            with LOCK:
                ACCESS.clear()
            return self.answer(200)
        if self.path == "/register":
            self.note(asked=json.loads(body))
            return self.answer(201, {"client_id": "registered"})
        if self.path == "/token":
            return self.token({name: values[0] for name, values in parse_qs(body.decode()).items()})
        if self.path == "/back":
            return self.take_back({name: values[0] for name, values in parse_qs(body.decode()).items()})
        if "stream" in HABITS and self.path == "/mcp":
            return self.answer(405)
        return self.mcp(json.loads(body))

    def take_back(self, asked):
        self.note(asked={**asked, "authorization": self.headers.get("Authorization", "")})
        with LOCK:
            ACCESS.pop(asked["token"], None)
            REFRESH.pop(asked["token"], None)
        return self.answer(int(HABITS["back"] or 200))

    def token(self, asked):
        authorization = self.headers.get("Authorization", "")
        self.note(asked={**asked, "authorization": authorization})
        if "known" in HABITS:
            found = base64.b64decode(authorization.partition(" ")[2]).decode().split(":")
            if ":".join(map(unquote, found)) != HABITS["known"]:
                return self.answer(401, {"error": "invalid_client"})
        with LOCK:
            if asked["grant_type"] == "refresh_token":
                if "spent" in HABITS or asked["refresh_token"] not in REFRESH:
                    return self.answer(400, {"error": "invalid_grant", "error_description": "used before"})
                scopes = REFRESH.pop(asked["refresh_token"])
            else:
                known = CODES.pop(asked["code"], None)
                digest = hashlib.sha256(asked["code_verifier"].encode()).digest()
                promise = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
                if known is None or promise != known["code_challenge"] or known["redirect_uri"] != asked["redirect_uri"]:
                    return self.answer(400, {"error": "invalid_grant"})
                scopes = HABITS.get("grants", known.get("scope", ""))
            COUNT["token"] += 1
            access, refresh = "access%d" % COUNT["token"], "refresh%d" % COUNT["token"]
            ACCESS[access] = REFRESH[refresh] = scopes
        granted = {"access_token": access, "token_type": "bearer", "refresh_token": refresh}
        if "expires" in HABITS:
            granted["expires_in"] = int(HABITS["expires"])
        if "grants" in HABITS:
            granted["scope"] = scopes
        return self.answer(200, granted)

    def shown(self):
        return self.headers.get("Authorization", "").removeprefix("Bearer ")

    def allowed(self):
        if "open" in HABITS or self.shown() in ACCESS:
            return True
        told = ', resource_metadata="%s/described"' % self.origin
        challenge = "Bearer" if "quiet" in HABITS else 'Bearer error="invalid_token"' + told
        self.answer(401, {"error": "invalid_token"}, [("WWW-Authenticate", challenge)])
        return False

    def mcp(self, message):
        self.note(method=message.get("method"), token=self.shown())
        is_free = "calls" in HABITS and message.get("method") != "tools/call"
        if not is_free and not self.allowed():
            return None
        wanted = HABITS.get("wants", "").split()
        if message.get("method") == "tools/call" and not set(wanted) <= set(ACCESS.get(self.shown(), "").split()):
            challenge = 'Bearer error="insufficient_scope", scope="%s"' % " ".join(wanted)
            return self.answer(403, {"error": "insufficient_scope"}, [("WWW-Authenticate", challenge)])
        if "id" not in message:
            return self.answer(202)
        method, params = message["method"], message.get("params") or {}
        if method == "initialize":
            about = {"name": "far", "version": "1"}
            result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about}
        elif method == "tools/list":
            result = {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}
        else:
            # Long enough for calls made together to be under way together.
            time.sleep(0.02)
            result = {"content": [], "structuredContent": params.get("arguments", {})}
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        if "stream" not in HABITS:
            return self.answer(200, answer)
        for stream in list(STREAMS):
            stream.event("message", json.dumps(answer))
        return self.answer(202)

    def stream(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        # What is answered to whoever has read the place must find the stream.
        STREAMS.append(self)
        self.event("endpoint", "/messages")
        try:
            while True:
                time.sleep(0.05)
                self.wfile.write(b":\n\n")
        except OSError:
            STREAMS.remove(self)
            self.close_connection = True

    def event(self, name, data):
        self.wfile.write(("event: %s\ndata: %s\n\n" % (name, data)).encode())


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()


main()
