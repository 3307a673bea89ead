"""Spans: one trace of a call from the chat's turn to the service, as a collector gets it."""

import logging
from typing import Any

import pytest

from core import tracing
from tests.support.chat.chat import ChatHarness, exec_call
from tests.support.clients.api import Api
from tests.support.clients.batches import LIST, send_batch
from tests.support.rows.analytics_rows import store_contents
from tests.support.servers.collector import Collector, read_attributes
from tests.support.servers.processes import eventually
from tests.support.upstreams.http_upstream import READ, HttpUpstream, build_json
from tests.support.upstreams.mcp_upstream import McpUpstream, build_text, publish_tools

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SECRET = "Sing to the walrus"
FIND = {"op": "onto.task.search", "args": {"query": SECRET}}
GET = {"op": "onto.task.get", "args": {"task_id": "no id"}}


def test_call_is_a_span_of_its_request(api: Api, collector: Collector) -> None:
    response = api.post("exec", FIND, Gateway_Session="s1", Gateway_Turn="t1", Gateway_Model="glm-5")

    request, call = collector.read()
    assert (request.name, request.kind) == ("POST /api/v1/exec", 2)  # SERVER
    assert (call.name, call.kind) == ("execute_tool onto.task.search", 1)  # INTERNAL
    assert (call.parent_span_id, call.trace_id) == (request.span_id, request.trace_id)
    assert response.headers["Gateway-Trace"] == f"tr_{request.trace_id.hex()}"
    attributes = read_attributes(call)
    expected = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "onto.task.search",
        "gen_ai.conversation.id": "s1",
        "gen_ai.request.model": "glm-5",
        "gateway.turn": "t1",
        "gateway.outcome": "ok",
        "gateway.release": response.headers["Gateway-Release"],
    }
    assert expected.items() <= attributes.items()
    assert attributes["gateway.surface"]
    assert read_attributes(request)["http.response.status_code"] == 200


def test_trace_of_the_caller_goes_on_as_it_was_begun(api: Api, collector: Collector, settings: Any) -> None:
    settings.OTEL_TRACES_SAMPLER_ARG = 0.0
    api.post("exec", FIND, traceparent=f"00-{TRACE}-{PARENT}-01")
    settings.OTEL_TRACES_SAMPLER_ARG = 1.0
    api.post("exec", FIND, traceparent=f"00-{TRACE}-{PARENT}-00")

    spans = collector.read()
    assert [span.name for span in spans] == ["POST /api/v1/exec", "execute_tool onto.task.search"]
    assert {span.trace_id.hex() for span in spans} == {TRACE}
    assert spans[0].parent_span_id.hex() == PARENT


def test_failed_call_is_recorded_though_its_trace_was_not_chosen(api: Api, collector: Collector, settings: Any) -> None:
    settings.OTEL_TRACES_SAMPLER_ARG = 0.0
    api.post("exec", FIND)
    trace = api.post("exec", GET).headers["Gateway-Trace"]

    (call,) = collector.read()
    assert call.name == "execute_tool onto.task.get"
    assert f"tr_{call.trace_id.hex()}" == trace
    assert call.status.code == 2  # ERROR
    assert call.end_time_unix_nano > call.start_time_unix_nano
    assert (
        read_attributes(call).items() >= {"error.type": "invalid_args", "gateway.outcome": "VALIDATION_ERROR"}.items()
    )


def test_service_gets_the_trace(api: Api, shop: HttpUpstream, collector: Collector) -> None:
    api.exec(READ, {"order_id": "7"})
    shop.answer = build_json({}, "404 Not Found")
    api.exec(READ, {"order_id": "8"})

    sent, missing = (span for span in collector.read() if span.name == "GET")
    assert f"\r\ntraceparent: 00-{sent.trace_id.hex()}-{sent.span_id.hex()}-01" in shop.get_head(0).lower()
    assert sent.kind == 3  # CLIENT
    expected = {"server.address": "127.0.0.1", "http.response.status_code": 200, "http.request.method": "GET"}
    assert expected.items() <= read_attributes(sent).items()
    assert (missing.status.code, read_attributes(missing)["error.type"]) == (2, "404")


