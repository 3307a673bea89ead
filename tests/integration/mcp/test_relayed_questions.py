"""Questions of a service, passed on to the user of an MCP client."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp_types import ElicitResult

from gateway.executors.mcp import running_calls
from gateway.mcp_server.server import build_server
from gateway.mcp_server.stdio import _StdioSource
from tests.support.clients.api import Api
from tests.support.clients.mcp_client import FORM_CAPABILITY, LEGACY, McpClient
from tests.support.loops import for_each
from tests.support.upstreams.asking_servers import (
    STATE,
    build_form,
    build_page,
    publish_asking_program,
    publish_asking_tools,
)
from tests.support.upstreams.mcp_upstream import McpUpstream

pytestmark = pytest.mark.usefixtures("background_at_once")

CALL = {"op": "notes.tool.write", "args": {"text": "hello"}}
BOTH_CAPABILITIES = {"elicitation": {"form": {}, "url": {}}}


@pytest.fixture
def asking(live_catalog: object, mcp_upstream: McpUpstream) -> McpUpstream:
    publish_asking_tools(mcp_upstream)
    return mcp_upstream


@pytest.fixture
def client(asking: McpUpstream, api: Api) -> McpClient:
    return McpClient(api, capabilities=FORM_CAPABILITY)


def answer(asked: dict[str, Any], content: Any = None, action: str = "accept", **names: Any) -> dict[str, Any]:
    """Return what a client adds to a call when its user has answered each question, or those of these names."""
    reply = {"action": action} | ({"content": content} if content is not None else {})
    responses = names or dict.fromkeys(asked["inputRequests"], reply)
    return {"inputResponses": responses, "requestState": asked["requestState"]}


def test_client_asks_its_user_and_the_call_goes_on(client: McpClient, asking: McpUpstream) -> None:
    asked = client.call("tool_exec", CALL)

    question = asked["inputRequests"]["who"]
    assert (asked["resultType"], question["method"]) == ("input_required", "elicitation/create")
    assert question["params"]["message"] == "What is your name?"
    assert question["params"]["requestedSchema"]["required"] == ["name"]
    assert STATE not in str(asked)
    done = client.call("tool_exec", CALL, **answer(asked, {"name": "Ana"}))["structuredContent"]
    told = {"who": {"action": "accept", "content": {"name": "Ana"}}}
    assert done["result"] == {"told": told, "state": STATE}


def test_tool_of_an_op_asks_too(client: McpClient) -> None:
    asked = client.call("notes_tool_write", {"text": "hello"})

    done = client.call("notes_tool_write", {"text": "hello"}, **answer(asked, {"name": "Ana"}))["structuredContent"]

    assert done["ok"] is True


def test_several_questions_are_asked_at_once(api: Api, mcp_upstream: McpUpstream, live_catalog: object) -> None:
    publish_asking_tools(mcp_upstream, {"who": build_form(), "pay": build_page()})
    client = McpClient(api, capabilities=BOTH_CAPABILITIES)
    asked = client.call("tool_exec", CALL)
    assert asked["inputRequests"]["pay"]["params"]["url"] == "https://pay.example/7"

    who = {"action": "accept", "content": {"name": "Ana"}}
    again = client.call("tool_exec", CALL, **answer(asked, who=who))
    assert list(again["inputRequests"]) == ["pay"]
    done = client.call("tool_exec", CALL, **answer(again, pay={"action": "accept"}, more=who))

    assert set(done["structuredContent"]["result"]["told"]) == {"who", "pay"}


def test_answer_that_does_not_fit_is_asked_again(client: McpClient, asking: McpUpstream) -> None:
    asked = client.call("tool_exec", CALL)

    again = client.call("tool_exec", CALL, **answer(asked, {"name": "A"}))

    message = again["inputRequests"]["who"]["params"]["message"]
    assert message == "name must have at least 2 characters. What is your name?"
    assert client.call("tool_exec", CALL, **answer(again, {"name": "Ana"}))["structuredContent"]["ok"] is True


def test_state_of_another_call_or_changed_one_is_refused(client: McpClient) -> None:
    asked = client.call("tool_exec", CALL)
    answers = answer(asked, {"name": "Ana"})
    other = {"name": "tool_exec", "arguments": {**CALL, "args": {"text": "other"}}}
    changed = {"name": "tool_exec", "arguments": CALL, **answers, "requestState": f"{asked['requestState']}-TAMPERED"}

    for params, reason in ((other | answers, "other_call"), (changed, "input_expired")):
        error = client.send("tools/call", params).json()["error"]
        assert error["data"]["details"]["reason"] == reason, error
    assert client.call("tool_exec", CALL, **answers)["structuredContent"]["ok"] is True


@for_each("capabilities, version", [({}, "2026-07-28"), (FORM_CAPABILITY, LEGACY), ({"sampling": {}}, "2026-07-28")])
def test_client_that_cannot_ask_reads_what_to_tell_its_user(
    client: McpClient, capabilities: dict[str, Any], version: str
) -> None:
    result = McpClient(client.api, version, capabilities).call("tool_exec", CALL)

    error = result["structuredContent"]["error"]
    assert (result["isError"], error["details"]["reason"]) == (True, "input_required")
    assert error["details"]["message"] == "What is your name?"
    assert "token" not in error["details"]
    assert "cannot show" in error["message"]


def test_no_token_is_in_a_batch(client: McpClient) -> None:
    result = client.call("tool_batch", {"ops": [{"type": "exec", **CALL}]})["structuredContent"]["results"][0]

    assert result["error"]["details"]["reason"] == "input_required"
    assert "token" not in result["error"]["details"]


@pytest.mark.django_db(transaction=True)  # the server runs in another thread
@for_each("mode", ["legacy", "auto"])
def test_user_at_an_open_connection_is_asked_until_the_answers_fit(
    asking: McpUpstream, make_key: Callable[..., str], mode: str
) -> None:
    server = build_server(_StdioSource(make_key(subject="ana"), {}))
    contents = [{"name": "A"}, {"name": "Ana"}]
    questions: list[str] = []

    async def ask(_: Any, params: Any) -> ElicitResult:
        questions.append(params.message)
        return ElicitResult(action="accept", content=contents[len(questions) - 1])

    async def use() -> Any:
        async with Client(server, mode=mode, elicitation_callback=ask) as client:
            return await client.call_tool("tool_exec", CALL)

    result = asyncio.run(use())

    assert questions == ["What is your name?", "name must have at least 2 characters. What is your name?"]
    assert result.structured_content["ok"] is True, result


@pytest.mark.django_db(transaction=True)
def test_client_over_stdio_reads_progress_and_cancels_the_call_at_the_program(
    live_catalog: object,
    mcp_upstream: McpUpstream,
    make_key: Callable[..., str],
    settings: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(running_calls, "WATCH_SECONDS", 0.05)
    read = {"op": "notes.tool.read", "args": {"text": "20"}}
    seen: list[tuple[float, float | None, str | None]] = []

    async def use(server: Any) -> None:
        async with Client(server, mode="legacy") as client:
            noted = asyncio.Event()

            async def note(done: float, total: float | None, message: str | None) -> None:
                seen.append((done, total, message))
                noted.set()

            call = asyncio.create_task(client.call_tool("tool_exec", read, progress_callback=note))
            await asyncio.wait_for(noted.wait(), 10)
            call.cancel()
            while not (tmp_path / "cancelled").exists():
                await asyncio.sleep(0.02)

    with publish_asking_program(mcp_upstream, settings, tmp_path):
        asyncio.run(asyncio.wait_for(use(build_server(_StdioSource(make_key(subject="ana"), {}))), 20))

    assert seen[0] == (3, 10, "Reading page 3")
