"""FastMCP's proxy of an MCP server, over streamable HTTP without sessions. It runs in a separate environment."""

import os

from fastmcp.server import create_proxy
from starlette.requests import Request
from starlette.responses import PlainTextResponse

proxy = create_proxy(os.environ["BENCHMARKS_SERVICE"])


async def answer_probe(_request: Request) -> PlainTextResponse:
    """Answer that the proxy is ready."""
    return PlainTextResponse("ready")


proxy.custom_route("/readyz", methods=["GET"])(answer_probe)
app = proxy.http_app(stateless_http=True, json_response=True)
