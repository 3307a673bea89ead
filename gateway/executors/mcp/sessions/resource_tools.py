"""The resources of a server as two tools, which read them like anything else: list_resources and read_resource."""

from collections.abc import Awaitable, Callable, Container
from typing import Any

from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    PaginatedRequestParams,
    ReadResourceRequest,
    ReadResourceRequestParams,
    ReadResourceResult,
)

MAX_RESOURCES = 1_000
READ_ONLY = {"readOnlyHint": True}
LIST = {
    "name": "list_resources",
    "description": "List the resources of the server, which read_resource reads.",
    "inputSchema": {"type": "object", "properties": {}, "additionalProperties": False},
    "annotations": READ_ONLY,
}
READ = {
    "name": "read_resource",
    "description": "Read a resource of the server.",
    "inputSchema": {
        "type": "object",
        "properties": {"uri": {"type": "string", "description": "Its address, as list_resources tells it"}},
        "required": ["uri"],
        "additionalProperties": False,
    },
    "annotations": READ_ONLY,
}

Arguments = dict[str, Any]


def list_additional(client: Client, names: Container[str]) -> list[dict[str, Any]]:
    """Return the definitions of these two if the server has resources. `names` are those that its own tools have."""
    if client.server_capabilities.resources is None:
        return []
    return [tool for tool in (LIST, READ) if tool["name"] not in names]


async def list_resources(client: Client, _: Arguments) -> CallToolResult:
    """Return the resources, as many as a model could read."""
    resources: list[dict[str, Any]] = []
    cursor: str | None = None
    known = set[str]()
    while len(resources) < MAX_RESOURCES:
        page = await client.session.list_resources(params=PaginatedRequestParams(cursor=cursor))
        for each in page.resources:
            described = {"uri": each.uri, "name": each.name, "title": each.title, "description": each.description}
            resources.append({name: value for name, value in described.items() if value})
        cursor = page.next_cursor
        if cursor is None or cursor in known or not page.resources:
            break
        known.add(cursor)
    return CallToolResult(content=[], structured_content={"resources": resources[:MAX_RESOURCES]})


async def read_resource(client: Client, arguments: Arguments) -> CallToolResult:
    """Return the contents of a resource. Raises MCPError, for one that does not exist as for wrong arguments."""
    params = ReadResourceRequestParams(uri=str(arguments.get("uri", "")))
    try:
        result = await client.session.send_request(ReadResourceRequest(params=params), ReadResourceResult)
    except MCPError as error:
        if error.code == NOT_FOUND:
            raise MCPError(INVALID_PARAMS, error.message) from None
        raise
    content: list[ContentBlock] = [EmbeddedResource(type="resource", resource=each) for each in result.contents]
    return CallToolResult(content=content, _meta=result.meta)


NOT_FOUND = -32002  # of resources, before 2026-07-28
RUNNERS: dict[str, Callable[[Client, Arguments], Awaitable[CallToolResult]]] = {
    str(LIST["name"]): list_resources,
    str(READ["name"]): read_resource,
}
