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
LOG, CODES, ACCESS, REFRESH = [], {}, set(), set()
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
        if "known" not in HABITS:
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
        return self.mcp(json.loads(body))

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
                REFRESH.remove(asked["refresh_token"])
            else:
                known = CODES.pop(asked["code"], None)
                digest = hashlib.sha256(asked["code_verifier"].encode()).digest()
                promise = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
                if known is None or promise != known["code_challenge"] or known["redirect_uri"] != asked["redirect_uri"]:
                    return self.answer(400, {"error": "invalid_grant"})
            COUNT["token"] += 1
            access, refresh = "access%d" % COUNT["token"], "refresh%d" % COUNT["token"]
            ACCESS.add(access)
            REFRESH.add(refresh)
        granted = {"access_token": access, "token_type": "bearer", "refresh_token": refresh}
        if "expires" in HABITS:
            granted["expires_in"] = int(HABITS["expires"])
        return self.answer(200, granted)

    def mcp(self, message):
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        self.note(method=message.get("method"), token=token)
        if "open" not in HABITS and token not in ACCESS:
            told = ', resource_metadata="%s/described"' % self.origin
            challenge = "Bearer" if "quiet" in HABITS else 'Bearer error="invalid_token"' + told
            return self.answer(401, {"error": "invalid_token"}, [("WWW-Authenticate", challenge)])
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
        return self.answer(200, {"jsonrpc": "2.0", "id": message["id"], "result": result})


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()


main()
