"""FastMCP with three tools, whose tool_exec calls the service. It runs in a separate environment."""

import os
from typing import Any

import httpx2
from fastmcp import FastMCP
from starlette.requests import Request
from starlette.responses import PlainTextResponse

service = httpx2.AsyncClient(base_url=os.environ["BENCHMARKS_SERVICE"])
server = FastMCP("three tools")


async def tool_help(path: str = "root", query: str = "") -> dict[str, Any]:
    """Find out what you can do."""
    return {
        "path": path,
        "type": "group",
        "items": [{"path": "service.orders.get", "summary": query or "Get an order"}],
    }


async def tool_exec(op: str, args: dict[str, Any]) -> dict[str, Any]:
    """Run one op."""
    response = await service.get(f"/orders-0/{args['id']}")
    return {"op": op, "ok": True, "result": response.json(), "meta": {"warnings": []}}


async def tool_batch(ops: list[dict[str, Any]]) -> dict[str, Any]:
    """Send several calls at once."""
    return {"ok": True, "results": [await tool_exec(each["op"], each["args"]) for each in ops], "meta": {}}


async def answer_probe(_request: Request) -> PlainTextResponse:
    """Answer that the server is ready."""
    return PlainTextResponse("ready")


for tool in (tool_help, tool_exec, tool_batch):
    server.tool(tool)
server.custom_route("/readyz", methods=["GET"])(answer_probe)
app = server.http_app(stateless_http=True, json_response=True)
