"""Each call has its own allowed networks, and never uses a connection of a call with other networks."""

from collections.abc import Callable
from ipaddress import ip_network

import pytest

from core.http import AddressRefused, Response
from tests.support.upstreams.http_servers import Server, build_redirect

SendRequest = Callable[..., Response]
StartServer = Callable[..., Server]

LOOPBACK = (ip_network("127.0.0.0/8"),)


def test_allow_replaces_the_networks_of_the_setting(canary: Server, call: SendRequest, loopback_allowed: None) -> None:
    with pytest.raises(AddressRefused):
        call(canary.url(), allow=())

    assert canary.connections == 0
    assert call(canary.url()).body == b"ok"


def test_allow_permits_networks_that_the_setting_does_not(canary: Server, call: SendRequest) -> None:
    with pytest.raises(AddressRefused):
        call(canary.url())

    assert call(canary.url(), allow=LOOPBACK).body == b"ok"


def test_open_connection_is_not_used_by_a_call_with_other_networks(
    serve: StartServer, call: SendRequest, loopback_allowed: None
) -> None:
    server = serve()
    call(server.url())

    with pytest.raises(AddressRefused):
        call(server.url(), allow=())

    assert (len(server.requests), server.connections) == (1, 1)


def test_redirect_is_limited_to_the_networks_of_its_call(serve: StartServer, call: SendRequest) -> None:
    private_server = serve()
    redirecting_server = serve(build_redirect(private_server.url(host="[::1]")))

    with pytest.raises(AddressRefused):
        call(redirecting_server.url(), allow=LOOPBACK)

    assert private_server.connections == 0
