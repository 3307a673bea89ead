"""Answers of services from the wire to the envelope: streams, long texts, and writes that were done."""

import time
from collections.abc import Iterator

import pytest

from analytics.events import event_log
from analytics.events.models import OperationEvent
from core.database.deadlines import Deadline
from gateway.executors.http import sending
from tests.support.clients.api import Api
from tests.support.loops import for_each
from tests.support.upstreams.http_servers import build_response
from tests.support.upstreams.http_upstream import READ, WRITE, HttpUpstream, build_json, build_read, publish_ops

EVENTS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
LINES = EVENTS.replace(b"text/event-stream", b"application/x-ndjson")
TIMEOUT_MS = 2_500


@for_each("head, data", [(EVENTS, b'data: {"step": %d, "total": 9}\n\n'), (LINES, b'{"step": %d, "total": 9}\n')])
def test_a_stream_is_answered_before_the_time_of_the_call_is_over(
    api: Api,
    live_catalog: object,
    http_upstream: HttpUpstream,
    head: bytes,
    data: bytes,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sending, "SHARE_FOR_ANSWER", 0.8)  # a busy machine needs much time for the answer
    publish_ops(build_read(timeout_ms=TIMEOUT_MS), base_url=http_upstream.base_url)

    def stream(_: bytes) -> Iterator[bytes]:
        yield head + data % 0 + data % 1 + data[:9]
        http_upstream.server.stopped.wait(5)

    http_upstream.answer = stream
    began = time.monotonic()

    envelope = api.exec(READ, {"order_id": "7"})

    assert time.monotonic() - began < TIMEOUT_MS / 1000
    assert envelope["result"] == {"items": [{"step": 0, "total": 9}, {"step": 1, "total": 9}]}, envelope
    assert envelope["meta"]["warnings"] == ["The stream goes on; this is what came within the time limit of the op."]
    assert "next_cursor" not in envelope["meta"]


def test_progress_of_a_stream_is_in_the_event_of_the_call(api: Api, shop: HttpUpstream) -> None:
    shop.answer = EVENTS + b'data: {"percent": 40}\n\ndata: "Nearly"\n\ndata: {"percent": 90}\n\n'

    api.exec(READ, {"order_id": "7"})

    event_log.flush()
    assert OperationEvent.objects.get(type="exec").progress == {"done": 90, "total": 100}


def test_a_long_text_is_read_to_its_end(api: Api, shop: HttpUpstream) -> None:
    text = "".join(f"{number}. A paragraph.\n" for number in range(500))
    shop.answer = build_response(text.encode(), Content_Type="text/markdown")
    parts: list[str] = []
    cursor: dict[str, str] | None = {}

    while cursor is not None:
        envelope = api.exec(READ, {"order_id": "7"}, max_tokens=1_000, **cursor)
        parts.append(envelope["result"]["text"])
        following = envelope["meta"].get("next_cursor")
        cursor = {"cursor": following} if following else None

    assert "".join(parts) == text
    assert len(parts) == len(shop.requests) > 2


def test_fields_are_those_of_json_in_a_text(api: Api, shop: HttpUpstream) -> None:
    shop.answer = build_response(b'{"id": 1, "a": 2}\n{"id": 2, "a": 3}\n', Content_Type="text/plain")

    assert api.exec(READ, {"order_id": "7"}, fields=["items.id"])["result"] == {"items": [{"id": 1}, {"id": 2}]}


def test_a_large_answer_of_a_write_is_cut_and_the_write_sent_once(api: Api, shop: HttpUpstream) -> None:
    shop.answer = build_json({"id": "m-1", "all": [{"number": number} for number in range(5_000)]})

    envelope = api.exec(WRITE, {"product": "pen"})

    assert envelope["result"]["id"] == "m-1"
    assert len(envelope["result"]["all"]) < 2_000
    assert envelope["meta"]["warnings"][0].endswith("of 5000 in all. The rest of the answer is left out.")
    assert "next_cursor" not in envelope["meta"]
    assert len(shop.requests) == 1


def test_a_write_that_was_interrupted_after_its_status_is_done(api: Api, shop: HttpUpstream) -> None:
    head = b"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 500\r\nLocation: /orders/8\r\n"
    shop.answer = head + b'Connection: close\r\n\r\n{"id": "8", "na'

    envelope = api.exec(WRITE, {"product": "pen"}, idempotency_key="half")

    assert envelope["result"] == {"text": '{"id": "8", "na', "location": "/orders/8"}, envelope
    assert envelope["meta"]["warnings"][-1].startswith("The answer is incomplete. ")
    assert api.exec(WRITE, {"product": "pen"}, idempotency_key="half")["result"] == envelope["result"]
    assert len(shop.requests) == 1


def test_reading_of_a_stream_leaves_time_for_the_answer() -> None:
    for seconds, left in ((30, 2.0), (1, 0.1)):
        deadline = Deadline.after(milliseconds=seconds * 1_000)
        assert abs(deadline.at - sending._end_before(deadline).at - left) < 0.05
