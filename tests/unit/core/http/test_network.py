"""What the sockets hold to: the checked address, the deadline, the head's size, the certificate."""

import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from core.http import AddressRefused, BadUrl, BrokenAnswer, Response, TimedOut, TooLarge, Unreachable, Untrusted, client
from tests.support.http_servers import Server, answer
from tests.unit.core.http.conftest import Resolver

Call = Callable[..., Response]
Serve = Callable[..., Server]

SPELLINGS = [
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "2130706433",
    "0x7f.1",
    "0x7f000001",
    "0X7F.0.0.0x1",
    "017700000001",
    "0177.0.0.1",
    "0",
    "0.0.0.0",
    "127.0.0.1.",
    "localhost",
    "LocalHost",
    "localhost.",
    "%31%32%37.0.0.1",
    "127%2e0%2e0%2e1",
    "127.0.0.1%00.a.test",
    "127。0。0。1",
    "127．0．0．1",
    "①②⑦.0.0.1",
    "１２７.0.0.1",
    "١٢٧.0.0.1",
    "ⓛocalhost",
    "[::1]",
    "[::]",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
    "[64:ff9b::127.0.0.1]",
    "[2002:7f00:1::]",
    "[::1%25lo]",
    "[fe80::1%lo]",
    "a.test@127.0.0.1",
    "a.test:80@127.0.0.1",
    "127.0.0.1\\@a.test",
    "127.0.0.1 ",
    "127.0.0.1\t",
    "127.0.0.1#",
    "[127.0.0.1]",
    "[::1",
]


@pytest.mark.parametrize("host", SPELLINGS)
def test_no_spelling_of_loopback_reaches_the_canary(canary: Server, call: Call, host: str) -> None:
    with pytest.raises((AddressRefused, BadUrl)):
        call(f"http://{host}:{canary.port}/")

    assert canary.connections == 0


@pytest.mark.parametrize("host", ["127.0.0.1", "2130706433", "0x7f.1", "127.1", "127。0。0。1"])
def test_an_allowed_address_is_reached_under_any_spelling(
    canary: Server, call: Call, loopback_allowed: None, host: str
) -> None:
    assert call(f"http://{host}:{canary.port}/").status == 200

    assert canary.connections == 1


def test_the_connection_goes_to_the_address_that_was_checked(
    monkeypatch: pytest.MonkeyPatch, resolver: Resolver, call: Call
) -> None:
    resolver.names["rebinding.test"] = [["1.1.1.1"], ["127.0.0.1"]]
    reached: list[Any] = []

    def connect(self: socket.socket, target: Any) -> None:
        reached.append(target)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket.socket, "connect", connect)
    with pytest.raises(Unreachable):
        call("http://rebinding.test/")

    assert reached == [("1.1.1.1", 80)]
    assert resolver.queries == ["rebinding.test"]  # asked once; the next answer would have been the canary's


@pytest.mark.parametrize("flips", [[["127.0.0.1"], ["1.1.1.1"]], [["1.1.1.1", "127.0.0.1"]], [["::1"]]])
def test_a_name_that_flips_to_loopback_is_refused(
    canary: Server, resolver: Resolver, call: Call, flips: list[list[str]]
) -> None:
    resolver.names["rebinding.test"] = flips

    with pytest.raises(AddressRefused):
        call(canary.url(host="rebinding.test"))

    assert canary.connections == 0


def test_each_new_connection_is_checked_anew(
    serve: Serve, resolver: Resolver, call: Call, loopback_allowed: None
) -> None:
    server = serve(answer(Connection="close"))
    resolver.names["a.test"] = [["127.0.0.1"], ["::1"]]

    assert call(server.url(host="a.test")).status == 200
    with pytest.raises(AddressRefused):
        call(server.url(host="a.test"))

    assert server.connections == 1


def test_the_host_header_names_the_host_not_the_address(
    serve: Serve, resolver: Resolver, call: Call, loopback_allowed: None
) -> None:
    server = serve()
    resolver.names["a.test"] = [["127.0.0.1"]]

    call(server.url(host="a.test"))

    assert f"\r\nHost: a.test:{server.port}\r\n".encode() in server.requests[0]


def test_an_address_that_does_not_answer_leaves_time_for_the_next(
    monkeypatch: pytest.MonkeyPatch, resolver: Resolver, call: Call
) -> None:
    resolver.names["a.test"] = [["2606:4700:4700::1111", "1.1.1.1"]]
    tried: list[tuple[str, float | None]] = []

    def connect(self: socket.socket, target: Any) -> None:
        tried.append((target[0], self.gettimeout()))
        raise TimeoutError

    monkeypatch.setattr(socket.socket, "connect", connect)
    with pytest.raises(Unreachable):
        call("http://a.test/", milliseconds=60_000)

    assert [address for address, _ in tried] == ["2606:4700:4700::1111", "1.1.1.1"]
    assert tried[0][1] == pytest.approx(1, abs=0.2)  # half of the two seconds for all
    assert tried[1][1] == pytest.approx(2, abs=0.2)  # what was left


def test_the_next_address_is_tried_when_one_refuses(
    monkeypatch: pytest.MonkeyPatch, serve: Serve, resolver: Resolver, call: Call, settings: Settings
) -> None:
    settings.GATEWAY_OUTGOING_ALLOW = [ip_network("127.0.0.0/8"), ip_network("::1")]
    resolver.names["a.test"] = [["::1", "127.0.0.1"]]
    server, connect = serve(), socket.socket.connect

    def only_ipv4(self: socket.socket, target: Any) -> None:
        if target[0] == "::1":
            raise ConnectionRefusedError
        connect(self, target)

    monkeypatch.setattr(socket.socket, "connect", only_ipv4)
    assert call(server.url(host="a.test")).status == 200


