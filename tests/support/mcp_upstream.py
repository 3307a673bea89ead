"""A real MCP server on loopback, made with the official SDK, with a connection to it and ops that call its tools."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
import uvicorn
from django.utils import timezone
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)

from core import event_loop
from gateway.executors.mcp import definition_check, session_pool
from registry.catalog import cache, connections
from registry.files import loader
from registry.imports.mcp_server import digest_tool
from registry.models import Connection, UpstreamDefinition
from registry.releases import publishing
from tests.support.op_entries import build_op_entry
from tests.support.servers.processes import free_port

NAME = "notes"
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}

Context = ServerRequestContext[Any, Any]
Handler = Callable[[dict[str, Any]], Any]


def build_text(text: str, **fields: Any) -> CallToolResult:
    """Return a result of one text."""
    return CallToolResult(content=[TextContent(type="text", text=text)], **fields)


class McpUpstream:
    """The server. `tools` are their definitions, `handlers` what runs them; `calls` is what was called."""

    def __init__(self, *, stateless: bool = True, port: int = 0) -> None:
        self.tools: dict[str, Tool] = {}
        self.handlers: dict[str, Handler] = {}
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.headers: list[dict[str, str]] = []
        self.status = 0  # answered to every request instead of what the protocol says
        self.port = port or free_port()
        server = Server("notes", version="1", on_list_tools=self._list_tools, on_call_tool=self._call_tool)
        self.app = server.streamable_http_app(streamable_http_path="/mcp", json_response=True, stateless_http=stateless)
        config = uvicorn.Config(self._serve, port=self.port, log_level="error", interface="asgi3")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        until = time.monotonic() + 20
        while not self._server.started:
            assert time.monotonic() < until, "The server did not start."
            time.sleep(0.01)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def add_tool(self, name: str, handler: Handler | None = None, **fields: Any) -> None:
        """Add a tool, or define it anew. The handler takes the arguments and returns a result or raises."""
        schema = fields.pop("input_schema", TEXT)
        self.tools[name] = Tool(name=name, input_schema=schema, **{"description": f"About {name}."} | fields)
        if handler is not None:
            self.handlers[name] = handler

    def list_definitions(self) -> list[dict[str, Any]]:
        """Return the definitions as the server sends them."""
        return [tool.model_dump(by_alias=True, mode="json", exclude_none=True) for tool in self.tools.values()]

    def stop(self) -> None:
        """Stop the server."""
        self._server.force_exit = self._server.should_exit = True
        self._thread.join(10)

    async def _serve(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            self.headers.append({name.decode(): value.decode() for name, value in scope["headers"]})
            if self.status:
                await send({"type": "http.response.start", "status": self.status, "headers": []})
                await send({"type": "http.response.body", "body": b""})
                return
        await self.app(scope, receive, send)

    async def _list_tools(
        self, _: ServerRequestContext[Any, Any], __: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=list(self.tools.values()))

    async def _call_tool(self, _: Context, params: CallToolRequestParams) -> CallToolResult:
        self.calls.append((params.name, params.arguments or {}))
        result = await asyncio.to_thread(self.handlers[params.name], params.arguments or {})
        assert isinstance(result, CallToolResult)
        return result


def approve(upstream: McpUpstream) -> None:
    """Approve the definitions as the server lists them now."""
    connection = Connection.objects.get(name=NAME)
    UpstreamDefinition.objects.filter(connection=connection).delete()
    UpstreamDefinition.objects.bulk_create(
        UpstreamDefinition(
            connection=connection,
            upstream_name=tool["name"],
            approved_digest=(digest := digest_tool(tool)),
            seen_digest=digest,
            seen_at=timezone.now(),
        )
        for tool in upstream.list_definitions()
    )
    connections.clear_connections()


def publish_tools(upstream: McpUpstream, **fields: Any) -> None:
    """Publish an op for each tool, notes.tool.<name>, besides what is live, and approve the definitions.

    The tool `write` is a write. Fields of the ops are passed by name.
    """
    Connection.objects.update_or_create(name=NAME, defaults={"kind": "mcp", "base_url": upstream.url})
    approve(upstream)
    ops = [
        build_op_entry(
            f"notes.tool.{tool.name}",
            kind="write" if tool.name == "write" else "read",
            parameters_schema=tool.input_schema,
            upstream_name=tool.name,
            connection=NAME,
            needs_subject=False,
            **fields,
        )
        for tool in upstream.tools.values()
    ]
    groups = [{"path": path, "summary": "Notes"} for path in ("notes", "notes.tool")]
    loader.load_into_draft({"format": 1, "groups": groups, "ops": ops})
    with suppress(publishing.AlreadyLive):
        publishing.publish_draft(note="For tests", by="tests", at=timezone.now())
    cache.refresh_live()
    connections.clear_connections()


def close_sessions() -> None:
    """Close the sessions of this process, as in a new one."""
    event_loop.run(session_pool.close_all(), seconds=10)
    definition_check.clear()


@pytest.fixture
def mcp_upstream() -> Iterator[McpUpstream]:
    """Start a server without sessions. It stops after the test."""
    upstream = McpUpstream()
    yield upstream
    close_sessions()
    upstream.stop()
