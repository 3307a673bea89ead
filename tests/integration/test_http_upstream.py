"""Ops of HTTP services: the request that is sent, its answer as the result, and what is sent again."""

import pytest

from tests.support.api import Api
from tests.support.http_upstream import READ, WRITE, HttpUpstream, build_read, build_write, publish_ops


@pytest.fixture
def shop(live_catalog: object, http_upstream: HttpUpstream) -> HttpUpstream:
    """Publish an op that reads and one that writes."""
    publish_ops(build_read(), build_write(), base_url=http_upstream.base_url)
    return http_upstream


def test_read_sends_a_request_and_returns_the_answer(api: Api, shop: HttpUpstream) -> None:
    envelope = api.exec(READ, {"order_id": "a/b ü"})

    assert envelope["result"] == {"id": "7", "state": "open"}, envelope
    assert shop.get_head().startswith("GET /v1/orders/a%2Fb%20%C3%BC HTTP/1.1\r\n")


def test_write_sends_a_body_with_the_names_of_the_service(api: Api, shop: HttpUpstream) -> None:
    assert api.exec(WRITE, {"product": "pen"})["ok"] is True

    assert shop.get_json() == {"sku": "pen"}
