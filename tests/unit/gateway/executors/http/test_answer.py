"""Answers become results: data, texts without hidden characters, and files. Nothing that a service said is lost."""

from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.http import Response, TimedOut
from core.text import json_text, lenient_json
from gateway.contracts.errors import InternalError
from gateway.executors.http import answer
from gateway.executors.http.answer import ReadAnswer
from gateway.executors.remote.result_values import MANY_VALUES
from tests.support.loops import for_each

JSON, LINES, TEXT = "application/json", "application/x-ndjson", "text/plain"
EVENTS = "text/event-stream"
FILE = {"id": "f1", "name": "answer", "content_type": "image/png", "size": 4, "url": "/files/f1"}
ROWS = [{"line": 1}, {"line": 2}]
NOT_JSON = "The answer is not valid JSON and is shown as text."
LATIN = "The answer is not UTF-8 and was read as windows-1252."


def read_answer(
    body: bytes,
    content_type: str = "",
    *,
    status: int = 200,
    accept: str = JSON,
    is_write: bool = False,
    unread: Any = None,
    **more: str,
) -> ReadAnswer:
    work: Any = SimpleNamespace(op=SimpleNamespace(is_write=is_write, op="shop.order.get"), client_id=0)
    headers = {"content-type": content_type} if content_type else {}
    headers |= {name.replace("_", "-"): value for name, value in more.items()}
    return answer.read_result(Response(status, "", headers, body, 0, unread), work, accept=accept)


def read(body: bytes, content_type: str = "", **more: Any) -> dict[str, Any]:
    return read_answer(body, content_type, **more).result


def test_attachment_is_a_file_with_its_name_also_if_it_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    stored: list[Any] = []
    monkeypatch.setattr(answer.result_values, "store_file", lambda *args: stored.append(args[1:]) or FILE)

    named = 'attachment; filename="items.csv"'
    assert read(b"a,b", "text/csv", content_disposition=named) == {"file": FILE}
    assert read(b"a,b", "text/csv", content_disposition="inline") == {"text": "a,b"}
    assert stored == [("items.csv", "text/csv", b"a,b")]


@for_each(
    "body, content_type, result",
    [
        (b'{"id": 7}', JSON, {"id": 7}),
        (b'\xef\xbb\xbf{"id": 7}', JSON, {"id": 7}),
        (b'{"id": 7}', "", {"id": 7}),
        (b"[1, 2]", JSON, {"items": [1, 2]}),
        (b"7", JSON, {"value": 7}),
        (b"7", TEXT, {"text": "7"}),
        (b"", JSON, {"message": "Done."}),
        ("zwei\n\u202eZeilen\x1b[31m ü".encode(), TEXT, {"text": "zwei\nZeilen[31m ü"}),
        ("ü".encode("latin-1"), 'text/plain; charset="ISO-8859-1"', {"text": "ü"}),
        ('{"a": "日本"}'.encode("shift_jis"), "application/json; charset=Shift_JIS", {"a": "日本"}),
        ("ü".encode(), "text/plain; charset=x-unknown", {"text": "ü"}),
        (
            '<?xml version="1.0" encoding="windows-1251"?><a>Да</a>'.encode("windows-1251"),
            "application/xml",
            {"text": '<?xml version="1.0" encoding="windows-1251"?><a>Да</a>'},
        ),
        ('{"\u2066a": ["b\u200e", {"c": "d\ue000"}]}'.encode(), JSON, {"a": ["b", {"c": "d"}]}),
        (b")]}'\n[1]", JSON, {"items": [1]}),
        (b'{"id": 7}', "text/html", {"id": 7}),  # PHP without a header
        (b"# Title\n[1]\n", "text/markdown", {"text": "# Title\n[1]\n"}),
        (b"SELECT 1", "application/sql", {"text": "SELECT 1"}),
        (b"12: x", "application/yaml", {"text": "12: x"}),
    ],
)
def test_answer_becomes_a_result(body: bytes, content_type: str, result: Any) -> None:
    assert read_answer(body, content_type) == ReadAnswer(result)


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "text/plain",
        "",
        LINES,
        "application/jsonl",
        "application/json-seq",
        "application/stream+json",
    ],
)
def test_json_on_lines_is_a_list(content_type: str) -> None:
    assert read(b'{"line": 1}\n{"line": 2}\n', content_type) == {"items": ROWS}
    assert read(b'\x1e{"line": 1}\n\x1e{"line": 2}\n', content_type) == {"items": ROWS}


