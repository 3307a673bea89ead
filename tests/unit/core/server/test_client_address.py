"""The client's address is never read from what the client itself can write."""

from typing import Any

import pytest
from django.test import RequestFactory

from core.server.environ import read_client_address, read_limited_address

PROXY = "10.0.0.1"

# Number of proxies, X-Forwarded-For, the expected address.
FORWARDED = [
    (0, "192.0.2.7", PROXY),  # the header is not trusted
    (1, "192.0.2.7", "192.0.2.7"),
    (1, "6.6.6.6, 192.0.2.7", "192.0.2.7"),  # the client wrote the first entry
    (2, "6.6.6.6, 192.0.2.7, 10.0.0.2", "192.0.2.7"),
    (2, "192.0.2.7", "192.0.2.7"),  # a request of the inner network, which passed one proxy only
    (1, "", PROXY),
    (1, "unknown", PROXY),
    (1, "192.0.2.7, <script>", PROXY),
    (1, "192.0.2.7:5000", "192.0.2.7"),
    (1, "2001:db8::7", "2001:db8::7"),
    (1, "[2001:db8::7]:5000", "2001:db8::7"),
    (1, "::ffff:192.0.2.7", "192.0.2.7"),
]


@pytest.mark.parametrize(("count", "header", "expected"), FORWARDED)
def test_address_is_that_which_the_first_proxy_saw(
    settings: Any, rf: RequestFactory, count: int, header: str, expected: str
) -> None:
    settings.GATEWAY_PROXY_COUNT = count

    assert str(read_client_address(rf.get("/", REMOTE_ADDR=PROXY, HTTP_X_FORWARDED_FOR=header).META)) == expected


def test_address_without_a_proxy(rf: RequestFactory) -> None:
    assert str(read_client_address(rf.get("/", REMOTE_ADDR="192.0.2.7").META)) == "192.0.2.7"
    assert read_client_address(rf.get("/", REMOTE_ADDR="").META) is None  # a Unix socket
    assert read_limited_address(rf.get("/", REMOTE_ADDR="").META) is None


@pytest.mark.parametrize(
    ("address", "throttled"),
    [("192.0.2.7", "192.0.2.7"), ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"), ("2001:db8:1:2::9", "2001:db8:1:2::")],
)
def test_limits_count_ipv6_networks(rf: RequestFactory, address: str, throttled: str) -> None:
    assert read_limited_address(rf.get("/", REMOTE_ADDR=address).META) == throttled
