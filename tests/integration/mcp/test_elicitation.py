"""Tools that ask their user: the question reaches the caller, and the call goes on once with what the user answers."""

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from mcp.shared.exceptions import MCPError
from mcp_types import (
    URL_ELICITATION_REQUIRED,
    CreateMessageRequest,
    CreateMessageRequestParams,
    ListRootsRequest,
    SamplingMessage,
    TextContent,
)

from analytics.events import event_log
from analytics.events.models import OperationEvent
from gateway.executors.mcp import tool_runner, waiting_calls
from gateway.executors.mcp.sessions import session_pool
from gateway.models import IdempotencyRecord, PendingInput
from tests.support.clients.api import Api, assert_refused
from tests.support.loops import for_each
from tests.support.servers.processes import eventually
from tests.support.upstreams.asking_servers import (
    STATE,
    build_form,
    build_page,
    publish_asking_program,
    publish_asking_tools,
)
from tests.support.upstreams.mcp_upstream import (
    Context,
    McpUpstream,
    build_text,
    close_sessions,
    publish_tools,
)

pytestmark = pytest.mark.usefixtures("background_at_once")

READ, WRITE = "notes.tool.read", "notes.tool.write"
ANA = {"name": "Ana", "size": "small", "copies": 2, "gift": True}
SECRET_ANSWER = "Canary-name-7f3a"


@pytest.fixture
def asking(live_catalog: object, mcp_upstream: McpUpstream) -> McpUpstream:
    publish_asking_tools(mcp_upstream)
    return mcp_upstream


@pytest.fixture
def program(
    live_catalog: object, mcp_upstream: McpUpstream, settings: Any, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Path]:
    """Publish the tools of a program that asks its user, by the given version of the protocol. Yield its folder."""
    version = getattr(request, "param", "2025-06-18")
    with publish_asking_program(mcp_upstream, settings, tmp_path, version=version) as folder:
        yield folder


def ask(api: Api, op: str = READ, **body: Any) -> dict[str, Any]:
    """Call a tool that asks, and return the details of its question."""
    response = api.post("exec", {"op": op, **body})
    details: dict[str, Any] = assert_refused(response, 409, "input_required")["details"]
    return details


def answer(api: Api, token: str, action: str = "accept", content: Any = None) -> Any:
    body = {"token": token, "action": action} | ({"content": content} if content is not None else {})
    return api.post("answers", body)


@for_each("op", [READ, WRITE])
def test_call_goes_on_with_what_the_user_enters(api: Api, asking: McpUpstream, op: str) -> None:
    question = ask(api, op, args={"text": "hello"})

    assert question["message"] == "What is your name?"
    assert question["expires_in"] == 600
    assert question["schema"]["properties"]["size"]["oneOf"][1] == {"const": "large", "title": "Large"}
    envelope = answer(api, question["token"], content=ANA).json()
    assert envelope["result"] == {"told": {"who": {"action": "accept", "content": ANA}}, "state": STATE}, envelope
    assert asking.calls[-2:] == [(op.rpartition(".")[2], {"text": "hello"})] * 2


@for_each("action", ["decline", "cancel"])
def test_service_learns_that_the_user_did_not_answer(api: Api, asking: McpUpstream, action: str) -> None:
    envelope = answer(api, ask(api)["token"], action).json()

    assert envelope["result"]["told"] == {"who": {"action": action, "content": None}}


def test_page_is_opened_by_its_address(api: Api, mcp_upstream: McpUpstream, live_catalog: object) -> None:
    publish_asking_tools(mcp_upstream, {"pay": build_page()})

    question = ask(api)

    assert question["url"] == "https://pay.example/7"
    assert "schema" not in question
    assert answer(api, question["token"]).json()["result"]["told"]["pay"]["action"] == "accept"