def test_one_line_is_a_list_if_the_service_says_that_it_sends_lines() -> None:
    assert read(b'{"line": 1}\n', LINES) == {"items": ROWS[:1]}
    assert read(b'{"line": 1}\n', JSON) == {"line": 1}
    cut = read_answer(b'{"line": 1}\n{"line": 2}\n{"li', LINES, unread=TimedOut())
    assert cut.result == {"items": ROWS}


@for_each(
    "body, content_type, result, remark",
    [
        (b'{"a": NaN}', JSON, {"a": None}, lenient_json.NOT_FINITE),
        (b'{"a": 1, "a": 2}', JSON, {"a": [1, 2]}, lenient_json.REPEATED_KEY),
        ('{"a": 1, "a\u200e": 2}'.encode(), JSON, {"a": [1, 2]}, lenient_json.REPEATED_KEY),
        (b'{"a": 123456789012345678901}', JSON, {"a": "123456789012345678901"}, lenient_json.LONG_NUMBER),
        (b'"\\u0000"', JSON, {"value": "\ufffd"}, lenient_json.BAD_CHARACTER),
        (b"a\0b", TEXT, {"text": "a\ufffdb"}, lenient_json.BAD_CHARACTER),
        (b'{"name": "Caf\xe9"}', JSON, {"name": "Café"}, LATIN),
        (b"Caf\xe9", TEXT, {"text": "Café"}, LATIN),
        (b"{", JSON, {"text": "{"}, NOT_JSON),
        (b"[" * 9_000, JSON, {"text": "[" * 9_000}, NOT_JSON),
        (b"[" + b"0," * 200_000 + b"0]", JSON, {"text": "[" + "0," * 200_000 + "0]"}, MANY_VALUES),
    ],
)
def test_what_had_to_be_changed_is_remarked(body: bytes, content_type: str, result: Any, remark: str) -> None:
    assert read_answer(body, content_type) == ReadAnswer(result, (remark,))


@for_each("content_type", ["text/csv", "text/tab-separated-values"])
def test_a_table_is_a_text_that_says_so(content_type: str) -> None:
    assert read_answer(b"a,b\n1,2\n", content_type) == ReadAnswer({"text": "a,b\n1,2\n"}, is_table=True)


def test_web_page_is_a_text_if_the_op_asks_for_one() -> None:
    assert read(b"<p>Hi</p>", "text/html", accept="text/html") == {"text": "<p>Hi</p>"}


def test_web_page_instead_of_json_is_an_error_of_a_read_and_the_answer_of_a_write() -> None:
    with pytest.raises(InternalError) as error:
        read(b"<html>", "text/html; charset=utf-8")

    assert (error.value.status, error.value.reason) == (502, "upstream_broken")
    problem = "it is a web page, not JSON"
    assert str(error.value) == f"The service's answer cannot be read: {problem}. Tell the administrator."
    written = read_answer(b"<html>", "text/html", is_write=True)
    assert written == ReadAnswer({"text": "<html>"}, ("The answer is a web page, not JSON, and is shown as text.",))


def test_answer_without_content_is_done() -> None:
    assert read(b"{", JSON, status=204) == {"message": "Done."}


