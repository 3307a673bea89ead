"""Plain requests are answered without the SDK's transport, and the client cannot tell."""

import asyncio
import json
import re
from typing import Any

import pytest
from django.http import HttpResponse

from gateway.mcp_server.transport import direct_exchange
from tests.support.clients.api import Api
from tests.support.clients.mcp_client import ACCEPT, McpClient
from tests.support.loops import for_each

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("gateway_enabled")]

VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", ""]
HELP = {"name": "tool_help", "arguments": {"path": "onto.task"}}
CLIENT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
CHANGING = re.compile(r'tr_[0-9a-f]{32}|(?<=latency_ms":)[\d.]+|(?<=latency_ms\\":)[\d.]+')


def ask(api: Api, message: dict[str, Any], version: str = "2025-11-25", **headers: str) -> HttpResponse:
    named = {"MCP-Protocol-Version": version} if version else {}
    return McpClient(api).post(message, **api.headers | {"Accept": ACCEPT} | named | headers)


def build_message(method: str, params: Any = None, **members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 7, "method": method, **({} if params is None else {"params": params}), **members}


def mask(content: bytes) -> Any:
    """Return an answer without what differs between two runs of the same call."""
    return json.loads(CHANGING.sub("0", content.decode()))


def refuse_loop() -> Any:
    raise AssertionError("An event loop was started.")


@for_each(
    "message",
    [
        build_message("ping"),
        build_message("ping", id="text"),
        build_message("initialize", CLIENT),
        build_message("initialize", {"protocolVersion": 7}),
        build_message("tools/list", {}),
        build_message("tools/list", {"cursor": 7}),
        build_message("tools/call", HELP),
        build_message("tools/call", HELP | {"_meta": {"progressToken": 1}}),
        build_message("tools/call", {"name": "tool_exec", "arguments": {"op": "onto.task.list", "args": {}}}),
        build_message("tools/call", {"name": "tool_exec", "arguments": {"op": "no.such.op"}}),
        build_message("tools/call", {"name": "no_such_tool"}),
        build_message("tools/call", {"arguments": {}}),
        build_message("tools/call", {"name": "tool_help", "arguments": []}),
        build_message("resources/list"),
        build_message("resources/read", {"uri": "gateway://help/no.such.group"}),
        build_message("prompts/list"),
        build_message("prompts/get", {"name": "no_such_prompt"}),
        build_message("no/such/method"),
    ],
)
def test_answer_is_that_of_the_transport(api: Api, monkeypatch: pytest.MonkeyPatch, message: dict[str, Any]) -> None:
    def read_answers() -> list[tuple[int, Any, str]]:
        answers = [ask(api, message, version) for version in VERSIONS]
        return [(each.status_code, mask(each.content), each["Content-Type"]) for each in answers]

    with monkeypatch.context() as patched:
        patched.setattr(asyncio, "new_event_loop", refuse_loop)
        direct = read_answers()
    with monkeypatch.context() as patched:
        patched.setattr(direct_exchange, "is_plain_request", lambda *_: False)
        assert direct == read_answers()


@for_each(
    "message, headers, status",
    [
        (build_message("ping", jsonrpc="1.0"), {}, 400),
        (build_message("ping", id=None), {}, 202),  # which the SDK takes for a notification
        (build_message("ping", id=True), {}, 202),
        (build_message("ping", params=[]), {}, 400),
        ({"jsonrpc": "2.0", "method": "notifications/initialized"}, {}, 202),
        (build_message("ping"), {"Accept": "text/html"}, 406),
        (build_message("ping"), {"MCP-Protocol-Version": "1999-01-01"}, 400),
    ],
)
def test_anything_else_goes_through_the_transport(
    api: Api, message: dict[str, Any], headers: dict[str, str], status: int
) -> None:
    response = ask(api, message, **headers)

    assert response.status_code == status, response.content