def test_page_of_an_older_server_is_opened_before_the_call_is_sent_again(
    api: Api, live_catalog: object, mcp_upstream: McpUpstream
) -> None:
    page = {"mode": "url", "message": "Sign in.", "url": "https://auth.example/7", "elicitationId": "7"}
    results = iter([MCPError(URL_ELICITATION_REQUIRED, "Open it.", {"elicitations": [page]}), build_text("Done.")])

    def handle(_: object) -> Any:
        result = next(results)
        if isinstance(result, Exception):
            raise result
        return result

    mcp_upstream.add_tool("read", handle)
    publish_tools(mcp_upstream)

    question = ask(api)

    assert question["url"] == "https://auth.example/7"
    assert answer(api, question["token"]).json()["result"] == {"text": "Done."}


def test_questions_are_asked_one_after_another(api: Api, mcp_upstream: McpUpstream, live_catalog: object) -> None:
    publish_asking_tools(mcp_upstream, {"who": build_form(), "pay": build_page()})
    first = ask(api)

    second = assert_refused(answer(api, first["token"], content={"name": "Ana"}), 409, "input_required")["details"]

    assert second["url"] == "https://pay.example/7"
    assert len(mcp_upstream.calls) == 1
    told = answer(api, second["token"]).json()["result"]["told"]
    assert told == {
        "who": {"action": "accept", "content": {"name": "Ana"}},
        "pay": {"action": "accept", "content": None},
    }
    assert set(answer(api, ask(api)["token"], "decline").json()["result"]["told"]) == {"who", "pay"}


@for_each(
    "content, path",
    [
        ({}, "/content/name"),
        ({"name": "A"}, "/content/name"),
        ({"name": "Ana", "size": "huge"}, "/content/size"),
        ({"name": "Ana", "copies": 10}, "/content/copies"),
        ({"name": "Ana", "gift": "yes"}, "/content/gift"),
        ({"name": "Ana", "age": 7}, "/content/age"),
    ],
)
def test_answer_that_does_not_fit_is_corrected_with_the_same_token(
    api: Api, asking: McpUpstream, content: dict[str, Any], path: str
) -> None:
    token = ask(api)["token"]

    error = assert_refused(answer(api, token, content=content), 400, "invalid_answer")

    assert [each["path"] for each in error["details"]["field_errors"]] == [path]
    assert answer(api, token, content={"name": "Ana"}).json()["ok"] is True


@for_each(
    "body, pointer",
    [
        ({}, "/token"),
        ({"token": "x"}, "/action"),
        ({"token": "x", "action": "yes"}, "/action"),
        ({"token": "x", "action": "accept", "content": []}, "/content"),
        ({"token": "x", "action": "accept", "op": READ}, "/op"),
    ],
)
def test_malformed_answer_is_told_what_to_send(api: Api, asking: McpUpstream, body: Any, pointer: str) -> None:
    error = assert_refused(api.post("answers", body), 400, "malformed_call")

    assert pointer in [each["path"] for each in error["details"]["field_errors"]]


def test_token_works_once_for_its_client_and_subject_until_it_expires(
    api: Api, asking: McpUpstream, make_key: Callable[..., str]
) -> None:
    token = ask(api)["token"]
    others = [Api(make_key(subject=""), "demo-user"), Api(api.headers["Authorization"].split()[1], "demo-user")]
    others[1].headers["Gateway-Subject"] = "eve"

    assert_refused(answer(others[0], token, content=ANA), 409, "input_expired")
    assert others[1].post("answers", {"token": token, "action": "accept", "content": ANA}).status_code in (403, 409)
    assert_refused(answer(api, f"{token}x", content=ANA), 409, "input_expired")
    assert answer(api, token, content=ANA).json()["ok"] is True
    assert_refused(answer(api, token, content=ANA), 409, "input_answered")
    late = ask(api)["token"]
    PendingInput.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert_refused(answer(api, late, content=ANA), 409, "input_expired")
    assert len(asking.calls) == 3


def test_write_with_a_key_takes_effect_once(api: Api, asking: McpUpstream) -> None:
    token = ask(api, WRITE, idempotency_key="k1")["token"]
    assert not IdempotencyRecord.objects.filter(key="k1").exists()

    first = answer(api, token, content=ANA).json()
    again = api.post("exec", {"op": WRITE, "idempotency_key": "k1"}).json()

    assert again["meta"]["replayed"] is True
    assert again["result"] == first["result"]
    assert len(asking.calls) == 2