def test_other_content_is_stored_as_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    stored: list[Any] = []
    monkeypatch.setattr(answer.result_values, "store_file", lambda *args: stored.append(args[1:]) or FILE)

    assert read(b"\x89PNG", "image/png") == {"file": FILE}
    assert read(b"\x89PNG\r\n\x1a\n\0\0", JSON) == {"file": FILE}
    assert stored[0] == ("answer", "image/png", b"\x89PNG")
    assert stored[1][1] == "application/octet-stream"
    # A part of a file is of no use.
    assert read(b"\x89PNG", "image/png", is_write=True, unread=TimedOut()) == {"message": "Done."}


@for_each(
    "status, headers, body, result",
    [
        (201, {"location": "/meters/m-77"}, b"", {"message": "Done.", "location": "/meters/m-77"}),
        (202, {"operation_location": "https://a.example/jobs/1"}, b"{}", {"location": "https://a.example/jobs/1"}),
        (204, {"location": "/meters/m-77"}, b"", {"message": "Done.", "location": "/meters/m-77"}),
        (201, {"location": "/m/1"}, b'{"location": "Oslo"}', {"location": "Oslo", "Location": "/m/1"}),
        (200, {"location": "/m/1"}, b'{"id": 1}', {"id": 1}),
        (200, {"link": '</m?page=2>; rel="next", </m>; rel="first"'}, b"[1]", {"items": [1], "next": "/m?page=2"}),
        (200, {"link": "</style.css>; rel=preload"}, b"[1]", {"items": [1]}),
        (201, {"location": "a sentence of many words"}, b"", {"message": "Done."}),
        (201, {"location": "/" + "x" * 5_000}, b"", {"message": "Done."}),
    ],
)
def test_headers_say_where_the_new_row_and_the_next_page_are(
    status: int, headers: dict[str, str], body: bytes, result: dict[str, Any]
) -> None:
    assert read(body, JSON, status=status, **headers) == result


@for_each(
    "body, result",
    [
        (b'data: {"step": 0}\n\ndata: {"step": 1}\n\n', {"items": [{"step": 0}, {"step": 1}]}),
        (b'event: tick\r\ndata: {"step": 0}\r\n\r\n', {"event": "tick", "items": [{"step": 0}]}),
        (b"data: Hello\ndata: world\n\n: keep-alive\n\ndata: [DONE]", {"items": ["Hello\nworld", "[DONE]"]}),
        (
            b"event: a\ndata: 1\n\nid: 7\nevent: b\ndata: {}\n\n",
            {"items": [{"event": "a", "data": 1}, {"id": "7", "event": "b", "data": {}}]},
        ),
        (b"", {"items": []}),
    ],
)
def test_events_are_rows(body: bytes, result: dict[str, Any]) -> None:
    assert read(body, EVENTS) == result


def test_of_events_that_go_on_only_whole_ones_are_read() -> None:
    assert read(b'data: {"step": 0}\n\ndata: {"st', EVENTS, unread=TimedOut()) == {"items": [{"step": 0}]}


CONTENT_TYPES = [JSON, LINES, TEXT, EVENTS, "", "text/csv", "text/html", "application/xml", "image/png", "text/xml"]
CHARSETS = ["", "; charset=utf-16", "; charset=shift_jis", "; charset=hex", "; charset=utf-8"]
BODIES = st.binary(max_size=80) | st.text('{}[]",:NaIn\\ud83c01eE+-. \n\x1e\0data', max_size=60).map(str.encode)


@given(BODIES, st.sampled_from(CONTENT_TYPES), st.sampled_from(CHARSETS), st.sampled_from([200, 201, 202, 206]))
def test_any_answer_of_a_write_is_a_result_in_strict_json(
    body: bytes, content_type: str, charset: str, status: int
) -> None:
    result = read(body, content_type + charset, status=status, is_write=True)

    orjson.loads(json_text.dump(result))
    json_text.check_value(result, json_text.ANSWER_LIMITS)