def test_mcp_server_gets_the_trace(
    api: Api, live_catalog: Any, mcp_upstream: McpUpstream, collector: Collector
) -> None:
    seen: list[Any] = []

    async def look(context: Any) -> None:
        seen.append((context.meta or {}).get("traceparent"))

    mcp_upstream.add_tool("read", lambda _: build_text("A note."))
    mcp_upstream.on_call = look
    publish_tools(mcp_upstream)
    assert api.exec("notes.tool.read", {"text": "a"})["ok"]

    call = collector.find("tools/call read")
    assert seen == [f"00-{call.trace_id.hex()}-{call.span_id.hex()}-01"]
    assert read_attributes(call).items() >= {"mcp.method.name": "tools/call", "gen_ai.tool.name": "read"}.items()
    assert call.parent_span_id == collector.find("execute_tool notes.tool.read").span_id


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("mode", ["sequential", "parallel"])
@pytest.mark.usefixtures("wait_for_running_entries")
def test_entries_of_a_batch_belong_to_the_request_that_sent_it(
    api: Api, embedded_worker: None, collector: Collector, mode: str
) -> None:
    send_batch(api, LIST, LIST, mode=mode)

    # A call is answered before its span ends.
    request, *calls = eventually(lambda: (spans := collector.read())[2:] and spans, what="three spans")
    assert [call.name for call in calls] == ["execute_tool onto.task.list"] * 2
    assert {call.parent_span_id for call in calls} == {request.span_id}


def test_turn_of_the_chat_is_one_trace(chat: ChatHarness, collector: Collector) -> None:
    turn = chat.say("High-priority tasks?", [exec_call("onto.task.list", priority=[1])], "Three tasks are urgent.")

    root = collector.read()[0]
    spans = {span.span_id: span for span in collector.read()}
    assert (root.name, {span.trace_id for span in spans.values()}) == ("invoke_agent chat", {root.trace_id})
    (request,) = (span for span in spans.values() if span.name == "POST /api/v1/exec")
    path = [span for span in spans.values() if span.parent_span_id == request.span_id]
    while path[-1].parent_span_id:
        path.append(spans[path[-1].parent_span_id])
    names = [span.name for span in path]
    assert names == ["execute_tool onto.task.list", "POST /api/v1/exec", "execute_tool tool_exec", "invoke_agent chat"]
    models = [span for span in spans.values() if span.name.startswith("chat ") and not span.status.code]
    assert len(models) == 2  # the third one, for a title, fails here
    assert {"gen_ai.operation.name", "gen_ai.request.model", "gen_ai.usage.input_tokens"} <= set(
        read_attributes(models[0])
    )
    told = read_attributes(root)
    assert told["gen_ai.conversation.id"] == str(turn.message.conversation_id)
    assert told["gateway.surface"] == "gateway"


def test_nothing_of_the_content_is_told_unless_asked_for(api: Api, collector: Collector, settings: Any) -> None:
    api.post("exec", FIND, Gateway_Subject="ann@acme.com")
    api.post("exec", {"op": "onto.task.create", "args": {"title": SECRET, "project_id": SECRET}})

    text = str(collector.read()) + "".join(collector.heads)
    assert [word for word in (SECRET, "ann@acme.com", "gw_") if word in text] == []


def test_content_is_told_as_events_store_it(api: Api, collector: Collector, settings: Any) -> None:
    store_contents(7)
    settings.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT = True
    api.post("exec", FIND)

    assert SECRET in read_attributes(collector.find("execute_tool onto.task.search"))["gen_ai.tool.call.arguments"]


def test_collector_that_is_down_costs_one_log_line_and_no_call(
    api: Api, collector: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    collector.status = "400 Bad Request"
    with caplog.at_level(logging.INFO, "core.span_export"):
        for _ in range(3):
            assert api.post("exec", FIND).status_code == 200
            tracing.flush()
        collector.status = "200 OK"
        api.post("exec", FIND)
        tracing.flush()

    lines = [record.message for record in caplog.records if record.name == "core.span_export"]
    assert lines == ["tracing.collector_unavailable", "tracing.collector_available"]


def test_headers_are_sent_to_the_collector(api: Api, collector: Collector, settings: Any) -> None:
    settings.OTEL_EXPORTER_OTLP_HEADERS = "authorization=Bearer%20hunter2,x-team=a"
    api.post("exec", FIND)
    collector.read()

    assert "\r\nauthorization: bearer hunter2\r\n" in collector.heads[0].lower()
    assert collector.heads[0].startswith("POST /v1/traces ")


def test_entry_that_cannot_start_is_recorded(api: Api, collector: Collector) -> None:
    send_batch(api, LIST, {**LIST, "args": {"cursor": {"$result": "0#/result/nothing"}}})

    failed = [span for span in collector.read() if span.status.code == 2]
    assert [(span.name, read_attributes(span)["error.type"]) for span in failed] == [
        ("execute_tool onto.task.list", "result_missing")
    ]
