"""Runs a scenario against one MCP client: the Python twin of steps.mjs, with the same steps and output.

A driver hands in an adapter with one coroutine per kind of step, each using the typed methods of its SDK and
answering with what the SDK gave back.
"""

import json
import logging
import os
import sys
import time

import anyio

USAGE = "usage: drive.py --mode legacy|auto|2026-07-28 --server-cmd CMD [ARG...] < scenario.json"
MODES = ("legacy", "auto", "2026-07-28")
DEFAULT_TIMEOUT_MS = 30_000
RETRY_PAUSE_S = 0.1
METHODS = (
    "call",
    "close",
    "ping",
    "complete",
    "list_tools",
    "list_resources",
    "read_resource",
    "list_prompts",
    "get_prompt",
)


class Unsupported(Exception):
    """Raised by an adapter for what its SDK has no means of doing."""


class GaveUp(Exception):
    """A wait of ours ended without what it waited for."""


def wire(model):
    """What the SDK parsed, in the spelling of the wire."""
    return model.model_dump(by_alias=True, mode="json", exclude_unset=True)


def usage_error(message):
    print(message, file=sys.stderr)
    sys.exit(2)


def parse_arguments(argv):
    mode, server, rest = None, [], list(argv)
    while rest:
        word = rest.pop(0)
        if word == "--mode" and rest:
            mode = rest.pop(0)
        elif word == "--server-cmd":
            server, rest = rest, []
        else:
            usage_error(f"unknown argument `{word}`\n{USAGE}")
    if mode not in MODES:
        usage_error(f"--mode must be one of {', '.join(MODES)}\n{USAGE}")
    if not server:
        usage_error(f"--server-cmd is missing\n{USAGE}")
    return mode, server


class Complaints(logging.Handler):
    """What an SDK cannot raise it logs: a line that is no message, a notification of the wrong shape."""

    # Said for every call of a tool that is not in the list, which is no fault of the server's.
    HARMLESS = "not listed by server, cannot validate"

    def __init__(self, found):
        super().__init__(logging.WARNING)
        self.found = found

    def emit(self, record):
        text = record.getMessage()
        if self.HARMLESS in text:
            return
        if record.exc_info and record.exc_info[1]:
            text = f"{text}: {record.exc_info[1]}"
        self.found.append(text)


def describe(error):
    """An SDK error as plain data: what kind it is, the JSON-RPC code where there is one, and its text."""
    if isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        return describe(error.exceptions[0])
    data = getattr(error, "error", None)
    if isinstance(error, Unsupported):
        kind = "unsupported"
    elif isinstance(error, (TimeoutError, GaveUp)):
        kind = "timeout"
    elif hasattr(data, "code"):
        kind = "rpc"
    elif type(error).__name__ == "ValidationError":
        kind = "schema"
    else:
        kind = "client"
    described = {"kind": kind, "message": str(error) or type(error).__name__}
    if kind == "rpc":
        described.update(code=data.code, message=data.message, data=data.data)
    return described


class Run:
    def __init__(self, adapter):
        self.adapter = adapter
        self.era = None
        self.gone = False
        self.changes = 0
        self.changed = anyio.Event()
        self.previous_mark = 0
        self.protocol_errors = []
        logging.getLogger().addHandler(Complaints(self.protocol_errors))

    def on_list_changed(self):
        """Counts, so that a step can ask what arrived since the step before it began."""
        self.changes += 1
        self.changed.set()
        self.changed = anyio.Event()

    def on_protocol_error(self, error):
        self.protocol_errors.append(str(error))

    async def act(self, step):
        timeout = step.get("timeoutMs", DEFAULT_TIMEOUT_MS) / 1000
        what = step["do"]
        if what == "connect":
            # Not under a time limit of ours: the SDK opens task groups here that outlive the step.
            result = await self.adapter.connect(timeout, self.on_list_changed, self.on_protocol_error)
            self.era = "modern" if result["protocolVersion"] >= "2026" else "legacy"
            return {**{key: value for key, value in result.items() if value is not None}, "era": self.era}
        if what == "wait_list_changed":
            if self.era == "modern":
                await self.adapter.subscribe()
            with anyio.move_on_after(timeout):
                while self.changes <= self.previous_mark:
                    await self.changed.wait()
            if self.changes <= self.previous_mark:
                raise GaveUp(f"no tools/list_changed within {timeout} s")
            await anyio.sleep(step.get("settleMs", 0) / 1000)
            return {"changes": self.changes - self.previous_mark}
        if what == "count_list_changed":
            await anyio.sleep(step["forMs"] / 1000)
            return {"changes": self.changes - self.previous_mark}
        if what == "subscribe":
            return await self.adapter.subscribe() if self.era == "modern" else {"unsolicited": True}
        if what not in METHODS:
            raise ValueError(f"unknown step `{what}`")
        method = getattr(self.adapter, what, None)
        if method is None:
            raise Unsupported(f"this client has no {what}")
        if what == "close":
            return await method(step)
        with anyio.fail_after(timeout):
            return await method(step)

    async def repeat(self, step):
        """`until` and `while` repeat a step while the text of its result lacks or has a word."""
        end = time.monotonic() + step.get("timeoutMs", DEFAULT_TIMEOUT_MS) / 1000
        until, during = step.get("until"), step.get("while")
        while True:
            result = await self.act(step)
            text = json.dumps(result, ensure_ascii=False)
            if (until is None or until in text) and (during is None or during not in text):
                return result
            if time.monotonic() >= end:
                wish = f"`{during}` to go" if until is None else f"`{until}`"
                raise GaveUp(f"gave up waiting for {wish}; last result: {text[:2000]}")
            await anyio.sleep(RETRY_PAUSE_S)

    async def step(self, step):
        era = step.get("era")
        if era and era != self.era:
            return {"ok": True, "skipped": f"only for the {era} era"}
        mark, begun = self.changes, time.monotonic()
        try:
            line = {"ok": True, "result": await self.repeat(step)}
        except anyio.get_cancelled_exc_class():
            # How an SDK says that its connection broke: it cancels whoever uses it.
            self.gone = True
            line = {"ok": False, "error": {"kind": "closed", "message": "the connection broke"}}
        except Exception as error:  # every failure of a step is a finding to print
            line = {"ok": False, "error": describe(error)}
        self.previous_mark = mark
        line["ms"] = round((time.monotonic() - begun) * 1000)
        if step["do"] == "close" and line["ok"]:
            line["result"] = {**line["result"], "ms": line["ms"]}
        if self.protocol_errors:
            line["ok"] = False
            line["protocolErrors"] = self.protocol_errors[:]
            self.protocol_errors.clear()
        return line


async def run_scenario(steps, adapter):
    run = Run(adapter)
    for index, step in enumerate(steps):
        line = await run.step(step)
        print(json.dumps({"step": index, "do": step["do"], **line}, ensure_ascii=False), flush=True)
        if run.gone or (step["do"] == "connect" and not line["ok"]):
            # Leaving through an SDK's broken context managers would only hang or add a traceback.
            os._exit(0)


def drive(make_adapter):
    """Reads the scenario from stdin, runs it, prints one JSON line per step. Exit code 2: it could not be run."""
    mode, server = parse_arguments(sys.argv[1:])
    scenario = json.load(sys.stdin)
    steps = scenario if isinstance(scenario, list) else scenario["steps"]

    async def main():
        await run_scenario(steps, make_adapter(mode, server))

    anyio.run(main)
