import json
import logging
import sys
from typing import Any

import pytest

from core import logs

KEY = "gw_0123abcd_Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4"
PEPPER = "the pepper of this server"


@pytest.fixture(autouse=True)
def _about_nothing() -> Any:
    yield
    logs.clear_context()


def line(message: str, *args: Any, as_json: bool = True, exc_info: Any = None, **extra: Any) -> str:
    """Return a log line as it is written."""
    record = logging.getLogger("gateway.execution.exec_call").makeRecord(
        "gateway.execution.exec_call", logging.WARNING, "calls.py", 1, message, args, exc_info, extra=extra
    )
    return logs.formatter(as_json=as_json, secrets=[PEPPER, ""]).format(record)


def test_a_line_is_one_json_object_in_production() -> None:
    told = json.loads(line("exec of %s\nfailed", "onto.task.get", status=502))

    assert told.pop("time").endswith("Z")
    assert told == {
        "message": "exec of onto.task.get\nfailed",
        "level": "warning",
        "logger": "gateway.execution.exec_call",
        "status": 502,
    }


def test_a_line_is_readable_locally() -> None:
    logs.trace.set("tr_1")
    logs.release.set("abcdef0123456789")

    told = line("release is live", as_json=False)

    assert (
        told.partition(" ")[2] == "WARNING gateway.execution.exec_call release is live trace=tr_1 release=abcdef012345"
    )


def test_a_line_carries_trace_and_release_of_its_request_until_cleared() -> None:
    logs.trace.set("tr_1")
    logs.release.set("abcdef")
    of_request = json.loads(line("x"))
    logs.clear_context()

    assert (of_request["trace"], of_request["release"]) == ("tr_1", "abcdef")
    assert {"trace", "release"}.isdisjoint(json.loads(line("x")))


@pytest.mark.parametrize("as_json", [True, False])
def test_a_line_tells_an_exception_and_its_cause_without_their_secrets(as_json: bool) -> None:
    try:
        try:
            raise ValueError(f"cannot reach postgres://gateway:hunter2@db/gateway with {KEY}")
        except ValueError as cause:
            raise RuntimeError(f"pepper {PEPPER} did not help") from cause
    except RuntimeError:
        told = line("it failed", as_json=as_json, exc_info=sys.exc_info())

    assert "RuntimeError" in told
    assert "ValueError" in told
    for secret in ("hunter2", KEY[12:], PEPPER):
        assert secret not in told


def test_a_line_tells_what_an_exception_said_to_a_developer_alone() -> None:
    said = "no such colour: hunter2"
    try:
        raise ValueError(said)
    except ValueError:
        told = {as_json: line("it failed", as_json=as_json, exc_info=sys.exc_info()) for as_json in (True, False)}

    assert f"ValueError: {said}" in told[False]
    assert "hunter2" not in told[True]
    shown = json.loads(told[True])
    assert shown["message"] == "it failed"
    assert "in test_a_line_tells_what" in shown["exception"]
    assert shown["exception"].endswith("builtins.ValueError")


@pytest.mark.parametrize(
    ("message", "shown"),
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
        # What is no secret stays.
        ("exec onto.task.get: NOT_FOUND not_found, trace tr_1", "exec onto.task.get: NOT_FOUND not_found, trace tr_1"),
        ("https://example.com:8080/a@b", "https://example.com:8080/a@b"),
        ("basic information about gw_0123abcd", "basic information about gw_0123abcd"),
    ],
)
def test_a_line_hides_what_looks_like_a_secret(message: str, shown: str) -> None:
    assert json.loads(line(message.replace("%", "%%")))["message"] == shown
    assert shown in line(message, as_json=False)


def test_a_line_hides_values_by_their_name_however_deep() -> None:
    told = json.loads(line("x", headers={"Cookie": "a b", "Accept": "b"}, tokens=7, api_keys=["a b", "c"]))

    assert told["headers"] == {"Cookie": "***", "Accept": "b"}
    assert told["api_keys"] == ["***", "***"]
    assert told["tokens"] == 7


def test_a_line_leaves_out_objects() -> None:
    class Request:
        def __repr__(self) -> str:
            return "<Request with a secret>"

    assert "request" not in json.loads(line("x", request=Request()))


def test_a_line_with_a_lone_surrogate_is_still_a_line() -> None:
    assert json.loads(line("\ud800"))["message"] == "\ud800"


def test_hiding_takes_no_longer_than_the_line_is_long() -> None:
    """Quadratic patterns would take minutes."""
    for piece in ("a", "token", "a:", "://", "bearer ", "secret-"):
        line(piece * 20_000)