def test_confirmed_call_is_not_confirmed_again(
    live_catalog: object, mcp_upstream: McpUpstream, make_key: Callable[..., str]
) -> None:
    publish_asking_tools(mcp_upstream, confirm=True)
    api = Api(make_key(confirms=True))
    refused = assert_refused(api.post("exec", {"op": WRITE}), 409, "confirmation_required")
    confirmation = refused["details"]["confirmation"]["token"]

    asked = api.post("exec", {"op": WRITE}, Gateway_Confirm=confirmation)
    token = assert_refused(asked, 409, "input_required")["details"]["token"]

    assert answer(api, token, content=ANA).json()["ok"] is True


def test_nothing_of_question_and_answer_is_stored_readably(
    api: Api, asking: McpUpstream, caplog: pytest.LogCaptureFixture
) -> None:
    token = ask(api, args={"text": "Canary-text-5c1d"})["token"]
    answer(api, token, content={"name": SECRET_ANSWER})
    event_log.flush()

    events = list(OperationEvent.objects.filter(type="exec").order_by("time").values())
    assert [(each["reason"], each["ok"]) for each in events] == [("input_required", False), ("", True)]
    rows = str(list(PendingInput.objects.values()))
    for secret in (token, SECRET_ANSWER, STATE, "Canary-text-5c1d"):
        assert secret not in caplog.text
        assert secret not in rows
        assert secret not in str([each | {"content": None} for each in events])
    assert SECRET_ANSWER not in str(events[0])


SAMPLING = CreateMessageRequest(
    params=CreateMessageRequestParams(
        messages=[SamplingMessage(role="user", content=TextContent(type="text", text="Capital?"))], max_tokens=10
    )
)


@for_each(
    "request_of_server, words",
    [
        (SAMPLING, "sampling"),
        (ListRootsRequest(), "roots"),
        (build_page("javascript:alert(1)"), "not a web page"),
        (build_page("https://user:pass@pay.example"), "not a web page"),
        (build_form(schema={"type": "object", "properties": {"a": {"type": "object"}}}), "not texts"),
    ],
)
def test_what_the_gateway_cannot_pass_on_is_refused_with_a_sentence(
    api: Api, mcp_upstream: McpUpstream, live_catalog: object, request_of_server: Any, words: str
) -> None:
    publish_asking_tools(mcp_upstream, {"who": build_form(), "other": request_of_server})

    error = assert_refused(api.post("exec", {"op": WRITE}), 502, "upstream_needs_input")

    assert words in error["message"]
    assert not PendingInput.objects.exists()


def test_question_on_an_open_stream_is_declined_with_a_remark(live_catalog: object, api: Api) -> None:
    server = McpUpstream(stateless=False, streams=True)
    told: list[str] = []

    async def elicit(context: Context) -> None:
        result = await context.session.elicit_form("Who are you?", {"type": "object", "properties": {}})
        told.append(result.action)

    server.on_call = elicit
    server.add_tool("read", lambda _: build_text("Nobody."))
    publish_tools(server)

    envelope = api.exec(READ)

    assert told == ["decline"]
    assert envelope["result"] == {"text": "Nobody."}
    assert "declined" in envelope["meta"]["warnings"][0]
    close_sessions()
    server.stop()


