"""Answers become results: objects, texts without hidden characters, and files."""

from typing import Any

import pytest

from core.http import Response
from gateway.contracts.errors import InternalError
from gateway.executors.http import answer
from tests.support.loops import for_each

JSON = "application/json"
FILE = {"id": "f1", "name": "answer", "content_type": "image/png", "size": 4, "url": "/files/f1"}


def read(body: bytes, content_type: str, *, status: int = 200, accept: str = JSON, disposition: str = "") -> Any:
    work: Any = None
    headers = {"content-type": content_type} if content_type else {}
    headers |= {"content-disposition": disposition} if disposition else {}
    return answer.read_result(Response(status, "", headers, body, 0), work, accept=accept)


def test_attachment_is_a_file_with_its_name_also_if_it_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    stored: list[Any] = []
    monkeypatch.setattr(answer.result_values, "store_file", lambda *args: stored.append(args[1:]) or FILE)

    assert read(b"a,b", "text/csv", disposition='attachment; filename="items.csv"') == {"file": FILE}
    assert read(b"a,b", "text/csv", disposition="inline") == {"text": "a,b"}
    assert stored == [("items.csv", "text/csv", b"a,b")]


@for_each(
    "body, content_type, result",
    [
        (b'{"id": 7}', JSON, {"id": 7}),
        (b'\xef\xbb\xbf{"id": 7}', JSON, {"id": 7}),
        (b'{"id": 7}', "", {"id": 7}),
        (b"[1, 2]", JSON, {"items": [1, 2]}),
        (b"7", JSON, {"value": 7}),
        (b"", JSON, {"message": "Done."}),
        ("zwei\n\u202eZeilen\x1b[31m ü".encode(), "text/plain", {"text": "zwei\nZeilen[31m ü"}),
        ("ü".encode("latin-1"), 'text/plain; charset="ISO-8859-1"', {"text": "ü"}),
        ("ü".encode(), "text/plain; charset=x-unknown", {"text": "ü"}),
        ('{"\u2066a": ["b\u200e", {"c": "d\ue000"}]}'.encode(), JSON, {"a": ["b", {"c": "d"}]}),
    ],
)
def test_answer_becomes_a_result(body: bytes, content_type: str, result: Any) -> None:
    assert read(body, content_type) == result


def test_web_page_is_a_text_if_the_op_asks_for_one() -> None:
    assert read(b"<p>Hi</p>", "text/html", accept="text/html") == {"text": "<p>Hi</p>"}


def test_answer_without_content_is_done() -> None:
    assert read(b"{", JSON, status=204) == {"message": "Done."}


def test_other_content_is_stored_as_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    stored: list[Any] = []
    monkeypatch.setattr(answer.result_values, "store_file", lambda *args: stored.append(args[1:]) or FILE)

    assert read(b"\x89PNG", "image/png") == {"file": FILE}
    assert stored == [("answer", "image/png", b"\x89PNG")]


@for_each(
    "body, content_type, problem",
    [
        (b"<html>", "text/html; charset=utf-8", "it is a web page, not JSON"),
        (b"{", JSON, "it is not valid JSON"),
        (b'{"a": NaN}', JSON, "it has NaN or an infinite number, which JSON does not allow"),
        (b'{"a": 1, "a": 2}', JSON, "an object has the same key twice"),
        (b"[" * 40 + b"]" * 40, JSON, "it is nested more than 32 levels deep"),
        (b"[" + b"0," * 200_000 + b"0]", JSON, "it has more than 200,000 values"),
        (b'"\xff"', JSON, "it is not UTF-8"),
        (b'{"a": 12345678901234567890}', JSON, "a number is out of range"),
        (b'"\\u0000"', JSON, "a string has a NUL character"),
        (b"\xff", "text/plain", "it is not UTF-8"),
    ],
)
def test_broken_answer_is_a_clear_error(body: bytes, content_type: str, problem: str) -> None:
    with pytest.raises(InternalError) as error:
        read(body, content_type)

    assert (error.value.status, error.value.reason) == (502, "upstream_broken")
    assert str(error.value) == f"The service's answer cannot be read: {problem}. Tell the administrator."
