"""How help and exec refuse requests: keys, scopes, subjects, rates, methods, bodies, headers. Errors are JSON."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.http import HttpResponse
from django.utils import timezone

from analytics.events.models import OperationEvent
from core.background import poller
from registry.models import Activation
from tests.support.clients.api import SECRET, Api, assert_refused
from tests.support.loops import for_each
from workspace.demo import DEMO_TASK_ID

ENDPOINTS = ("help", "exec")
MakeApi = Callable[..., Api]


def call_endpoint(api: Api, endpoint: str, **headers: str) -> HttpResponse:
    body = {"help": {"path": "root"}, "exec": {"op": "onto.task.get", "args": {"task_id": DEMO_TASK_ID}}}[endpoint]
    return api.post(endpoint, body, **headers)


INVALID_AUTHORIZATIONS = [
    "",
    "Bearer",
    "Bearer ",
    f"Basic {SECRET}",
    f"Bearer {SECRET}",
    f"Bearer gw_{SECRET}",
    "Bearer gw_0000000\x00" + SECRET,
    f"Bearer gw_{SECRET}" + "x" * 5000,
    f"gw_{SECRET}",
    "Bearer gw_ä€",
]


@for_each("endpoint", ENDPOINTS)
@for_each("authorization", INVALID_AUTHORIZATIONS)
def test_endpoint_requires_a_valid_key(api: Api, endpoint: str, authorization: str) -> None:
    response = call_endpoint(api, endpoint, Authorization=authorization)

    error = assert_refused(response, 401, "unauthenticated")
    assert error["code"] == "PERMISSION_DENIED"
    assert error["help_path"] == "root"
    assert response.headers["WWW-Authenticate"] == "Bearer"


def test_endpoint_refuses_all_invalid_keys_with_one_message(api: Api, make_api: MakeApi) -> None:
    inactive = make_api(is_active=False)
    expired = make_api(expires_at=timezone.now() - timedelta(days=1))
    unknown = Api("gw_00000000_unknown")

    messages = {
        assert_refused(call_endpoint(each, "help"), 401, "unauthenticated")["message"]
        for each in (inactive, expired, unknown)
    }

    assert len(messages) == 1


def test_exec_needs_the_scope_for_the_kind_of_the_op(make_api: MakeApi, live_catalog: Any) -> None:
    api = make_api(scopes=["help", "exec:read"])

    response = api.post("exec", {"op": "onto.task.delete", "args": {"task_id": "nonsense"}})

    error = assert_refused(response, 403, "scope_missing")  # before the args are checked
    assert "exec:write" in error["message"]
    assert api.post("help", {"path": error["help_path"]}).status_code == 200


def test_exec_refuses_ops_outside_the_patterns_of_the_client(make_api: MakeApi, live_catalog: Any) -> None:
    api = make_api(op_patterns=["util.*"])

    error = assert_refused(call_endpoint(api, "exec"), 403, "op_not_allowed")

    assert error["help_path"] == "root"  # this caller cannot read onto.task
    assert api.post("help", {"path": "root"}).status_code == 200


@for_each("endpoint", ENDPOINTS)
def test_endpoint_limits_the_rate_of_a_key_and_sends_retry_after(
    make_api: MakeApi, live_catalog: Any, endpoint: str
) -> None:
    api = make_api(rate=2)

    responses = [call_endpoint(api, endpoint) for _ in range(8)]

    assert responses[0].status_code == 200
    assert responses[0].headers["RateLimit"] == '"key";r=1;t=1'
    limited = next(response for response in responses if response.status_code == 429)
    error = assert_refused(limited, 429, "rate_limited")
    assert error["code"] == "PERMISSION_DENIED"
    assert error["details"]["retryable"] is True
    assert int(limited.headers["Retry-After"]) >= 1
    assert limited.headers["RateLimit"] == '"key";r=0;t=1'


NOT_PLAIN_JSON = [
    {"Content-Type": "application/x-www-form-urlencoded"},
    {"Content-Type": "application/jsonp"},
    {"Content-Type": "application/json; charset=latin-1"},
    {"Content-Type": "application/json; charset=utf-16"},
    {"Content-Type": "application/json; charset=nonsense"},
    {"Content-Encoding": "gzip"},
    {"Content-Encoding": "br"},
]


@for_each("endpoint", ENDPOINTS)
@for_each("headers", NOT_PLAIN_JSON)
def test_endpoint_refuses_bodies_that_are_not_plain_json(api: Api, endpoint: str, headers: dict[str, str]) -> None:
    response = api.post(endpoint, raw=b'{"path": "root"}', **headers)

    assert assert_refused(response, 415, "unsupported_media_type")["code"] == "VALIDATION_ERROR"


@for_each("media_type", ["application/json", "application/json; charset=utf-8", 'application/json;charset="UTF-8"'])
def test_endpoint_accepts_every_spelling_of_the_json_media_type(api: Api, media_type: str) -> None:
    assert api.post("help", raw=b'{"path": "root"}', **{"Content-Type": media_type}).status_code == 200


UNKNOWN_ADDRESSES = [
    "/",
    "/api",
    "/api/v0/help",
    "/api/v1/nothing",
    "/api/v1/%2e%2e/help",
    "/nothing/at/all",
]


@for_each("method", ["GET", "POST"])
@for_each("address", UNKNOWN_ADDRESSES)
def test_unknown_address_gets_a_json_error(api: Api, method: str, address: str) -> None:
    response = api.http.generic(method, address, headers=api.headers)

    assert assert_refused(response, 404, "unknown_address")["help_path"] == "root"


@for_each("address", ["events", "releases"])
def test_endpoint_that_runs_no_ops_refuses_an_agent(api: Api, address: str) -> None:
    response = api.get(address, **{"Gateway-Agent": "explorer"})

    assert_refused(response, 400, "unsupported_header")


@for_each("endpoint", ENDPOINTS)
def test_response_has_server_timing_and_private_caching_headers(api: Api, endpoint: str) -> None:
    response = call_endpoint(api, endpoint)

    assert response.headers["Server-Timing"].startswith("total;dur=")
    assert response.headers["Cache-Control"] == "private, no-cache"
    assert len(response.headers["Gateway-Release"]) == 64


@for_each("endpoint", ENDPOINTS)
def test_endpoint_is_unavailable_without_a_live_release(api: Api, endpoint: str) -> None:
    Activation.objects.all().delete()
    poller.refresh()

    response = call_endpoint(api, endpoint)

    assert assert_refused(response, 503, "nothing_live")["code"] == "INTERNAL"
    assert response.headers["Retry-After"] == "1"


def test_unauthenticated_request_records_no_event(api: Api, read_events: Callable[[], list[OperationEvent]]) -> None:
    for authorization in ("", "Bearer gw_00000000_unknown"):
        assert_refused(call_endpoint(api, "exec", Authorization=authorization), 401, "unauthenticated")

    assert read_events() == []
