"""The outgoing HTTP client: what it sends, which connections it shares, and what it never stores, logs or inherits."""

import logging
import os
import pickle
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_network

import pytest

from core import http
from core.database.deadlines import Deadline
from core.http import OutgoingError, Response, client, connection_pool, errors
from core.http.connection_pool import ConnectionPool, Origin
from core.http.network import Exchange
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


def test_threads_share_connections(serve: StartServer, call: SendRequest) -> None:
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


def test_forked_process_does_not_use_the_connections_of_its_parent(
    serve: StartServer, call: SendRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve()
    call(server.url())

    monkeypatch.setattr(os, "getpid", lambda: -1)
    call(server.url())
    call(server.url())
    client.close_idle_connections()

    assert server.connections == 2


def test_calls_with_other_allowed_networks_share_no_connections(serve: StartServer, call: SendRequest) -> None:
    server = serve()

    for allow in (None, (ip_network("127.0.0.0/8"),), (ip_network("127.0.0.1"),)):
        call(server.url(), allow=allow)
    with pytest.raises(http.AddressRefused):
        call(server.url(), allow=())

    assert server.connections == 3


def test_idle_connection_is_closed_after_a_while(
    serve: StartServer, call: SendRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, other = serve(), serve()
    call(server.url())
    call(server.url())

    monkeypatch.setattr(connection_pool, "IDLE_SECONDS", -1.0)
    call(server.url())
    call(other.url())

    assert (server.connections, other.connections) == (2, 1)
    assert not client.get_pool()._idle


def test_call_waits_for_a_place_until_its_deadline(serve: StartServer, call: SendRequest) -> None:
    server = serve()
    pool = ConnectionPool(client._connect, most=1)
    origin = Origin("http", "127.0.0.1", server.port)
    exchange = Exchange(Deadline.after(milliseconds=60_000))
    connection = pool.acquire(origin, exchange, seconds=1)

    with pytest.raises(http.TimedOut):
        pool.acquire(origin, exchange, seconds=0.01)
    pool.release(connection)

    pool.release(pool.acquire(origin, exchange, seconds=1))


def test_refusal_of_a_request_that_is_not_read_is_the_answer(call: SendRequest) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as pool:
        refusal = pool.submit(_refuse_unread, listener)
        response = call(f"http://127.0.0.1:{listener.getsockname()[1]}/", "POST", body=bytes(20_000_000))
        refusal.result()

    assert response.status == 413


def _refuse_unread(listener: socket.socket) -> None:
    """Answer once the head has come, and take nothing more of the body."""
    connection, _ = listener.accept()
    with connection:
        connection.recv(1_000)
        connection.sendall(build_response(b"", "413 Content Too Large", Connection="close"))
        connection.shutdown(socket.SHUT_RD)


def test_every_error_is_an_outgoing_error_with_its_own_message() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]

    assert all(issubclass(kind, OutgoingError) for kind in kinds)
    assert len({kind.sentence for kind in kinds}) == len(kinds)
    assert all(str(kind()) == kind.sentence and kind.sentence.endswith(".") for kind in kinds)
    assert all(str(pickle.loads(pickle.dumps(kind()))) == kind.sentence for kind in kinds)  # noqa: S301
    assert {kind.__name__ for kind in kinds} <= set(http.__all__)
