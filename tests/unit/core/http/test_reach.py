"""Each call has its own reach: what one may call, and the connection that it left behind, is not another's."""

from collections.abc import Callable
from ipaddress import ip_network

import pytest

from core.http import AddressRefused, Response
from tests.support.http_servers import Server, redirect

Call = Callable[..., Response]
Serve = Callable[..., Server]

LOOPBACK = (ip_network("127.0.0.0/8"),)


def test_allow_replaces_the_networks_of_the_setting(canary: Server, call: Call, loopback_allowed: None) -> None:
    with pytest.raises(AddressRefused):
        call(canary.url(), allow=())

    assert canary.connections == 0
    assert call(canary.url()).body == b"ok"


def test_allow_lets_through_what_the_setting_does_not(canary: Server, call: Call) -> None:
    with pytest.raises(AddressRefused):
        call(canary.url())

    assert call(canary.url(), allow=LOOPBACK).body == b"ok"


def test_a_kept_connection_serves_no_call_of_another_reach(serve: Serve, call: Call, loopback_allowed: None) -> None:
    server = serve()
    call(server.url())

    with pytest.raises(AddressRefused):
        call(server.url(), allow=())

    assert (len(server.requests), server.connections) == (1, 1)


def test_a_redirect_has_the_reach_of_its_call(serve: Serve, call: Call) -> None:
    inside = serve()
    outside = serve(redirect(inside.url(host="[::1]")))

    with pytest.raises(AddressRefused):
        call(outside.url(), allow=LOOPBACK)

    assert inside.connections == 0
