"""FastMCP's proxy of an OpenAPI service, over streamable HTTP. It runs in a separate environment.

It has the fastest settings for a load: no sessions, answers as JSON, no check of what the service answers.
"""

import os

import httpx2
from fastmcp import FastMCP
from starlette.requests import Request
from starlette.responses import PlainTextResponse

SERVICE = os.environ["BENCHMARKS_SERVICE"]


async def answer_probe(_request: Request) -> PlainTextResponse:
    """Answer that the proxy is ready."""
    return PlainTextResponse("ready")


proxy = FastMCP.from_openapi(
    openapi_spec=httpx2.get(f"{SERVICE}/openapi.json").json(),
    client=httpx2.AsyncClient(base_url=SERVICE),
    validate_output=False,
)
proxy.custom_route("/readyz", methods=["GET"])(answer_probe)
app = proxy.http_app(stateless_http=True, json_response=True)
