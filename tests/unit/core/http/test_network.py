"""Connections: within the deadline, with limited headers and valid certificates."""

import socket
import ssl
import time
from collections.abc import Callable, Iterator
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pytest_django.fixtures import Settings

from core.http import AddressRefused, BrokenAnswer, Response, TimedOut, TooLarge, Unreachable, Untrusted, client
from tests.support.upstreams.fake_resolver import FakeResolver
from tests.support.upstreams.http_servers import Server, build_response, create_certificate

SendRequest = Callable[..., Response]
StartServer = Callable[..., Server]

pytestmark = pytest.mark.usefixtures("loopback_allowed")


@pytest.mark.parametrize("host", ["127.0.0.1", "2130706433", "0x7f.1", "127.1", "127。0。0。1"])
def test_allowed_address_is_reached_in_every_spelling(canary: Server, call: SendRequest, host: str) -> None:
    assert call(f"http://{host}:{canary.port}/").status == 200

    assert canary.connections == 1


def test_each_new_connection_is_checked(serve: StartServer, resolver: FakeResolver, call: SendRequest) -> None:
    server = serve(build_response(Connection="close"))
    resolver.names["a.test"] = [["127.0.0.1"], ["::1"]]

    assert call(server.url(host="a.test")).status == 200
    with pytest.raises(AddressRefused):
        call(server.url(host="a.test"))

    assert server.connections == 1


def test_host_header_is_the_host_name(serve: StartServer, resolver: FakeResolver, call: SendRequest) -> None:
    server = serve()
    resolver.names["a.test"] = [["127.0.0.1"]]

    call(server.url(host="a.test"))

    assert f"\r\nHost: a.test:{server.port}\r\n".encode() in server.requests[0]


def test_unresponsive_address_leaves_time_for_the_next(
    monkeypatch: pytest.MonkeyPatch, resolver: FakeResolver, call: SendRequest
) -> None:
    resolver.names["a.test"] = [["2606:4700:4700::1111", "1.1.1.1"]]
    attempts: list[tuple[str, float | None]] = []

    def connect(self: socket.socket, target: Any) -> None:
        attempts.append((target[0], self.gettimeout()))
        raise TimeoutError

    monkeypatch.setattr(socket.socket, "connect", connect)
    with pytest.raises(Unreachable):
        call("http://a.test/", milliseconds=60_000)

    assert [address for address, _ in attempts] == ["2606:4700:4700::1111", "1.1.1.1"]
    assert attempts[0][1] == pytest.approx(1, abs=0.4)  # half of the two seconds for both
    assert attempts[1][1] == pytest.approx(2, abs=0.4)  # the remaining time


def test_next_address_is_tried_when_one_refuses(
    monkeypatch: pytest.MonkeyPatch, serve: StartServer, resolver: FakeResolver, call: SendRequest, settings: Settings
) -> None:
    settings.GATEWAY_OUTGOING_ALLOW = [ip_network("127.0.0.0/8"), ip_network("::1")]
    resolver.names["a.test"] = [["::1", "127.0.0.1"]]
    server, connect = serve(), socket.socket.connect

    def refuse_ipv6(self: socket.socket, target: Any) -> None:
        if target[0] == "::1":
            raise ConnectionRefusedError
        connect(self, target)

    monkeypatch.setattr(socket.socket, "connect", refuse_ipv6)
    assert call(server.url(host="a.test")).status == 200


def _send_slowly(head: bytes, server: list[Server]) -> Iterator[bytes]:
    yield head
    while not server[0].stopped.wait(0.05):
        yield b"x"


@pytest.mark.parametrize(
    "head",
    [b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", b"HTTP/1.1 200 OK\r\nX-Drip: ", b"HTTP/1.1 200 "],
    ids=["body", "head", "status line"],
)
def test_slow_response_ends_at_the_deadline(serve: StartServer, call: SendRequest, head: bytes) -> None:
    servers: list[Server] = []
    servers.append(serve(lambda _: _send_slowly(head, servers)))
    start = time.monotonic()

    with pytest.raises(TimedOut):
        call(servers[0].url(), milliseconds=300)

    assert time.monotonic() - start > 0.25  # the server would send for ever


def test_silent_server_is_left_at_the_deadline(
    serve: StartServer, call: SendRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "READ_SECONDS", 60.0)
    server = serve(lambda _: iter(()))
    start = time.monotonic()

    with pytest.raises(TimedOut):
        call(server.url(), milliseconds=200)

    assert time.monotonic() - start < 30


def test_unread_request_body_ends_at_the_deadline(call: SendRequest) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, pytest.raises(TimedOut):
        call(f"http://127.0.0.1:{listener.getsockname()[1]}/", "POST", body=bytes(30_000_000), milliseconds=200)


def test_request_after_its_deadline_is_not_sent(serve: StartServer, call: SendRequest) -> None:
    server = serve()

    with pytest.raises(TimedOut):
        call(server.url(), milliseconds=-1)

    assert server.connections == 0


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 200_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: y\r\n" % number for number in range(20_000)) + b"\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 10_000,
    ],
    ids=["one", "many", "informational"],
)
def test_endless_headers_are_too_large(serve: StartServer, call: SendRequest, head: bytes) -> None:
    server = serve(head)

    with pytest.raises(TooLarge):
        call(server.url())


