"""Ops of HTTP services: the request that is sent, its answer as the result, and what is sent again."""

from typing import Any

import pytest
from django.test import override_settings

from core.http.ssrf import get_upstream_networks, is_allowed
from core.overload import FailureRules, ServiceGuard
from gateway.executors.http import sending
from gateway.executors.remote import connection_guards
from tests.support.clients.api import Api, assert_refused
from tests.support.loops import for_each
from tests.support.upstreams.http_servers import build_redirect
from tests.support.upstreams.http_upstream import (
    READ,
    WRITE,
    HttpUpstream,
    build_json,
    build_read,
    build_write,
    publish_ops,
)

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


@pytest.fixture(autouse=True)
def _no_waits_between_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "choose_wait", lambda *_: 0.0)


@pytest.fixture
def shop_with_keys(live_catalog: object, http_upstream: HttpUpstream) -> HttpUpstream:
    """Publish the same ops at a service that takes idempotency keys."""
    publish_ops(build_read(), build_write(), base_url=http_upstream.base_url, idempotency_header="X-Request-Key")
    return http_upstream


def get_key(shop: HttpUpstream, index: int = -1) -> str:
    lines = shop.get_head(index).split("\r\n")
    return next((line.removeprefix("x-request-key: ") for line in lines if line.startswith("x-request-key")), "")


def answer_in_turn(shop: HttpUpstream, *answers: bytes) -> None:
    """Answer the first request with the first answer, and so on; the last answer stays."""
    shop.answer = lambda _: answers[min(len(shop.requests), len(answers)) - 1]


def test_read_sends_a_request_and_returns_the_answer(api: Api, shop: HttpUpstream) -> None:
    envelope = api.exec(READ, {"order_id": "a/b ü"})

    assert envelope["result"] == {"id": "7", "state": "open"}, envelope
    assert shop.get_head().startswith("GET /v1/orders/a%2Fb%20%C3%BC HTTP/1.1\r\n")


@for_each(
    "fields, answer, operation",
    [
        ({}, {"id": 7, "name": "A pen"}, {"entity": "order", "entity_id": "7", "entity_name": "A pen"}),
        (
            {"entity": "sale", "action": "run"},
            {"data": {"sale": {"id": "s-1"}}},
            {"entity": "sale", "entity_id": "s-1"},
        ),
        (
            {"action": "create", "result_row": {"id": "ref.code", "name": "ref.label"}, "result_fields": ["state"]},
            {"id": "other", "ref": {"code": "R7", "label": "Seven"}, "state": "open"},
            {"entity": "order", "action": "create", "entity_id": "R7", "entity_name": "Seven"},
        ),
        ({"entity": "order", "action": "submit"}, {}, {"entity": "order", "action": "submit"}),
    ],
)
def test_write_says_which_row_it_was_about(
    api: Api, shop: HttpUpstream, fields: dict[str, Any], answer: dict[str, Any], operation: dict[str, str]
) -> None:
    publish_ops(build_write(**fields), base_url=shop.base_url)
    shop.answer = build_json(answer)

    envelope = api.exec(WRITE, {"product": "pen"})

    assert envelope["meta"]["operation"] == {"action": "execute"} | operation


def test_operation_has_the_id_of_the_args_and_says_that_nothing_was_written(api: Api, shop: HttpUpstream) -> None:
    publish_ops(build_read(action="close"), base_url=shop.base_url)
    shop.answer = build_json({"state": "open"})

    envelope = api.exec(READ, {"order_id": "7"})

    assert envelope["meta"]["operation"] == {"entity": "order", "action": "read", "entity_id": "7"}


def test_write_sends_a_body_with_the_names_of_the_service(api: Api, shop: HttpUpstream) -> None:
    assert api.exec(WRITE, {"product": "pen"})["ok"] is True

    assert shop.get_head().startswith("POST /v1/orders HTTP/1.1\r\n")
    assert "\r\ncontent-type: application/json\r\n" in shop.get_head()
    assert shop.get_json() == {"sku": "pen"}


def test_nothing_of_the_caller_is_sent_but_the_trace(api: Api, shop_with_keys: HttpUpstream) -> None:
    response = api.post(
        "exec",
        {"op": WRITE, "args": {"product": "pen"}, "idempotency_key": "callers-own-key"},
        traceparent=f"00-{TRACE}-00f067aa0ba902b7-01",
        Cookie="session=callers-cookie",
        X_Custom="callers-header",
    )
    assert response.status_code == 200

    sent = shop_with_keys.requests[0].decode().lower()
    assert f"\r\ntraceparent: 00-{TRACE}-" in sent
    assert [word for word in ("callers", "bearer", "authorization", "cookie", "gateway-subject") if word in sent] == []