def _dripped(head: bytes, server: list[Server]) -> Iterator[bytes]:
    yield head
    while not server[0].stopped.wait(0.05):
        yield b"x"


@pytest.mark.parametrize(
    "head",
    [b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", b"HTTP/1.1 200 OK\r\nX-Drip: ", b""],
    ids=["body", "head", "status line"],
)
def test_a_drip_is_cut_at_the_deadline(serve: Serve, call: Call, loopback_allowed: None, head: bytes) -> None:
    servers: list[Server] = []
    servers.append(serve(lambda _: _dripped(head, servers)))
    began = time.monotonic()

    with pytest.raises(TimedOut):
        call(servers[0].url(), milliseconds=300)

    assert time.monotonic() - began > 0.25  # a drip never ends by itself


def test_a_server_that_says_nothing_is_cut_at_the_deadline(
    serve: Serve, call: Call, loopback_allowed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "READ_SECONDS", 60.0)
    server = serve(lambda _: iter(()))
    began = time.monotonic()

    with pytest.raises(TimedOut):
        call(server.url(), milliseconds=200)

    assert time.monotonic() - began < 30


def test_a_body_that_nobody_reads_is_cut_at_the_deadline(call: Call, loopback_allowed: None) -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf, pytest.raises(TimedOut):
        call(f"http://127.0.0.1:{deaf.getsockname()[1]}/", "POST", body=bytes(30_000_000), milliseconds=200)


def test_a_call_after_its_deadline_sends_nothing(serve: Serve, call: Call, loopback_allowed: None) -> None:
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
def test_a_head_without_end_is_too_large(serve: Serve, call: Call, loopback_allowed: None, head: bytes) -> None:
    server = serve(head)

    with pytest.raises(TooLarge):
        call(server.url())


def test_a_long_head_and_a_longer_body_are_fine(serve: Serve, call: Call, loopback_allowed: None) -> None:
    server = serve(answer(bytes(300_000), X_Long="x" * 50_000))

    assert len(call(server.url()).body) == 300_000


@pytest.mark.parametrize(
    "said",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nBad Header: x\r\n\r\n",
    ],
    ids=["ssh", "two lengths", "chunk", "upgrade", "header"],
)
def test_what_is_not_http_is_a_broken_answer(serve: Serve, call: Call, loopback_allowed: None, said: bytes) -> None:
    server = serve(said)

    with pytest.raises(BrokenAnswer):
        call(server.url())


def test_a_port_where_nobody_listens_is_unreachable(call: Call, loopback_allowed: None) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]

    with pytest.raises(Unreachable):
        call(f"http://127.0.0.1:{port}/")


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A self-signed certificate of a.test and its key, in one file."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate")
    made, key = tmp_path / "a.test.pem", tmp_path / "key.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=a.test"
    subprocess.run(
        [*command.split(), "-addext", "subjectAltName=DNS:a.test", "-keyout", key, "-out", made],
        check=True,
        capture_output=True,
    )
    made.write_text(made.read_text() + key.read_text())
    return made


@pytest.fixture
def tls(certificate: Path, serve: Serve, resolver: Resolver, loopback_allowed: None) -> tuple[Server, list[str | None]]:
    """A server with that certificate, known as a.test and b.test, and the names that it was asked for (SNI)."""
    asked: list[str | None] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    context.sni_callback = lambda _, name, __: asked.append(name)
    resolver.names |= {"a.test": [["127.0.0.1"]], "b.test": [["127.0.0.1"]]}
    return serve(context=context), asked


def test_a_certificate_that_nobody_vouches_for_is_not_trusted(tls: tuple[Server, list[str | None]], call: Call) -> None:
    server, _ = tls

    with pytest.raises(Untrusted):
        call(server.url(host="a.test", scheme="https"))

    assert server.requests == []


def test_a_trusted_certificate_holds_for_its_own_name_only(
    tls: tuple[Server, list[str | None]], call: Call, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, asked = tls
    monkeypatch.setattr(client, "_transports", {})  # a context that trusts this certificate is for this test only
    client.get_transport()._pool._ssl_context.load_verify_locations(certificate)

    assert call(server.url(host="a.test", scheme="https")).body == b"ok"
    assert call(server.url(host="a.test", scheme="https")).body == b"ok"
    with pytest.raises(Untrusted):
        call(server.url(host="b.test", scheme="https"))

    assert asked == ["a.test", "b.test"]  # one handshake served two calls
    assert server.connections == 2
    client.get_transport().close()


def test_a_server_that_speaks_no_tls_is_not_trusted(serve: Serve, call: Call, loopback_allowed: None) -> None:
    server = serve(greeting=b"220 mail.test ESMTP\r\n")

    with pytest.raises(Untrusted):
        call(server.url(scheme="https"), milliseconds=500)


def test_a_server_that_never_shakes_hands_is_cut_at_the_deadline(
    call: Call, loopback_allowed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "CONNECT_SECONDS", 60.0)
    client.get_transport()
    began = time.monotonic()

    with socket.create_server(("127.0.0.1", 0)) as deaf, pytest.raises(TimedOut):
        call(f"https://127.0.0.1:{deaf.getsockname()[1]}/", milliseconds=200)

    assert time.monotonic() - began < 30
