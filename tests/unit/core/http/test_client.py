"""The outgoing HTTP client: what it sends, which connections it shares, and what it never stores, logs or inherits."""

import logging
import os
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpcore2
import httpx2
import pytest

from core import http
from core.http import OutgoingError, Response, client, errors
from core.http.network import GuardedBackend
from tests.support.upstreams.fake_resolver import FakeResolver
from tests.support.upstreams.http_servers import Server, build_response

SendRequest = Callable[..., Response]
StartServer = Callable[..., Server]

pytestmark = pytest.mark.usefixtures("loopback_allowed")


def test_request_returns_the_response(serve: StartServer, call: SendRequest) -> None:
    server = serve(build_response(b'{"a": 1}', "418 I'm a teapot", Content_Type="application/json", X_One="1"))

    response = call(server.url("/p?q=%20é"), "POST", body=b"sent", headers={"X-Two": "2"})

    assert (response.status, response.body, response.redirects) == (418, b'{"a": 1}', 0)
    assert response.url == server.url("/p?q=%20%C3%A9")
    assert (response.headers["content-type"], response.headers["x-one"]) == ("application/json", "1")
    request = server.requests[0]
    assert request.startswith(b"POST /p?q=%20%C3%A9 HTTP/1.1\r\n")
    assert request.endswith(b"\r\n\r\nsent")
    assert b"x-two: 2\r\n" in request.lower()


def test_two_calls_share_one_connection_and_no_cookies(serve: StartServer, call: SendRequest) -> None:
    server = serve(build_response(Set_Cookie="id=1; Path=/"))

    call(server.url("/1"))
    call(server.url("/2"))

    assert (len(server.requests), server.connections) == (2, 1)
    assert b"cookie" not in server.requests[1].lower()


def test_connection_is_not_shared_between_hosts_at_one_address(
    serve: StartServer, call: SendRequest, resolver: FakeResolver
) -> None:
    server = serve()
    resolver.names |= {"a.test": [["127.0.0.1"]], "b.test": [["127.0.0.1"]]}

    call(server.url(host="a.test"))
    call(server.url(host="b.test"))

    assert server.connections == 2


def test_closed_connection_is_replaced(serve: StartServer, call: SendRequest) -> None:
    server = serve(build_response(Connection="close"))

    assert [call(server.url()).status for _ in range(3)] == [200, 200, 200]

    assert server.connections == 3


def test_threads_share_the_transport(serve: StartServer, call: SendRequest) -> None:
    server = serve()
    call(server.url())

    with ThreadPoolExecutor(8) as pool:
        bodies = list(pool.map(lambda number: call(server.url(f"/{number}")).body, range(80)))

    assert bodies == [b"ok"] * 80
    assert server.connections <= 8


def test_aborted_call_leaves_no_half_read_connection(serve: StartServer, call: SendRequest) -> None:
    server = serve(lambda request: build_response(bytes(100_000) if b" /big " in request else b"small"))

    with pytest.raises(http.TooLarge):
        call(server.url("/big"), max_bytes=10)

    assert call(server.url("/small")).body == b"small"


def test_proxy_variables_are_ignored(serve: StartServer, call: SendRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy, server = serve(build_response(b"proxy")), serve(build_response(b"server"))
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, proxy.url())

    assert call(server.url()).body == b"server"

    assert proxy.connections == 0


def test_calls_are_not_logged(serve: StartServer, call: SendRequest, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    server = serve()

    call(server.url("/?token=hunter2"), headers={"Authorization": "hunter2"})

    assert caplog.records == []


def test_transport_is_created_once_per_process(monkeypatch: pytest.MonkeyPatch) -> None:
    transport = client.get_transport()
    assert client.get_transport() is transport

    monkeypatch.setattr(os, "getpid", lambda: -1)
    child_transport = client.get_transport()
    assert child_transport is not transport
    assert child_transport is client.get_transport()


def test_transport_uses_our_network_backend(canary: Server) -> None:
    assert type(httpx2.HTTPTransport()._pool) is httpcore2.ConnectionPool
    pool = client.get_transport()._pool
    assert isinstance(pool._network_backend, GuardedBackend)

    with pytest.raises(LookupError):  # sockets work only inside a call
        client.get_transport().handle_request(httpx2.Request("GET", canary.url()))

    assert canary.connections == 0


def test_every_error_is_an_outgoing_error_with_its_own_message() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]

    assert all(issubclass(kind, OutgoingError) for kind in kinds)
    assert len({kind.sentence for kind in kinds}) == len(kinds)
    assert all(str(kind()) == kind.sentence and kind.sentence.endswith(".") for kind in kinds)
    assert all(str(pickle.loads(pickle.dumps(kind()))) == kind.sentence for kind in kinds)  # noqa: S301
    assert {kind.__name__ for kind in kinds} <= set(http.__all__)