def test_service_gets_the_same_key_for_the_same_call_only(
    api: Api, shop_with_keys: HttpUpstream, make_key: Any
) -> None:
    answer_in_turn(shop_with_keys, build_json({}, "503 Service Unavailable"))
    for caller in (api, api, Api(make_key())):  # a write that was not applied may be sent again
        caller.exec(WRITE, {"product": "pen"}, idempotency_key="one")
    api.exec(WRITE, {"product": "pen"}, idempotency_key="two")
    api.exec(WRITE, {"product": "pen"})

    keys = [get_key(shop_with_keys, index) for index in range(0, 15, 3)]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 4
    assert [get_key(shop_with_keys, index) for index in range(3)] == [keys[0]] * 3  # all attempts of a call


def test_write_is_sent_again_only_with_a_key(api: Api, shop_with_keys: HttpUpstream, live_catalog: object) -> None:
    answer_in_turn(shop_with_keys, build_json({}, "500 Internal Server Error"), build_json({"id": 7}))
    assert api.exec(WRITE, {"product": "pen"})["result"] == {"id": 7}

    publish_ops(build_read(), build_write(), base_url=shop_with_keys.base_url, idempotency_header="")
    shop_with_keys.requests.clear()
    assert api.exec(WRITE, {"product": "pen"})["error"]["details"]["reason"] == "outcome_unknown"
    assert len(shop_with_keys.requests) == 1


def test_write_that_fails_with_a_key_is_a_known_failure(api: Api, shop_with_keys: HttpUpstream) -> None:
    shop_with_keys.answer = build_json({}, "500 Internal Server Error")

    keyed = api.exec(WRITE, {"product": "pen"}, idempotency_key="a")
    # Without the caller's key, the next call would have another one at the service, too.
    unkeyed = api.exec(WRITE, {"product": "pen"})

    assert keyed["error"]["details"]["reason"] == "upstream_status"
    assert unkeyed["error"]["details"]["reason"] == "outcome_unknown"


def test_refused_credentials_do_not_use_up_a_key(api: Api, shop_with_keys: HttpUpstream) -> None:
    shop_with_keys.answer = build_json({}, "401 Unauthorized")
    assert api.exec(WRITE, {"product": "pen"}, idempotency_key="a")["ok"] is False

    shop_with_keys.answer = build_json({"id": "7"})

    assert api.exec(WRITE, {"product": "pen"}, idempotency_key="a")["result"] == {"id": "7"}


def test_redirect_within_the_service_is_followed_for_reads_only(api: Api, shop: HttpUpstream) -> None:
    def redirect_orders(request: bytes) -> bytes:
        return build_json({"moved": True}) if b"/new " in request else build_redirect("/new", "307 Temporary Redirect")

    shop.answer = redirect_orders

    assert api.exec(READ, {"order_id": "7"})["result"] == {"moved": True}
    shop.requests.clear()
    assert api.exec(WRITE, {"product": "pen"})["error"]["details"]["reason"] == "upstream_redirects"
    assert len(shop.requests) == 1


def test_dry_run_sends_nothing(api: Api, shop: HttpUpstream) -> None:
    envelope = api.exec(WRITE, {"product": "pen"}, dry_run=True)

    assert envelope["ok"] is True
    assert envelope["meta"]["warnings"][0] == "Dry run: nothing was sent."
    assert shop.requests == []


def test_failing_service_gets_no_calls_for_a_while(
    api: Api, shop: HttpUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "MAX_RETRIES", 0)
    now = [1000.0]
    guard = ServiceGuard("connection.shop", clock=lambda: now[0])
    monkeypatch.setattr(connection_guards, "get_guard", lambda _: guard)
    shop.answer = build_json({}, "500 Internal Server Error")
    for _ in range(FailureRules().min_calls):
        assert api.exec(READ, {"order_id": "7"})["error"]["details"]["reason"] == "upstream_status"

    response = api.post("exec", {"op": READ, "args": {"order_id": "7"}})

    assert_refused(response, 503, "upstream_circuit_open")
    assert response.headers["Retry-After"] == "5"
    assert len(shop.requests) == FailureRules().min_calls
    now[0] += 5
    shop.answer = build_json({"id": 7})
    assert api.exec(READ, {"order_id": "7"})["result"] == {"id": 7}


def test_credentials_in_an_answer_are_removed(api: Api, shop: HttpUpstream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "gateway.executors.remote.credentials.apply_credentials",
        lambda request, *_: request.with_headers({"Authorization": "Bearer hunter2-token"}),
    )
    shop.answer = lambda request: build_json({"you_sent": request.decode()})

    result = api.exec(READ, {"order_id": "7"})["result"]

    assert b"hunter2-token" in shop.requests[0]
    assert "authorization: bearer ***" in result["you_sent"].lower()


def test_only_connections_reach_this_machine() -> None:
    with override_settings(GATEWAY_OUTGOING_ALLOW=[], GATEWAY_UPSTREAM_ALLOW=[]):
        assert not is_allowed("127.0.0.1", 8000, allow=get_upstream_networks())

    assert is_allowed("127.0.0.1", 8000, allow=get_upstream_networks())
    assert not is_allowed("127.0.0.1", 8000)
