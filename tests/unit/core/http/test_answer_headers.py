"""Headers of answers: whatever a service sends is read in linear time, or counts as absent."""

from contextlib import suppress
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.database.deadlines import Deadline
from core.http import Response, parse_parameters, parse_retry_after
from gateway.contracts.errors import GatewayError
from gateway.executors.base import ClientSubject
from gateway.executors.http import answer, sending
from gateway.executors.http.executor import build_status_error
from registry.catalog.connections import ConnectionConfig
from registry.request_mapping import parse_mapping
from tests.support.growth import assert_linear
from tests.support.loops import for_each

NOW = datetime(2026, 3, 1, tzinfo=UTC)
NAMES = """
    content-type content-disposition content-encoding retry-after location link etag www-authenticate set-cookie
    idempotency-key idempotent-replayed
""".split()
RULES = sending.SendingRules(
    Deadline.after(milliseconds=1), is_write=True, can_repeat=True, caller=ClientSubject(1, "")
)
MAPPING = parse_mapping({"method": "POST", "path": "/orders"})
HOSTILE = [
    'attachment; filename="' + '"' * 60_000,
    "attachment; filename*=idna''%ff",
    "attachment; filename*=punycode''%ff-",
    "attachment; filename*=utf-16''%00",
    "attachment; filename*0*=x''a; filename*1=b; filename*=c",
    "(" * 600,
    "9" * 400,
    "Wed, 99 Foo 99999999999 99:99:99 +9999",
    "text/plain; charset=" + "x;" * 30_000,
    "\udcff\u0000;=;;=",
]
PARTS = st.sampled_from(["attachment", "; filename=", "*=", "utf-8''", "%ff", '"', "\\", ";", "(", "=", "charset", "9"])
VALUES = st.one_of(st.text(max_size=60), st.lists(PARTS, max_size=30).map("".join), st.sampled_from(HOSTILE))


@for_each(
    "value, expected",
    [
        ('attachment; filename="items.csv"', ("attachment", {"filename": "items.csv"})),
        ("attachment; filename*=UTF-8''na%C3%AFve.txt", ("attachment", {"filename": "naïve.txt"})),
        ("Text/Plain; Charset=ISO-8859-1", ("text/plain", {"charset": "ISO-8859-1"})),
        ("inline", ("inline", {})),
        ("", ("", {})),
        *((each, ("", {})) for each in HOSTILE[:2]),
    ],
)
def test_parameters_are_read_or_absent(value: str, expected: tuple[str, dict[str, str]]) -> None:
    assert parse_parameters({"x": value}, "x") == expected


@for_each(
    "value, seconds",
    [
        ("0", 0.0),
        ("7", 7.0),
        ("Sun, 01 Mar 2026 00:00:30 GMT", 30.0),
        ("Sun, 01 Mar 2026 00:00:30 -0000", None),  # no time zone
        ("Sat, 28 Feb 2026 00:00:00 GMT", 0.0),
        *((each, None) for each in ("", "soon", "-1", "²", "9" * 10, "9" * 400, " " * 100_000, HOSTILE[7])),
    ],
)
def test_retry_after_is_read_or_absent(value: str, seconds: float | None) -> None:
    assert parse_retry_after(value, now=NOW) == seconds


@given(st.dictionaries(st.sampled_from(NAMES), VALUES), st.sampled_from([200, 201, 302, 401, 429, 503]))
@example({"content-disposition": HOSTILE[0]}, 200)
@example({"retry-after": "9" * 400}, 503)
def test_no_header_breaks_a_call(headers: dict[str, str], status: int) -> None:
    response = Response(status, "", headers, b"{}", 0)

    assert sending.choose_wait(0, response) >= 0
    assert isinstance(sending._may_repeat(response, RULES), bool)
    for is_write in (True, False):
        error = build_status_error(
            response, ConnectionConfig("shop", "http"), MAPPING, is_write=is_write, has_key=False
        )
        assert int(error.headers.get("Retry-After", 1)) <= 86_400
    work: Any = SimpleNamespace(client_id=0)  # a try, for which no file is stored
    with suppress(GatewayError):
        assert answer.read_result(response, work, accept="application/json") is not None


@pytest.mark.parametrize("sign", ['"', ";", "=", "(", "\\", "a;b=", "%ff"])
def test_reading_time_is_linear(sign: str) -> None:
    def read(value: str) -> None:
        parse_parameters({"x": value}, "x")
        parse_retry_after(value, now=NOW)

    assert_linear(read, lambda size: f'attachment; filename="{sign * (size // len(sign))}', size=100_000)
