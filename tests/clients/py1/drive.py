"""Drives a server with the Python SDK 1.x (handshake protocol versions only)."""

import os
import sys
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))

from mcp import ClientSession, StdioServerParameters, types  # noqa: E402
from mcp.client.stdio import stdio_client  # noqa: E402
from pydantic import AnyUrl  # noqa: E402
from steps import Unsupported, drive, wire  # noqa: E402

MAX_PAGES = 64


class Adapter:
    def __init__(self, mode, server):
        self.mode = mode
        self.server = StdioServerParameters(command=server[0], args=server[1:], env=dict(os.environ))
        self.stack = AsyncExitStack()
        self.session = None

    async def connect(self, timeout, on_list_changed, on_protocol_error):
        if self.mode != "legacy":
            raise Unsupported(f"the SDK 1.x cannot negotiate `{self.mode}`")

        async def on_message(message):
            if isinstance(message, Exception):
                on_protocol_error(message)
            elif isinstance(getattr(message, "root", None), types.ToolListChangedNotification):
                on_list_changed()

        read, write = await self.stack.enter_async_context(stdio_client(self.server))
        limit = timedelta(seconds=timeout)
        session = ClientSession(read, write, read_timeout_seconds=limit, message_handler=on_message)
        self.session = await self.stack.enter_async_context(session)
        answer = wire(await self.session.initialize())
        return {key: answer.get(key) for key in ("protocolVersion", "serverInfo", "capabilities", "instructions")}

    async def all_pages(self, fetch, key):
        """This SDK gives one page a call."""
        whole = wire(await fetch())
        cursor = whole.pop("nextCursor", None)
        for _ in range(MAX_PAGES - 1):
            if cursor is None:
                break
            page = wire(await fetch(params=types.PaginatedRequestParams(cursor=cursor)))
            whole[key] += page[key]
            cursor = page.get("nextCursor")
        return whole

    async def subscribe(self):
        # Nothing to open: handshake servers send list changes unasked.
        return {"unsolicited": True}

    async def list_tools(self, _step):
        return await self.all_pages(self.session.list_tools, "tools")

    async def list_resources(self, _step):
        return await self.all_pages(self.session.list_resources, "resources")

    async def list_prompts(self, _step):
        return await self.all_pages(self.session.list_prompts, "prompts")

    async def call(self, step):
        return wire(await self.session.call_tool(step["name"], step.get("arguments")))

    async def read_resource(self, step):
        return wire(await self.session.read_resource(AnyUrl(step["uri"])))

    async def get_prompt(self, step):
        return wire(await self.session.get_prompt(step["name"], step.get("arguments")))

    async def complete(self, step):
        kinds = {"ref/prompt": types.PromptReference, "ref/resource": types.ResourceTemplateReference}
        reference = kinds[step["ref"]["type"]](**step["ref"])
        return wire(await self.session.complete(reference, step["argument"]))

    async def ping(self, _step):
        return wire(await self.session.send_ping())

    async def close(self, _step):
        await self.stack.aclose()
        return {}


drive(Adapter)
