"""Every door of the API, and every way of not getting in: always the envelope, never HTML."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.conf import settings
from django.http import HttpResponse
from django.utils import timezone

from analytics.models import OperationEvent
from core import poller
from gateway.clients import api_keys
from gateway.models import ApiKey, Client
from registry.models import Activation
from tests.support.api import SECRET, Api, refused
from workspace.demo import DEMO_TASK_ID

DOORS = ("help", "exec")
Another = Callable[..., Api]


def knock(api: Api, door: str, **headers: str) -> HttpResponse:
    body = {"help": {"path": "root"}, "exec": {"op": "onto.task.get", "args": {"task_id": DEMO_TASK_ID}}}[door]
    return api.post(door, body, **headers)


NO_KEYS = [
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


@pytest.mark.parametrize("door", DOORS)
def test_door_asks_for_a_key(api: Api, door: str, subtests: pytest.Subtests) -> None:
    for authorization in NO_KEYS:
        with subtests.test(authorization=authorization[:30]):
            response = knock(api, door, Authorization=authorization)

            error = refused(response, 401, "unauthenticated")
            assert error["code"] == "PERMISSION_DENIED"
            assert error["help_path"] == "root"
            assert response.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("door", DOORS)
def test_door_refuses_a_request_without_any_header(api: Api, door: str) -> None:
    del api.headers["Authorization"]

    refused(knock(api, door), 401, "unauthenticated")


@pytest.mark.parametrize("door", DOORS)
def test_door_refuses_an_expired_key_at_its_second(another: Another, live_catalog: Any, door: str) -> None:
    ends = datetime(2030, 1, 1, tzinfo=UTC)
    api = another(expires_at=ends)

    with time_machine.travel(ends - timedelta(seconds=1)):
        assert knock(api, door).status_code == 200
    with time_machine.travel(ends):
        refused(knock(api, door), 401, "unauthenticated")


@pytest.mark.parametrize("door", DOORS)
def test_door_refuses_a_revoked_key_in_this_process_at_once(api: Api, door: str) -> None:
    assert knock(api, door).status_code == 200

    api_keys.revoke(ApiKey.objects.get(), at=timezone.now())

    refused(knock(api, door), 401, "unauthenticated")


@pytest.mark.parametrize("door", DOORS)
def test_door_refuses_a_key_revoked_elsewhere_once_followed(api: Api, door: str) -> None:
    assert knock(api, door).status_code == 200
    key = ApiKey.objects.get()
    key.revoked_at = timezone.now()
    key.save()

    poller.refresh()

    refused(knock(api, door), 401, "unauthenticated")


@pytest.mark.parametrize("door", DOORS)
def test_door_refuses_the_keys_of_an_inactive_client_once_followed(api: Api, door: str) -> None:
    assert knock(api, door).status_code == 200
    client = Client.objects.get()
    client.is_active = False
    client.save()

    poller.refresh()

    refused(knock(api, door), 401, "unauthenticated")


def test_door_never_tells_why_a_key_does_not_open_it(api: Api, another: Another) -> None:
    inactive = another(is_active=False)
    expired = another(expires_at=timezone.now() - timedelta(days=1))
    unknown = Api("gw_00000000_unknown")

    told = {refused(knock(each, "help"), 401, "unauthenticated")["message"] for each in (inactive, expired, unknown)}

    assert len(told) == 1


def test_help_needs_its_scope(another: Another, live_catalog: Any) -> None:
    api = another(scopes=["exec:read"])

    error = refused(knock(api, "help"), 403, "scope_missing")

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
def test_exec_needs_the_scope_of_the_kind_of_op(
    another: Another, live_catalog: Any, scopes: list[str], op: str, missing: str
) -> None:
    api = another(scopes=scopes)

    response = api.post("exec", {"op": op, "args": {"task_id": DEMO_TASK_ID}})

    error = refused(response, 403, "scope_missing")
    assert missing in error["message"]
    assert api.post("help", {"path": error["help_path"]}).status_code == 200


def test_exec_decides_permission_before_it_looks_at_args(another: Another, live_catalog: Any) -> None:
    api = another(scopes=["help", "exec:read"])

    refused(api.post("exec", {"op": "onto.task.delete", "args": {"task_id": "nonsense"}}), 403, "scope_missing")


def test_exec_holds_a_client_to_its_ops(another: Another, live_catalog: Any) -> None:
    api = another(op_patterns=["util.*"])

    error = refused(knock(api, "exec"), 403, "op_not_allowed")

    assert error["help_path"] == "root"  # onto.task is nothing that this caller could read
    assert api.post("help", {"path": "root"}).status_code == 200


@pytest.mark.parametrize(
    ("fields", "speaks_for", "reason"),
    [
        ({"subject": "demo-user"}, "", None),  # a bound key speaks for its subject
        ({"subject": "demo-user"}, "demo-user", None),
        ({"subject": "demo-user"}, "demo-colleague", "subject_not_allowed"),
        ({"subject_pattern": "demo-*"}, "demo-user", None),
        ({"subject_pattern": "demo-*"}, "Demo-user", "subject_not_allowed"),  # subjects are opaque: case counts
        ({"subject_pattern": "acme-*"}, "demo-user", "subject_not_allowed"),
        ({}, "", "subject_required"),
    ],
)
def test_exec_speaks_only_for_subjects_of_its_key(
    another: Another, live_catalog: Any, fields: dict[str, Any], speaks_for: str, reason: str | None
) -> None:
    api = another(speaks_for=speaks_for, **fields)

    response = knock(api, "exec")

    if reason is None:
        assert response.status_code == 200, response.content
    else:
        refused(response, 403, reason)


def test_exec_without_a_subject_runs_what_touches_no_user_data(another: Another, live_catalog: Any) -> None:
    api = another(speaks_for="")

    response = api.post("exec", {"op": "util.schema.field_info", "args": {"entity_type": "ontology_task"}})

    assert response.status_code == 200


def test_exec_cannot_name_a_subject_in_the_body(api: Api) -> None:
    body = {"op": "onto.task.list", "args": {}, "subject": "demo-colleague"}

    refused(api.post("exec", body), 400, "malformed_call")


@pytest.mark.parametrize("subject", ["two words", "sübject", "x" * 201, "tab\tbed"])
def test_door_refuses_a_malformed_subject(api: Api, subject: str) -> None:
    refused(knock(api, "exec", Gateway_Subject=subject), 400, "bad_header")


@pytest.mark.parametrize("door", DOORS)
def test_door_limits_a_key_to_its_rate_and_tells_when_to_come_again(
    another: Another, live_catalog: Any, door: str
) -> None:
    api = another(rate=2)

    answers = [knock(api, door) for _ in range(8)]

    assert answers[0].status_code == 200
    assert answers[0].headers["RateLimit"] == '"key";r=1;t=1'
    limited = next(response for response in answers if response.status_code == 429)
    error = refused(limited, 429, "rate_limited")
    assert error["code"] == "PERMISSION_DENIED"
    assert error["details"]["retryable"] is True
    assert int(limited.headers["Retry-After"]) >= 1
    assert limited.headers["RateLimit"] == '"key";r=0;t=1'


def test_rate_of_one_key_does_not_slow_another(another: Another, live_catalog: Any) -> None:
    greedy, other = another(rate=1), another(rate=1)

    limited = [knock(greedy, "help").status_code for _ in range(5)]

    assert 429 in limited
    assert knock(other, "help").status_code == 200


@pytest.mark.parametrize(
    ("method", "door", "allowed"),
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
def test_door_names_the_methods_it_takes(api: Api, method: str, door: str, allowed: set[str]) -> None:
    response = api.http.generic(method, f"/api/v1/{door}", headers=api.headers)

    assert response.status_code == 405
    assert set(response.headers["Allow"].split(", ")) == allowed
    if method != "HEAD":
        assert refused(response, 405, "method_not_allowed")["code"] == "NOT_FOUND"


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("length", [1_000_001, 10**30, "-1", "many", "²"])
def test_door_refuses_a_body_by_its_announced_size_before_the_key(api: Api, door: str, length: int | str) -> None:
    response = api.http.generic("POST", f"/api/v1/{door}", b"{}", "application/json", CONTENT_LENGTH=str(length))

    assert refused(response, 413, "too_large")["code"] == "VALIDATION_ERROR"


def test_door_takes_a_body_of_just_the_largest_size(api: Api) -> None:
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


@pytest.mark.parametrize("door", DOORS)
def test_door_takes_plain_json_only(api: Api, door: str, subtests: pytest.Subtests) -> None:
    for headers in NOT_PLAIN_JSON:
        with subtests.test(headers=headers):
            response = api.post(door, raw=b'{"path": "root"}', **headers)

            assert refused(response, 415, "unsupported_media_type")["code"] == "VALIDATION_ERROR"


@pytest.mark.parametrize(
    "media_type", ["application/json", "application/json; charset=utf-8", 'application/json;charset="UTF-8"']
)
def test_door_takes_json_however_its_charset_is_written(api: Api, media_type: str) -> None:
    assert api.post("help", raw=b'{"path": "root"}', **{"Content-Type": media_type}).status_code == 200


UNKNOWN = [
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
def test_unknown_address_is_not_found_in_json(api: Api, method: str, subtests: pytest.Subtests) -> None:
    for address in UNKNOWN:
        with subtests.test(address=address):
            response = api.http.generic(method, address, headers=api.headers)

            assert refused(response, 404, "unknown_address")["help_path"] == "root"


def test_unknown_host_is_refused_in_json(api: Api) -> None:
    response = api.http.get("/api/v1/help", headers=api.headers, SERVER_NAME="evil.example")

    refused(response, 400, "invalid")


@pytest.mark.parametrize("door", DOORS)
def test_header_that_would_change_the_call_is_refused(api: Api, door: str) -> None:
    error = refused(knock(api, door, **{"Gateway-Agent": "x"}), 400, "unsupported_header")

    assert "Gateway-Agent" in error["message"]


@pytest.mark.parametrize("door", DOORS)
def test_header_that_is_no_toolset_is_refused(api: Api, door: str) -> None:
    refused(knock(api, door, **{"Gateway-Toolset": "x"}), 400, "unknown_toolset")


@pytest.mark.parametrize("header", ["Gateway-Traits", "Gateway-Model", "Gateway-Environment"])
def test_header_that_tells_of_the_user_changes_no_answer(api: Api, header: str) -> None:
    assert knock(api, "exec", **{header: "x=1"}).status_code == 200


@pytest.mark.parametrize("door", DOORS)
def test_trace_id_is_the_callers(api: Api, door: str) -> None:
    trace = "0af7651916cd43dd8448eb211c80319c"

    response = knock(api, door, traceparent=f"00-{trace}-b7ad6b7169203331-01")

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
def test_malformed_traceparent_is_passed_over(api: Api, traceparent: str) -> None:
    response = knock(api, "exec", traceparent=traceparent)

    assert response.status_code == 200
    made = response.headers["Gateway-Trace"]
    assert made.startswith("tr_")
    assert len(made) == 35
    assert made.removeprefix("tr_") not in traceparent


@pytest.mark.parametrize("door", DOORS)
def test_answer_says_how_long_it_took_and_may_not_be_shared(api: Api, door: str) -> None:
    response = knock(api, door)

    assert response.headers["Server-Timing"].startswith("total;dur=")
    assert response.headers["Cache-Control"] == "private, no-cache"
    assert len(response.headers["Gateway-Release"]) == 64


@pytest.mark.parametrize("door", DOORS)
def test_door_without_a_live_release_is_unavailable(api: Api, door: str) -> None:
    Activation.objects.all().delete()
    poller.refresh()

    response = knock(api, door)

    assert refused(response, 503, "nothing_live")["code"] == "INTERNAL"
    assert response.headers["Retry-After"] == "1"


def test_guessing_keys_is_slowed_down(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_keys, "MISSES_PER_SECOND", 1)  # whatever the speed of this machine
    guesses = [Api(f"gw_{number:08x}_guess") for number in range(20)]

    statuses = [knock(guess, "help").status_code for guess in guesses]

    assert set(statuses) == {401, 429}


def test_refused_at_the_door_leaves_no_event(api: Api, told: Callable[[], list[OperationEvent]]) -> None:
    for authorization in ("", "Bearer gw_00000000_unknown"):
        refused(knock(api, "exec", Authorization=authorization), 401, "unauthenticated")

    assert told() == []
