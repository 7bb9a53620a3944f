"""The habit `tasks` of the test server: calls that become tasks, as 2025-11-25 and the extension of 2026-07-28 have them.

Tool `slow` becomes a task for who takes one, `must` is nothing else. Their arguments:

  polls    it is over when it has been asked after so often; without it, `finish` ends the task `id` that it is given
  ask      it first asks for a name
  unasked  it becomes a task although nobody takes one
  progress it reports progress once it is a task
  fails    its result is an error

The first task is `1`, the next `2`. Tool `tasks` tells which requests about tasks have come.
"""

PREFIX = "io.modelcontextprotocol/"
EXTENSION = PREFIX + "tasks"
ASKED = {"method": "elicitation/create", "params": {"message": "name?", "requestedSchema": {"type": "object"}}}


class Tasks:
    def __init__(self, send, is_modern):
        self.send, self.is_modern = send, is_modern
        self.all, self.heard, self.waiting = {}, [], {}

    def tools(self):
        supports = {"slow": "optional", "must": "required"}
        tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ["slow", "must", "finish", "tasks"]]
        if not self.is_modern:
            for tool in tools[:2]:
                tool["execution"] = {"taskSupport": supports[tool["name"]], "odd": 1.5}
        return tools

    def capabilities(self):
        if self.is_modern:
            return {"extensions": {EXTENSION: {}}}
        return {"tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}}

    def answer(self, id, method, params):
        """The member of the answer to a request; None: it is none of ours; {}: it comes later."""
        declared = params.get("_meta", {}).get(PREFIX + "clientCapabilities", {}).get("extensions", {})
        takes = EXTENSION in declared if self.is_modern else "task" in params
        if method == "tools/call" and params["name"] in ["slow", "must"]:
            arguments = params.get("arguments", {})
            if takes or arguments.get("unasked"):
                return {"result": self.make(arguments, params)}
            if params["name"] == "slow":
                return {"result": {"content": [{"type": "text", "text": "at once"}]}}
            if self.is_modern:
                needed = {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
                return {"error": {"code": -32021, "message": "only as a task", "data": needed}}
            return {"error": {"code": -32601, "message": "only as a task"}}
        if method == "tools/call" and params["name"] == "finish":
            self.finish(params["arguments"]["id"], "completed")
            return {"result": {"content": []}}
        if method == "tools/call" and params["name"] == "tasks":
            return {"result": {"structuredContent": {"heard": self.heard}, "content": []}}
        if not method.startswith("tasks/"):
            return None
        self.heard.append([method, {key: value for key, value in params.items() if key != "_meta"}])
        if self.is_modern and not takes:
            return {"error": {"code": -32021, "message": "undeclared"}}
        if method == "tasks/list":
            at = int(params.get("cursor", "0"))
            page = [self.state(task) for task in list(self.all.values())[at:at + 1]]
            more = {"nextCursor": str(at + 1)} if at + 1 < len(self.all) else {}
            return {"result": {"tasks": page, **more}}
        task = self.all.get(params["taskId"])
        if task is None:
            return {"error": {"code": -32602, "message": "never heard of it", "data": 1.5}}
        return getattr(self, method.split("/")[1])(id, task, params)

    def make(self, arguments, params):
        task = {"id": str(len(self.all) + 1), "status": "working", "arguments": arguments, "polls": 0, "ttl": None}
        task["ttl"] = params.get("task", {}).get("ttl", 60000)
        task["token"] = params.get("_meta", {}).get("progressToken")
        self.all[task["id"]] = task
        if self.is_modern:
            return {"resultType": "task", **self.state(task)}
        return {"task": self.state(task), "_meta": {PREFIX + "model-immediate-response": "wait", **self.related(task)}}

    def made(self, result):
        """What follows once the answer has been sent."""
        if "task" in result and not self.is_modern:
            task = self.all[result["task"]["taskId"]]
            self.tell(task)
            if task["arguments"].get("progress"):
                report = {"progressToken": task["token"], "progress": 1}
                self.send({"jsonrpc": "2.0", "method": "notifications/progress", "params": report})

    def state(self, task):
        ttl, pause = ("ttlMs", "pollIntervalMs") if self.is_modern else ("ttl", "pollInterval")
        stamp = "2026-07-28T10:00:00Z"
        state = {"odd": [1.5, 9007199254740993], "taskId": task["id"], "status": task["status"], "createdAt": stamp}
        state.update({"lastUpdatedAt": stamp, ttl: task["ttl"], pause: 100})
        if self.is_modern and task["status"] == "input_required":
            state["inputRequests"] = {"name": ASKED}
        if self.is_modern and task["status"] == "completed":
            state["result"] = {"resultType": "complete", **self.outcome(task)}
        return state

    def related(self, task):
        return {PREFIX + "related-task": {"taskId": task["id"], "odd": 1}}

    def outcome(self, task):
        text = {"name": task.get("name"), "arguments": task["arguments"]}
        meta = {} if self.is_modern else {"_meta": self.related(task)}
        return {"structuredContent": text, "content": [], "isError": bool(task["arguments"].get("fails")), **meta}

    def tell(self, task):
        self.send({"jsonrpc": "2.0", "method": "notifications/tasks/status", "params": self.state(task)})

    def finish(self, id, status):
        task = self.all[id]
        task["status"] = status
        if not self.is_modern:
            self.tell(task)
        for waiting in self.waiting.pop(id, []):
            self.send({"jsonrpc": "2.0", "id": waiting, "result": self.outcome(task)})

    def get(self, id, task, params):
        task["polls"] += 1
        if self.is_modern and task["arguments"].get("ask") and "name" not in task and task["status"] == "working":
            task["status"] = "input_required"
        elif task["status"] == "working" and task["polls"] == task["arguments"].get("polls"):
            self.finish(task["id"], "completed")
        return {"result": {**({"resultType": "complete"} if self.is_modern else {}), **self.state(task)}}

    def result(self, id, task, params):
        if task["status"] in ["completed", "cancelled"]:
            return {"result": self.outcome(task)}
        self.waiting.setdefault(task["id"], []).append(id)
        if task["arguments"].get("ask"):
            task["status"] = "input_required"
            question = {**ASKED["params"], "_meta": self.related(task)}
            self.send({"jsonrpc": "2.0", "id": "ask " + task["id"], "method": ASKED["method"], "params": question})
        elif task["arguments"].get("polls"):
            self.finish(task["id"], "completed")
        return {}

    def answered(self, message):
        """The client's answer to what a task has asked."""
        id = str(message["id"]).removeprefix("ask ")
        if id in self.all:
            self.all[id]["name"] = message.get("result", message.get("error"))
            self.finish(id, "completed")

    def update(self, id, task, params):
        task["name"] = params["inputResponses"]["name"]
        task["status"] = "working"
        return {"result": {"resultType": "complete"}}

    def cancel(self, id, task, params):
        if task["status"] in ["completed", "cancelled"] and not self.is_modern:
            return {"error": {"code": -32602, "message": "it is over"}}
        self.finish(task["id"], "cancelled")
        return {"result": {"resultType": "complete"} if self.is_modern else self.state(task)}
