import json
import logging
import sys
from typing import Any

import pytest

from core import logs

KEY = "gw_0123abcd_Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4"
PEPPER = "the pepper of this server"


@pytest.fixture(autouse=True)
def _clear_context() -> Any:
    yield
    logs.clear_context()


def format_line(message: str, *args: Any, as_json: bool = True, exc_info: Any = None, **extra: Any) -> str:
    record = logging.getLogger("gateway.execution.pipeline").makeRecord(
        "gateway.execution.pipeline", logging.WARNING, "calls.py", 1, message, args, exc_info, extra=extra
    )
    return logs.build_formatter(as_json=as_json, secrets=[PEPPER, ""]).format(record)


def test_production_line_is_one_json_object_without_objects_of_python() -> None:
    fields = json.loads(format_line("exec of %s\nfailed \ud800", "onto.task.get", status=502, request=object()))

    assert fields.pop("time").endswith("Z")
    assert fields == {
        "message": "exec of onto.task.get\nfailed \ud800",
        "level": "warning",
        "logger": "gateway.execution.pipeline",
        "status": 502,
    }


def test_local_line_is_readable_text() -> None:
    logs.trace.set("tr_1")
    logs.release.set("abcdef0123456789")

    text = format_line("release is live", as_json=False)

    line = "WARNING gateway.execution.pipeline release is live trace=tr_1 release=abcdef012345"
    assert text.partition(" ")[2] == line


def test_line_has_trace_and_release_until_the_context_is_cleared() -> None:
    logs.trace.set("tr_1")
    logs.release.set("abcdef")
    request_line = json.loads(format_line("x"))
    logs.clear_context()

    assert (request_line["trace"], request_line["release"]) == ("tr_1", "abcdef")
    assert {"trace", "release"}.isdisjoint(json.loads(format_line("x")))


@pytest.mark.parametrize("as_json", [True, False])
def test_line_has_the_exception_and_its_cause_without_secrets(as_json: bool) -> None:
    try:
        try:
            raise ValueError(f"cannot reach postgres://gateway:hunter2@db/gateway with {KEY}")
        except ValueError as cause:
            raise RuntimeError(f"pepper {PEPPER} did not help") from cause
    except RuntimeError:
        text = format_line("it failed", as_json=as_json, exc_info=sys.exc_info())

    assert "RuntimeError" in text
    assert "ValueError" in text
    for secret in ("hunter2", KEY[12:], PEPPER):
        assert secret not in text


def test_production_line_omits_exception_messages() -> None:
    message = "no such colour: hunter2"
    try:
        raise ValueError(message)
    except ValueError:
        lines = {
            as_json: format_line("it failed", as_json=as_json, exc_info=sys.exc_info()) for as_json in (True, False)
        }

    assert f"ValueError: {message}" in lines[False]
    assert "hunter2" not in lines[True]
    fields = json.loads(lines[True])
    assert fields["message"] == "it failed"
    assert "in test_production_line_omits" in fields["exception"]
    assert fields["exception"].endswith("builtins.ValueError")


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Authorization: Bearer abc.def-ghi", "Authorization: *** ***"),
        ("sent bearer abc.def-ghi, refused", "sent bearer ***, refused"),
        ("Authorization: Basic dXNlcjpwYXNz", "Authorization: *** ***"),
        (f"the key {KEY} is unknown", "the key gw_0123abcd*** is unknown"),
        ("redis://:hunter2@cache:6379/0", "redis://:***@cache:6379/0"),
        ("https://u:hunter2@example.com/a?b=c", "https://u:***@example.com/a?b=c"),
        ("GET /x?api_key=hunter2&a=1", "GET /x?api_key=***&a=1"),
        ("{'password': 'hunter2', 'name': 'x'}", "{'password': '***', 'name': 'x'}"),
        ("client_secret=hunter2", "client_secret=***"),
        # not secrets
        ("exec onto.task.get: NOT_FOUND not_found, trace tr_1", "exec onto.task.get: NOT_FOUND not_found, trace tr_1"),
        ("https://example.com:8080/a@b", "https://example.com:8080/a@b"),
        ("basic information about gw_0123abcd", "basic information about gw_0123abcd"),
    ],
)
def test_line_masks_text_that_looks_like_a_secret(message: str, expected: str) -> None:
    assert json.loads(format_line(message.replace("%", "%%")))["message"] == expected
    assert expected in format_line(message, as_json=False)


def test_line_masks_values_with_secret_names_at_every_depth() -> None:
    fields = json.loads(format_line("x", headers={"Cookie": "a b", "Accept": "b"}, tokens=7, api_keys=["a b", "c"]))

    assert fields["headers"] == {"Cookie": "***", "Accept": "b"}
    assert fields["api_keys"] == ["***", "***"]
    assert fields["tokens"] == 7


def test_masking_takes_linear_time() -> None:
    # Quadratic patterns would take minutes.
    for piece in ("a", "token", "a:", "://", "bearer ", "secret-"):
        format_line(piece * 20_000)
