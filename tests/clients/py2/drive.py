"""Drives a server with the high-level client of the Python SDK 2.x, in its three ways of agreeing on a version."""

import os
import sys
import warnings
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))

import anyio  # noqa: E402
import mcp_types as types  # noqa: E402
from mcp import Client, StdioServerParameters  # noqa: E402
from mcp.client.subscriptions import ToolsListChanged  # noqa: E402
from steps import Unsupported, drive, wire  # noqa: E402

# The client keeps lists for as long as the server allows; a driver wants to hear the server.
FRESH = {"cache_mode": "refresh"}
MAX_PAGES = 64


class Adapter:
    def __init__(self, mode, server):
        self.mode = mode
        self.server = StdioServerParameters(command=server[0], args=server[1:], env=dict(os.environ))
        self.client = None
        self.tasks = None
        self.honored = None
        self.on_list_changed = None

    async def connect(self, timeout, on_list_changed, on_protocol_error):
        self.on_list_changed = on_list_changed

        async def on_message(message):
            if isinstance(message, Exception):
                on_protocol_error(message)
            # In the newer era the subscription reports the same notification, see `follow`.
            elif isinstance(message, types.ToolListChangedNotification) and self.honored is None:
                on_list_changed()

        client = Client(self.server, mode=self.mode, read_timeout_seconds=timeout, message_handler=on_message)
        self.client = await client.__aenter__()
        self.tasks = await anyio.create_task_group().__aenter__()
        return {
            "protocolVersion": self.client.protocol_version,
            "serverInfo": self.client.server_info and wire(self.client.server_info),
            "capabilities": wire(self.client.server_capabilities),
            "instructions": self.client.instructions,
        }

    async def follow(self, *, task_status):
        async with self.client.listen(tools_list_changed=True) as subscription:
            task_status.started(wire(subscription.honored))
            async for event in subscription:
                if isinstance(event, ToolsListChanged):
                    self.on_list_changed()

    async def subscribe(self):
        if self.honored is None:
            self.honored = await self.tasks.start(self.follow)
        return {"honored": self.honored}

    async def all_pages(self, fetch, key):
        """This SDK gives one page a call."""
        whole = wire(await fetch(**FRESH))
        cursor = whole.pop("nextCursor", None)
        for _ in range(MAX_PAGES - 1):
            if cursor is None:
                break
            page = wire(await fetch(cursor=cursor, **FRESH))
            whole[key] += page[key]
            cursor = page.get("nextCursor")
        return whole

    async def list_tools(self, _step):
        return await self.all_pages(self.client.list_tools, "tools")

    async def list_resources(self, _step):
        return await self.all_pages(self.client.list_resources, "resources")

    async def list_prompts(self, _step):
        return await self.all_pages(self.client.list_prompts, "prompts")

    async def call(self, step):
        return wire(await self.client.call_tool(step["name"], step.get("arguments")))

    async def read_resource(self, step):
        return wire(await self.client.read_resource(step["uri"], **FRESH))

    async def get_prompt(self, step):
        return wire(await self.client.get_prompt(step["name"], step.get("arguments")))

    async def complete(self, step):
        kinds = {"ref/prompt": types.PromptReference, "ref/resource": types.ResourceTemplateReference}
        reference = kinds[step["ref"]["type"]](**step["ref"])
        return wire(await self.client.complete(reference, step["argument"]))

    async def ping(self, _step):
        if self.client.protocol_version >= "2026":
            raise Unsupported("ping ended with the handshake era")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return wire(await self.client.send_ping())

    async def close(self, _step):
        self.tasks.cancel_scope.cancel()
        await self.tasks.__aexit__(None, None, None)
        await self.client.__aexit__(None, None, None)
        return {}


drive(Adapter)
