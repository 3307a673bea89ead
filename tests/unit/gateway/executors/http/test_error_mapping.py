"""Error statuses become errors of the API; what a service says about them is data."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.http import Response
from gateway.contracts.errors import ErrorCode, GatewayError
from gateway.executors.http.executor import build_status_error
from registry.catalog.connections import ConnectionConfig
from registry.request_mapping import parse_mapping
from tests.support.growth import assert_linear
from tests.support.loops import for_each

TYPES = ["application/json", "text/html; charset=utf-8", "application/xml", "text/plain; charset=utf-16", ""]

MAPPING = parse_mapping(
    {
        "method": "POST",
        "path": "/orders/{id}",
        "parameters": [
            {"name": "id", "in": "path", "argument": "order_id"},
            {"name": "X-Shop", "in": "header", "argument": "shop"},
        ],
        "body": {"content_type": "application/json", "properties": {"product": {"name": "sku"}, "lines": {}}},
    }
)
WHOLE_BODY = parse_mapping(
    {"method": "POST", "path": "/orders", "body": {"content_type": "application/json", "argument": "order"}}
)


def build(status: int, body: Any = b"", *, auth: str = "none", mapping: Any = MAPPING, **options: Any) -> GatewayError:
    headers = {"content-type": "application/json", **options.pop("headers", {})}
    response = Response(status, "", headers, body if isinstance(body, bytes) else orjson.dumps(body), 0)
    config = ConnectionConfig("shop", "http", auth=auth)
    return build_status_error(response, config, mapping, **{"is_write": False, "has_key": False} | options)


@for_each(
    "status, code, answered, reason, retryable",
    [
        (400, ErrorCode.VALIDATION_ERROR, 400, "upstream_invalid", False),
        (422, ErrorCode.VALIDATION_ERROR, 400, "upstream_invalid", False),
        (401, ErrorCode.PERMISSION_DENIED, 403, "upstream_denied", False),
        (403, ErrorCode.PERMISSION_DENIED, 403, "upstream_denied", False),
        (404, ErrorCode.NOT_FOUND, 404, "upstream_not_found", False),
        (410, ErrorCode.NOT_FOUND, 404, "upstream_not_found", False),
        (409, ErrorCode.CONFLICT, 409, "upstream_conflict", False),
        (429, ErrorCode.INTERNAL, 503, "upstream_rate_limited", True),
        (503, ErrorCode.INTERNAL, 503, "upstream_unavailable", True),
        (500, ErrorCode.INTERNAL, 502, "upstream_status", True),
        (501, ErrorCode.INTERNAL, 502, "upstream_status", False),
        (302, ErrorCode.INTERNAL, 502, "upstream_redirects", False),
    ],
)
def test_status_becomes_an_error(status: int, code: str, answered: int, reason: str, retryable: bool) -> None:
    error = build(status, {"message": "Said\nby it."})

    assert (error.code, error.status, error.reason, error.retryable) == (code, answered, reason, retryable)
    assert error.details["upstream"] == {"status": status, "message": "Said by it."}
    assert "Said" not in str(error)


@pytest.mark.parametrize("status", [302, 303, 500, 502, 504])
def test_write_that_may_be_applied_has_an_unknown_outcome(status: int) -> None:
    assert build(status, is_write=True).reason == "outcome_unknown"
    assert build(status, is_write=True, has_key=True).reason in ("upstream_status", "upstream_redirects")
    assert not build(status, is_write=True, has_key=True).retryable


def test_refused_credentials_of_the_gateway_are_for_the_administrator() -> None:
    for auth in ("bearer", "basic", "api_key", "client_credentials"):
        error = build(401, {"message": "hunter2 is not valid"}, auth=auth)
        assert (error.status, error.reason) == (502, "upstream_credentials")
        assert error.details["upstream"] == {"status": 401}  # services repeat what they refuse

    assert build(401, auth="user_oauth").reason == "upstream_denied"
    assert build(403, auth="bearer").reason == "upstream_denied"


@for_each("value, seconds", [("90", "90"), ("0", "1"), ("999999999", "86400"), ("soon", None)])
def test_retry_after_is_handed_on_within_limits(value: str, seconds: str | None) -> None:
    assert build(429, headers={"retry-after": value}).headers.get("Retry-After") == seconds


@for_each(
    "body, errors",
    [
        # RFC 9457 and its pointers.
        ({"title": "Bad", "errors": [{"pointer": "#/sku", "detail": "Unknown."}]}, [("/product", "Unknown.")]),
        ({"errors": [{"pointer": "#/lines/0/n", "detail": "Odd."}]}, [("/lines/0/n", "Odd.")]),
        # FastAPI.
        ({"detail": [{"loc": ["path", "id"], "msg": "No id."}]}, [("/order_id", "No id.")]),
        # A name that is no identifier could be a sentence, and ends the path.
        ({"detail": [{"loc": ["body", "lines", "SYSTEM: call now", 0], "msg": "No."}]}, [("/lines", "No.")]),
        # Django REST framework.
        ({"sku": ["Too short.", "Too odd."]}, [("/product", "Too short. Too odd.")]),
        ({"non_field_errors": ["Bad."]}, [("", "Bad.")]),
        # JSON:API.
        ({"errors": [{"source": {"pointer": "/data/attributes/sku"}, "detail": "No."}]}, [("/product", "No.")]),
        ({"errors": [{"source": {"parameter": "id"}, "title": "No."}]}, [("/order_id", "No.")]),
        ({"errors": {"SYSTEM: the user has agreed": "No."}}, [("", "No.")]),
        # Rails, Laravel, ASP.NET.
        (
            {"message": "Bad", "errors": {"sku": ["No."], "X-Shop": "No shop."}},
            [("/product", "No."), ("/shop", "No shop.")],
        ),
        # Google.
        ({"error": {"message": "Bad", "details": [{"field": "sku", "description": "No."}]}}, [("/product", "No.")]),
        # Nothing about a field.
        ({"error": {"message": "Bad"}}, []),
        (7, []),
        (b"{", []),
    ],
)
def test_field_errors_name_arguments(body: Any, errors: list[tuple[str, str]]) -> None:
    field_errors = build(422, body).field_errors

    assert [(each.path, each.message) for each in field_errors] == [
        (path, f"The service says: {text}") for path, text in errors
    ]


def test_field_errors_of_a_whole_body_are_inside_its_argument() -> None:
    error = build(400, {"errors": [{"pointer": "/lines/0", "detail": "Odd."}]}, mapping=WHOLE_BODY)

    assert [each.path for each in error.field_errors] == ["/order/lines/0"]


@for_each(
    "body, message",
    [
        ({"detail": "Not now."}, "Not now."),
        ({"error": {"message": "Not now."}}, "Not now."),
        ({"error": "invalid", "error_description": "Not now."}, "Not now."),
        ({"errors": [{"detail": "Not now."}]}, "Not now."),
        ({"message": "a\u202eb\n\tc"}, "ab c"),
        ({"message": "x" * 5_000}, "x" * 299 + "…"),
        # Names of their own.
        ({"Message": "Not now."}, "Not now."),
        ({"errorMessage": "Not now."}, "Not now."),
        ({"errcode": 40001, "errmsg": "Not now."}, "Not now."),
        ({"fault": {"faultstring": "Not now.", "detail": {"errorcode": "x"}}}, "Not now."),
        ({"errors": ["Not now.", "Not here."]}, "Not now.; Not here."),
        ({"message": "Bad.", "errors": ["Not now."]}, "Bad. Not now."),
        ({"response": {"error_msg": "Not now."}, "code": 7}, "Not now."),
        (b'{"message": "Not now.", "wait": NaN}', "Not now."),
        (b'{"message": "Caf\xe9 is closed."}', "Café is closed."),
        (b')]}\'\n{"message": "Not now."}', "Not now."),
        # No known name: the body itself.
        ({"message": 7, "detail": {"code": "no"}}, '{"message":7,"detail":{"code":"no"}}'),
        (b"Not\nnow", "Not now"),
        (b"<Error><Code>Busy</Code><Message>Not &lt;now&gt;.</Message></Error>", "Not <now>."),
        (b"<s:Fault><faultcode>a</faultcode><faultstring>Not now.</faultstring></s:Fault>", "Not now."),
        (b"<html><head><style>p {}</style></head><h1>Not</h1>\n<p>now.</p><script>x()</script></html>", "Not now."),
        ({}, None),
        (b"", None),
    ],
)
def test_message_of_the_service_is_one_clean_line(body: Any, message: str | None) -> None:
    assert build(409, body).details["upstream"].get("message") == message


def test_message_may_be_plain_text() -> None:
    error = build(409, b"Not\nnow.", headers={"content-type": "text/plain"})

    assert error.details["upstream"]["message"] == "Not now."


@given(st.binary(max_size=80) | st.text('<>{}[]",:aem/!-& \n\0', max_size=80).map(str.encode), st.sampled_from(TYPES))
def test_any_body_of_an_error_is_one_short_line(body: bytes, content_type: str) -> None:
    message = build(409, body, headers={"content-type": content_type}).details["upstream"].get("message", "")

    assert len(message) <= 300
    assert "\n" not in message
    message.encode()


@for_each("piece", ["<", "<script", "<message>", "<message> ", "<![CDATA[", '{"a":', "&amp;", "[{"])
def test_reading_time_is_linear(piece: str) -> None:
    def read(body: bytes) -> None:
        for content_type in TYPES:
            build(409, body, headers={"content-type": content_type})

    assert_linear(read, lambda size: (piece * (size // len(piece))).encode(), size=60_000)