def test_long_headers_and_body_are_accepted(serve: StartServer, call: SendRequest) -> None:
    server = serve(build_response(bytes(300_000), X_Long="x" * 50_000))

    assert len(call(server.url()).body) == 300_000


@pytest.mark.parametrize(
    "response",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nBad Header: x\r\n\r\n",
    ],
    ids=["ssh", "two lengths", "chunk", "upgrade", "header"],
)
def test_invalid_http_is_a_broken_answer(serve: StartServer, call: SendRequest, response: bytes) -> None:
    server = serve(response)

    with pytest.raises(BrokenAnswer):
        call(server.url())


@pytest.mark.parametrize(
    ("response", "body"),
    [
        (b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok", b"ok"),
        (b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + build_response(), b"ok"),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nup to the end", b"up to the end"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n2;x=y\r\nok\r\n0\r\nX-After: 1\r\n\r\n", b"ok"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2   \r\nok\r\n0\r\n\r\n", b"ok"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
    ],
    ids=["line feeds", "early hints", "no length", "chunks", "padded chunks", "no content"],
)
def test_unusual_http_is_read(serve: StartServer, call: SendRequest, response: bytes, body: bytes) -> None:
    server = serve(lambda _: iter([response]))

    answer = call(server.url())

    assert answer.body == body
    assert not {"link", "x-after"} & answer.headers.keys()


def test_headers_of_one_name_are_joined_without_the_space_around_them(serve: StartServer, call: SendRequest) -> None:
    server = serve(b"HTTP/1.1 200 OK\r\nX-One:  a \r\nx-one: \xe9\r\nX-Two:\r\nContent-Length: 0\r\n\r\n")

    headers = call(server.url()).headers

    assert (headers["x-one"], headers["x-two"]) == ("a, é", "")


def test_endless_part_without_a_body_is_a_broken_answer(serve: StartServer, call: SendRequest) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    server = serve(head + b"2;" + b"x" * 200_000 + b"\r\nok\r\n0\r\n\r\n")

    with pytest.raises(BrokenAnswer):
        call(server.url())


def test_closed_port_is_unreachable(call: SendRequest) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    with pytest.raises(Unreachable):
        call(f"http://127.0.0.1:{port}/")


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    return create_certificate(tmp_path, "a.test")


@pytest.fixture
def tls(certificate: Path, serve: StartServer, resolver: FakeResolver) -> tuple[Server, list[str | None]]:
    """Start a server with that certificate as a.test and b.test. Returns it and the requested names (SNI)."""
    requested_names: list[str | None] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    context.sni_callback = lambda _, name, __: requested_names.append(name)
    resolver.names |= {"a.test": [["127.0.0.1"]], "b.test": [["127.0.0.1"]]}
    return serve(context=context), requested_names


def test_self_signed_certificate_is_not_trusted(tls: tuple[Server, list[str | None]], call: SendRequest) -> None:
    server, _ = tls

    with pytest.raises(Untrusted):
        call(server.url(host="a.test", scheme="https"))

    assert server.requests == []


def test_trusted_certificate_is_valid_for_its_name_only(
    tls: tuple[Server, list[str | None]], call: SendRequest, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, requested_names = tls
    context = httpx2.create_ssl_context(trust_env=False)  # only this test trusts the certificate
    context.load_verify_locations(certificate)
    monkeypatch.setattr(client, "get_ssl_context", lambda: context)

    assert call(server.url(host="a.test", scheme="https")).body == b"ok"
    assert call(server.url(host="a.test", scheme="https")).body == b"ok"
    with pytest.raises(Untrusted):
        call(server.url(host="b.test", scheme="https"))

    assert requested_names == ["a.test", "b.test"]  # two calls shared one handshake
    assert server.connections == 2


def test_server_without_tls_is_not_trusted(serve: StartServer, call: SendRequest) -> None:
    server = serve(greeting=b"220 mail.test ESMTP\r\n")

    with pytest.raises(Untrusted):
        call(server.url(scheme="https"), milliseconds=20_000)


def test_missing_tls_handshake_ends_at_the_deadline(call: SendRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "CONNECT_SECONDS", 60.0)
    client.get_ssl_context()  # loading the certificates takes time
    start = time.monotonic()

    with socket.create_server(("127.0.0.1", 0)) as listener, pytest.raises(TimedOut):
        call(f"https://127.0.0.1:{listener.getsockname()[1]}/", milliseconds=200)

    assert time.monotonic() - start < 30


def test_answer_that_was_there_before_the_request_is_not_read(
    call: Callable[..., Response], serve: Callable[..., Server]
) -> None:
    server = serve(build_response(b"first") + build_response(b"of no request"))

    assert [call(server.url()).body for _ in range(3)] == [b"first"] * 3

    assert server.connections == 3
