"""How help and exec refuse requests: keys, scopes, subjects, rates, methods, bodies, headers. Errors are JSON."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.conf import settings
from django.http import HttpResponse
from django.utils import timezone

from analytics.events.models import OperationEvent
from core.background import poller
from gateway.access import api_keys
from gateway.models import ApiKey, Client
from registry.models import Activation
from tests.support.clients.api import SECRET, Api, assert_refused
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


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_endpoint_requires_a_valid_key(api: Api, endpoint: str, subtests: pytest.Subtests) -> None:
    for authorization in INVALID_AUTHORIZATIONS:
        with subtests.test(authorization=authorization[:30]):
            response = call_endpoint(api, endpoint, Authorization=authorization)

            error = assert_refused(response, 401, "unauthenticated")
            assert error["code"] == "PERMISSION_DENIED"
            assert error["help_path"] == "root"
            assert response.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_endpoint_refuses_a_request_without_authorization(api: Api, endpoint: str) -> None:
    del api.headers["Authorization"]

    assert_refused(call_endpoint(api, endpoint), 401, "unauthenticated")


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_endpoint_refuses_a_key_from_the_second_it_expires(make_api: MakeApi, live_catalog: Any, endpoint: str) -> None:
    ends = datetime(2030, 1, 1, tzinfo=UTC)
    api = make_api(expires_at=ends)

    with time_machine.travel(ends - timedelta(seconds=1)):
        assert call_endpoint(api, endpoint).status_code == 200
    with time_machine.travel(ends):
        assert_refused(call_endpoint(api, endpoint), 401, "unauthenticated")


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_endpoint_refuses_a_key_at_once_when_revoked_in_this_process(api: Api, endpoint: str) -> None:
    assert call_endpoint(api, endpoint).status_code == 200

    api_keys.revoke(ApiKey.objects.get(), by="tests", at=timezone.now())

    assert_refused(call_endpoint(api, endpoint), 401, "unauthenticated")


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_endpoint_refuses_a_key_revoked_elsewhere_after_the_next_poll(api: Api, endpoint: str) -> None:
    assert call_endpoint(api, endpoint).status_code == 200
    key = ApiKey.objects.get()
    key.revoked_at = timezone.now()
    key.save()

    poller.refresh()

    assert_refused(call_endpoint(api, endpoint), 401, "unauthenticated")


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_endpoint_refuses_keys_of_an_inactive_client_after_the_next_poll(api: Api, endpoint: str) -> None:
    assert call_endpoint(api, endpoint).status_code == 200
    client = Client.objects.get()
    client.is_active = False
    client.save()

    poller.refresh()

    assert_refused(call_endpoint(api, endpoint), 401, "unauthenticated")


def test_endpoint_refuses_all_invalid_keys_with_one_message(api: Api, make_api: MakeApi) -> None:
    inactive = make_api(is_active=False)
    expired = make_api(expires_at=timezone.now() - timedelta(days=1))
    unknown = Api("gw_00000000_unknown")

    messages = {
        assert_refused(call_endpoint(each, "help"), 401, "unauthenticated")["message"]
        for each in (inactive, expired, unknown)
    }

    assert len(messages) == 1


def test_help_needs_its_scope(make_api: MakeApi, live_catalog: Any) -> None:
    api = make_api(scopes=["exec:read"])

    error = assert_refused(call_endpoint(api, "help"), 403, "scope_missing")

    assert "help" in error["message"]
    assert error["code"] == "PERMISSION_DENIED"


@pytest.mark.parametrize(
    ("scopes", "op", "missing"),
    [
        (["help"], "onto.task.get", "exec:read"),
        (["help", "exec:write"], "onto.task.get", "exec:read"),
        (["help", "exec:read"], "onto.task.delete", "exec:write"),
    ],
)
def test_exec_needs_the_scope_for_the_kind_of_the_op(
    make_api: MakeApi, live_catalog: Any, scopes: list[str], op: str, missing: str
) -> None:
    api = make_api(scopes=scopes)

    response = api.post("exec", {"op": op, "args": {"task_id": DEMO_TASK_ID}})

    error = assert_refused(response, 403, "scope_missing")
    assert missing in error["message"]
    assert api.post("help", {"path": error["help_path"]}).status_code == 200


def test_exec_checks_permission_before_args(make_api: MakeApi, live_catalog: Any) -> None:
    api = make_api(scopes=["help", "exec:read"])

    assert_refused(api.post("exec", {"op": "onto.task.delete", "args": {"task_id": "nonsense"}}), 403, "scope_missing")


def test_exec_refuses_ops_outside_the_patterns_of_the_client(make_api: MakeApi, live_catalog: Any) -> None:
    api = make_api(op_patterns=["util.*"])

    error = assert_refused(call_endpoint(api, "exec"), 403, "op_not_allowed")

    assert error["help_path"] == "root"  # this caller cannot read onto.task
    assert api.post("help", {"path": "root"}).status_code == 200


@pytest.mark.parametrize(
    ("fields", "subject", "reason"),
    [
        ({"subject": "demo-user"}, "", None),  # a bound key acts for its subject
        ({"subject": "demo-user"}, "demo-user", None),
        ({"subject": "demo-user"}, "demo-colleague", "subject_not_allowed"),
        ({"subject_pattern": "demo-*"}, "demo-user", None),
        ({"subject_pattern": "demo-*"}, "Demo-user", "subject_not_allowed"),  # subjects are opaque: case counts
        ({"subject_pattern": "acme-*"}, "demo-user", "subject_not_allowed"),
        ({}, "", "subject_required"),
    ],
)
def test_exec_accepts_only_subjects_that_the_key_allows(
    make_api: MakeApi, live_catalog: Any, fields: dict[str, Any], subject: str, reason: str | None
) -> None:
    api = make_api(acts_for=subject, **fields)

    response = call_endpoint(api, "exec")

    if reason is None:
        assert response.status_code == 200, response.content
    else:
        assert_refused(response, 403, reason)


def test_exec_runs_ops_without_user_data_without_a_subject(make_api: MakeApi, live_catalog: Any) -> None:
    api = make_api(acts_for="")

    response = api.post("exec", {"op": "util.schema.field_info", "args": {"entity_type": "ontology_task"}})

    assert response.status_code == 200


def test_exec_refuses_a_subject_in_the_body(api: Api) -> None:
    body = {"op": "onto.task.list", "args": {}, "subject": "demo-colleague"}

    assert_refused(api.post("exec", body), 400, "malformed_call")


@pytest.mark.parametrize("subject", ["two words", "sübject", "x" * 201, "tab\tbed"])
def test_exec_refuses_a_malformed_subject(api: Api, subject: str) -> None:
    assert_refused(call_endpoint(api, "exec", Gateway_Subject=subject), 400, "bad_header")


@pytest.mark.parametrize("endpoint", ENDPOINTS)
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


def test_rate_limit_of_one_key_does_not_affect_another(make_api: MakeApi, live_catalog: Any) -> None:
    fast, other = make_api(rate=1), make_api(rate=1)

    limited = [call_endpoint(fast, "help").status_code for _ in range(5)]

    assert 429 in limited
    assert call_endpoint(other, "help").status_code == 200


@pytest.mark.parametrize(
    ("method", "endpoint", "allowed"),
    [
        ("GET", "exec", {"POST"}),
        ("PUT", "exec", {"POST"}),
        ("DELETE", "exec", {"POST"}),
        ("PATCH", "exec", {"POST"}),
        ("OPTIONS", "exec", {"POST"}),
        ("TRACE", "exec", {"POST"}),
        ("HEAD", "exec", {"POST"}),
        ("PUT", "help", {"GET", "HEAD", "POST"}),
        ("DELETE", "help", {"GET", "HEAD", "POST"}),
        ("OPTIONS", "help", {"GET", "HEAD", "POST"}),
        ("BREW", "help", {"GET", "HEAD", "POST"}),
    ],
)
def test_endpoint_lists_its_methods_when_another_is_used(
    api: Api, method: str, endpoint: str, allowed: set[str]
) -> None:
    response = api.http.generic(method, f"/api/v1/{endpoint}", headers=api.headers)

    assert response.status_code == 405
    assert set(response.headers["Allow"].split(", ")) == allowed
    if method != "HEAD":
        assert assert_refused(response, 405, "method_not_allowed")["code"] == "NOT_FOUND"


@pytest.mark.parametrize("endpoint", ENDPOINTS)
@pytest.mark.parametrize("length", [1_000_001, 10**30, "-1", "many", "²"])
def test_endpoint_refuses_an_invalid_content_length(api: Api, endpoint: str, length: int | str) -> None:
    response = api.http.generic("POST", f"/api/v1/{endpoint}", b"{}", "application/json", CONTENT_LENGTH=str(length))

    assert assert_refused(response, 413, "too_large")["code"] == "VALIDATION_ERROR"


def test_endpoint_accepts_a_body_of_the_maximum_size(api: Api) -> None:
    raw = b'{"path": "root"}'

    response = api.post("help", raw=raw + b" " * (settings.GATEWAY_BODY_MAX_BYTES - len(raw)))

    assert response.status_code == 200


NOT_PLAIN_JSON = [
    {"Content-Type": "text/plain"},
    {"Content-Type": "application/x-www-form-urlencoded"},
    {"Content-Type": "multipart/form-data; boundary=x"},
    {"Content-Type": "application/jsonp"},
    {"Content-Type": "application/json; charset=latin-1"},
    {"Content-Type": "application/json; charset=utf-16"},
    {"Content-Type": "application/json; charset=nonsense"},
    {"Content-Type": ""},
    {"Content-Encoding": "gzip"},
    {"Content-Encoding": "br"},
]


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_endpoint_refuses_bodies_that_are_not_plain_json(api: Api, endpoint: str, subtests: pytest.Subtests) -> None:
    for headers in NOT_PLAIN_JSON:
        with subtests.test(headers=headers):
            response = api.post(endpoint, raw=b'{"path": "root"}', **headers)

            assert assert_refused(response, 415, "unsupported_media_type")["code"] == "VALIDATION_ERROR"


@pytest.mark.parametrize(
    "media_type", ["application/json", "application/json; charset=utf-8", 'application/json;charset="UTF-8"']
)
def test_endpoint_accepts_every_spelling_of_the_json_media_type(api: Api, media_type: str) -> None:
    assert api.post("help", raw=b'{"path": "root"}', **{"Content-Type": media_type}).status_code == 200


UNKNOWN_ADDRESSES = [
    "/",
    "/api",
    "/api/",
    "/api/v0/help",
    "/api/v1",
    "/api/v1/",
    "/api/v1/nothing",
    "/api/v1/help/",
    "/api/v1/exec/",
    "/api/v1/Help",
    "/api/v1/help.json",
    "/api/v1/toolset/",
    "/api/v1/%2e%2e/help",
    "/nothing/at/all",
    "/favicon.ico",
]


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_unknown_address_gets_a_json_error(api: Api, method: str, subtests: pytest.Subtests) -> None:
    for address in UNKNOWN_ADDRESSES:
        with subtests.test(address=address):
            response = api.http.generic(method, address, headers=api.headers)

            assert assert_refused(response, 404, "unknown_address")["help_path"] == "root"


def test_unknown_host_gets_a_json_error(api: Api) -> None:
    response = api.http.get("/api/v1/help", headers=api.headers, SERVER_NAME="evil.example")

    assert_refused(response, 400, "invalid")


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_endpoint_refuses_an_unknown_agent(api: Api, endpoint: str) -> None:
    error = assert_refused(call_endpoint(api, endpoint, **{"Gateway-Agent": "x"}), 404, "unknown_agent")

    assert "Gateway-Agent" in error["message"]


@pytest.mark.parametrize("address", ["events", "releases"])
def test_endpoint_that_runs_no_ops_refuses_an_agent(api: Api, address: str) -> None:
    response = api.get(address, **{"Gateway-Agent": "explorer"})

    assert_refused(response, 400, "unsupported_header")


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_endpoint_refuses_an_unknown_toolset(api: Api, endpoint: str) -> None:
    assert_refused(call_endpoint(api, endpoint, **{"Gateway-Toolset": "x"}), 400, "unknown_toolset")


@pytest.mark.parametrize("header", ["Gateway-Traits", "Gateway-Model", "Gateway-Environment"])
def test_exec_accepts_headers_that_describe_the_user(api: Api, header: str) -> None:
    assert call_endpoint(api, "exec", **{header: "x=1"}).status_code == 200


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_trace_id_comes_from_the_caller(api: Api, endpoint: str) -> None:
    trace = "0af7651916cd43dd8448eb211c80319c"

    response = call_endpoint(api, endpoint, traceparent=f"00-{trace}-b7ad6b7169203331-01")

    assert response.headers["Gateway-Trace"] == f"tr_{trace}"


@pytest.mark.parametrize(
    "traceparent",
    [
        "nonsense",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",  # all zero is no trace id (W3C)
        "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",  # upper case is malformed (W3C)
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-extra",
        "x" * 10_000,
    ],
)
def test_malformed_traceparent_is_ignored(api: Api, traceparent: str) -> None:
    response = call_endpoint(api, "exec", traceparent=traceparent)

    assert response.status_code == 200
    trace = response.headers["Gateway-Trace"]
    assert trace.startswith("tr_")
    assert len(trace) == 35
    assert trace.removeprefix("tr_") not in traceparent


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_response_has_server_timing_and_private_caching_headers(api: Api, endpoint: str) -> None:
    response = call_endpoint(api, endpoint)

    assert response.headers["Server-Timing"].startswith("total;dur=")
    assert response.headers["Cache-Control"] == "private, no-cache"
    assert len(response.headers["Gateway-Release"]) == 64


@pytest.mark.parametrize("endpoint", ENDPOINTS)
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
