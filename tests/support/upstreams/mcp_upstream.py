"""A real MCP server on loopback, made with the official SDK, with a connection to it and ops that call its tools."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
import uvicorn
from django.utils import timezone
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.sse import SseServerTransport
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    InputRequiredResult,
    ListResourcesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    TextContent,
    TextResourceContents,
    Tool,
)
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route

from gateway.executors.mcp import definition_check
from gateway.executors.mcp.sessions import resource_tools, session_pool
from registry.catalog import cache, connections
from registry.files import loader
from registry.imports.mcp_import import digest_tool
from registry.models import Connection, UpstreamDefinition
from registry.releases import lifecycle, publishing
from tests.support.rows.op_entries import build_op_entry
from tests.support.servers.processes import eventually, free_port

NAME = "notes"
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}

Context = ServerRequestContext[Any, Any]
Handler = Callable[[dict[str, Any]], Any]


def build_text(text: str, **fields: Any) -> CallToolResult:
    """Return a result of one text."""
    return CallToolResult(content=[TextContent(type="text", text=text)], **fields)


class McpUpstream:
    """The server. `tools` are their definitions, `handlers` what runs them; `calls` is what was called."""

    def __init__(
        self,
        *,
        stateless: bool = True,
        sse: bool = False,  # the transport from before 2025
        streams: bool = False,  # answers are streams of events, in which a call's progress is told
        port: int = 0,
        resources: dict[str, str] | None = None,
    ) -> None:
        self.tools: dict[str, Tool] = {}
        self.handlers: dict[str, Handler] = {}
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.params: list[CallToolRequestParams] = []
        self.headers: list[dict[str, str]] = []
        self.on_call: Callable[[Context], Awaitable[None]] | None = None  # is called before the handler
        self.status = 0  # answered to every request instead of what the protocol says
        self.port = port or free_port()
        self.has_sessions = not stateless  # which the protocol has up to 2025-11-25
        handlers: dict[str, Any] = {"on_list_tools": self._list_tools, "on_call_tool": self._call_tool}
        if resources is not None:
            handlers |= {"on_list_resources": self._list_resources, "on_read_resource": self._read_resource}
        self.resources = resources or {}
        server = Server("notes", version="1", **handlers)
        self.path = "/sse" if sse else "/mcp"
        self.app = (
            build_sse_app(server, self.path)
            if sse
            else server.streamable_http_app(
                streamable_http_path=self.path, json_response=not streams, stateless_http=stateless
            )
        )
        config = uvicorn.Config(self._serve, port=self.port, log_level="error", interface="asgi3")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        eventually(lambda: self._server.started, within=20, what="the server's start")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{self.path}"

    def add_tool(self, name: str, handler: Handler | None = None, **fields: Any) -> None:
        """Add a tool, or define it anew. The handler takes the arguments and returns a result or raises."""
        schema = fields.pop("input_schema", TEXT)
        self.tools[name] = Tool(name=name, input_schema=schema, **{"description": f"About {name}."} | fields)
        if handler is not None:
            self.handlers[name] = handler

    def list_definitions(self) -> list[dict[str, Any]]:
        """Return the definitions as the server sends them, and the two that stand for its resources."""
        tools = [tool.model_dump(by_alias=True, mode="json", exclude_none=True) for tool in self.tools.values()]
        return [*tools, *((resource_tools.LIST, resource_tools.READ) if self.resources else ())]

    def stop(self) -> None:
        self._server.force_exit = self._server.should_exit = True
        self._thread.join(10)

    async def _serve(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            self.headers.append({name.decode(): value.decode() for name, value in scope["headers"]})
            is_unknown = self.has_sessions and self.headers[-1].get("mcp-protocol-version", "") >= "2026"
            if status := self.status or (400 if is_unknown else 0):
                await send({"type": "http.response.start", "status": status, "headers": []})
                await send({"type": "http.response.body", "body": b""})
                return
        await self.app(scope, receive, send)

    async def _list_tools(self, _: Context, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=list(self.tools.values()))

    async def _list_resources(self, _: Context, __: PaginatedRequestParams | None) -> ListResourcesResult:
        return ListResourcesResult(resources=[Resource(uri=uri, name=uri) for uri in self.resources])

    async def _read_resource(self, _: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        if params.uri not in self.resources:
            raise MCPError(-32002, "There is no such resource.")
        contents = TextResourceContents(uri=params.uri, text=self.resources[params.uri])
        return ReadResourceResult(contents=[contents])

    async def _call_tool(self, context: Context, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
        self.calls.append((params.name, params.arguments or {}))
        self.params.append(params)
        if self.on_call is not None:
            await self.on_call(context)
        result = await asyncio.to_thread(self.handlers[params.name], params.arguments or {})
        assert isinstance(result, CallToolResult | InputRequiredResult)
        return result


def build_sse_app(server: Server[Any], path: str) -> Starlette:
    """Return a site that speaks MCP as it was before 2025: answers come on the stream of a GET."""
    transport = SseServerTransport("/messages/")

    async def listen(request: Request) -> Response:
        async with transport.connect_sse(request.scope, request.receive, request._send) as (reader, writer):
            await server.run(reader, writer, server.create_initialization_options())
        return Response()

    return Starlette(routes=[Route(path, listen), Mount("/messages/", app=transport.handle_post_message)])


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
    transport = Connection.Transport.SSE if upstream.path == "/sse" else Connection.Transport.HTTP
    values = {"kind": "mcp", "transport": transport, "base_url": upstream.url}
    Connection.objects.update_or_create(name=NAME, defaults=values)
    approve(upstream)
    ops = [
        build_op_entry(
            f"notes.tool.{tool['name']}",
            kind="write" if tool["name"] == "write" else "read",
            parameters_schema=tool["inputSchema"],
            upstream_name=tool["name"],
            connection=NAME,
            needs_subject=False,
            **fields,
        )
        for tool in upstream.list_definitions()
    ]
    groups = [{"path": path, "summary": "Notes"} for path in ("notes", "notes.tool")]
    loader.load_into_draft({"format": 1, "groups": groups, "ops": ops})
    with suppress(lifecycle.AlreadyLive):
        publishing.publish_draft(note="For tests", by="tests", at=timezone.now())
    cache.refresh_live()
    connections.clear_connections()


def close_sessions() -> None:
    """Close the sessions of this process, as in a new one."""
    session_pool.run_on_loop(session_pool.close_all(), seconds=10)
    definition_check.clear()


@pytest.fixture
def mcp_upstream() -> Iterator[McpUpstream]:
    """Start a server without sessions. It stops after the test."""
    upstream = McpUpstream()
    yield upstream
    close_sessions()
    upstream.stop()