@pytest.mark.parametrize("program", ["2025-06-18", "2026-07-28"], indirect=True)
def test_program_that_asks_while_the_call_runs_goes_on(
    api: Api, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = ask(api, WRITE, args={"text": "twice"}, idempotency_key="k1")
    monkeypatch.setattr(session_pool, "_sessions", {})  # a new call would start another program
    assert question["message"] == "Who is it for?"

    assert_refused(answer(api, question["token"], content={"name": "A"}), 400, "invalid_answer")
    second = assert_refused(answer(api, question["token"], content={"name": "Ana"}), 409, "input_required")["details"]
    assert second["message"] == "And where to?"
    envelope = answer(api, second["token"], content={"name": "Oslo"}).json()

    assert envelope["result"]["text"].startswith("accept Oslo"), envelope
    assert answer(api, ask(api, WRITE)["token"], "decline").json()["result"]["text"].startswith("decline None")


def test_call_that_is_quick_or_of_no_mcp_server_needs_no_polling(api: Api, asking: McpUpstream) -> None:
    other = api.post("exec", {"op": "util.schema.field_info"}, Prefer="respond-async")
    quick = api.post("exec", {"op": WRITE, "idempotency_key": "k1"}, Prefer="respond-async")

    assert (other.status_code, quick.status_code, quick.json()["status"]) == (400, 202, "done")
    [entry] = quick.json()["results"]
    assert answer(api, entry["error"]["details"]["token"], content=ANA).json()["ok"] is True
    again = api.post("exec", {"op": WRITE, "idempotency_key": "k1"}, Prefer="respond-async").json()["results"][0]
    assert again["meta"]["replayed"] is True


@pytest.mark.parametrize("program", ["2025-06-18", "2026-07-28"], indirect=True)
@pytest.mark.django_db(transaction=True)
def test_call_that_waits_in_another_process_is_answered_through_its_row(
    api: Api, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = ask(api, WRITE, args={"text": "twice"})
    elsewhere = SimpleNamespace(take=lambda _: None, keep=waiting_calls.keep, relay_answers=waiting_calls.relay_answers)
    monkeypatch.setattr(tool_runner, "waiting_calls", elsewhere)  # as in a process that did not start the program
    stop = threading.Event()

    def poll() -> None:
        """Do what the process of the program does every half second."""
        while not stop.wait(0.05):
            waiting_calls.deliver_when_due()
        connection.close()

    thread = threading.Thread(target=poll)
    thread.start()
    try:
        second = assert_refused(answer(api, question["token"], content={"name": SECRET_ANSWER}), 409, "input_required")
        envelope = answer(api, second["details"]["token"], content={"name": "Oslo"}).json()
    finally:
        stop.set()
        thread.join()

    assert envelope["result"]["text"].startswith("accept Oslo"), envelope
    assert SECRET_ANSWER not in str(list(PendingInput.objects.values()))


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("wait_for_running_entries", "embedded_worker")
def test_entry_of_a_batch_goes_on_and_then_those_that_depend_on_it(api: Api, asking: McpUpstream) -> None:
    entries = [{"type": "exec", "op": WRITE}, {"type": "help", "path": READ, "depends_on": [0]}]
    batch = api.post("batch", {"ops": entries}).json()
    assert batch["summary"] == {"succeeded": 0, "failed": 1, "skipped": 1}
    token = batch["results"][0]["error"]["details"]["token"]

    envelope = answer(api, token, content=ANA).json()

    def read_status() -> dict[str, Any]:
        status: dict[str, Any] = api.get(f"batches/{batch['batch_id']}?wait=5").json()
        return status

    eventually(lambda: read_status()["ok"], what="the batch")
    assert read_status()["results"][0]["result"] == envelope["result"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("wait_for_running_entries", "embedded_worker")
def test_call_that_is_followed_shows_progress_and_can_be_stopped_at_the_program(api: Api, program: Path) -> None:
    accepted = api.post("exec", {"op": READ, "args": {"text": "8"}}, Prefer="respond-async")
    batch = accepted.json()["batch_id"]
    assert (accepted.status_code, accepted.headers["Location"]) == (202, f"/api/v1/batches/{batch}")

    def read_entry() -> dict[str, Any]:
        entry: dict[str, Any] = api.get(f"batches/{batch}").json()["results"][0]
        return entry

    eventually(lambda: "progress" in read_entry(), what="progress")
    assert read_entry()["progress"] == {"done": 3, "total": 10, "message": "Reading page 3"}
    api.http.delete(f"/api/v1/batches/{batch}", headers=api.headers)

    eventually(lambda: (program / "cancelled").exists(), what="the cancellation")
    eventually(lambda: read_entry().get("error", {}).get("details", {}).get("reason") == "cancelled", what="end")
