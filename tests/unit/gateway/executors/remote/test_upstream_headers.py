"""Headers that the gateway adds, and credentials that never come back."""

from typing import Any
from uuid import UUID

from pytest_django.fixtures import Settings

from gateway.executors.base import UpstreamCall
from gateway.executors.remote.credentials import BuiltRequest, build_headers
from registry.catalog.connections import ConnectionConfig
from tests.support.loops import for_each
from tests.support.rows.sample_ops import build_op, build_upstream_call

KEYED = ConnectionConfig("shop", "http", idempotency_header="Idempotency-Key")
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
BUILT = BuiltRequest("GET", "https://shop.test/?a=1", {"accept": "*/*"})


def build_work(kind: str = "write", **fields: Any) -> UpstreamCall:
    return build_upstream_call(build_op(kind=kind), **fields)


def get_key(scope: str, config: ConnectionConfig = KEYED) -> str:
    return build_headers(build_work(idempotency_scope=scope), config)["Idempotency-Key"]


def test_key_is_derived_from_the_callers(settings: Settings) -> None:
    scope = '[1,"ana","order-1","shop.create"]'
    key = get_key(scope)

    assert UUID(key).version == 4
    assert get_key(scope) == key
    assert get_key(scope.replace("ana", "bob")) != key
    assert get_key(scope, ConnectionConfig("other", "http", idempotency_header="Idempotency-Key")) != key
    settings.GATEWAY_KEY_PEPPER = "another"
    assert get_key(scope) != key


def test_key_is_random_for_a_call_without_one() -> None:
    assert get_key("") != get_key("")


@for_each("work, config", [(build_work("read"), KEYED), (build_work(), ConnectionConfig("shop", "http"))])
def test_no_key_is_sent_for_reads_and_to_services_that_take_none(work: UpstreamCall, config: ConnectionConfig) -> None:
    assert build_headers(work, config) == {}


def test_trace_is_continued() -> None:
    headers = build_headers(build_work(trace_id=f"tr_{TRACE}"), ConnectionConfig("shop", "http"))

    version, trace, parent, flags = headers["traceparent"].split("-")
    assert (version, trace, len(parent), flags) == ("00", TRACE, 16, "01")
