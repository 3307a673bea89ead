"""Fixtures of the outgoing client: servers on loopback, a resolver that lies, a call in short."""

import socket
from collections.abc import Callable, Iterator
from ipaddress import ip_network
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from core.deadlines import Deadline
from core.http import Response, client, request
from tests.support.http_servers import Answer, Server, answer


@pytest.fixture(autouse=True)
def _as_shipped(settings: Settings) -> Iterator[None]:
    """The settings' defaults, and no connection left from another test."""
    settings.GATEWAY_OUTGOING_ALLOW = []
    settings.GATEWAY_OUTGOING_PORTS = [80, 443]
    yield
    _close_connections()


def _close_connections() -> None:
    for transport in client._transports.values():
        transport.close()  # it stays usable: making one takes a tenth of a second


@pytest.fixture
def loopback_allowed(settings: Settings) -> None:
    """An administrator allows 127.0.0.0/8 (not ::1)."""
    settings.GATEWAY_OUTGOING_ALLOW = [ip_network("127.0.0.0/8")]


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    """Start servers that answer as told; they stop with the test."""
    started: list[Server] = []

    def start(answers: Callable[[bytes], Answer] | bytes | None = None, **options: Any) -> Server:
        said = answer() if answers is None else answers
        started.append(Server((lambda _: said) if isinstance(said, bytes) else said, **options))
        return started[-1]

    yield start
    _close_connections()
    for server in started:
        server.stop()


@pytest.fixture
def canary(serve: Callable[..., Server], settings: Settings) -> Server:
    """A server on every loopback address, on a port that is usual: only its address can have it refused."""
    server = serve()
    settings.GATEWAY_OUTGOING_PORTS = [server.port]
    return server


class Resolver:
    """Names and what they resolve to, one answer a query; the last one stays. No name server is asked for others."""

    def __init__(self) -> None:
        self.names: dict[str, list[list[str]]] = {"localhost": [["127.0.0.1", "::1"]]}
        self.queries: list[str] = []
        self._real = socket.getaddrinfo

    def __call__(self, host: bytes | str, port: int, *args: Any, **kwargs: Any) -> list[Any]:
        name = host.decode() if isinstance(host, bytes) else host
        self.queries.append(name)
        if name.rstrip(".") not in self.names:  # an address under any spelling the system reads, or unknown
            return self._real(host, port, *args, **kwargs | {"flags": socket.AI_NUMERICHOST})
        answers = self.names[name.rstrip(".")]
        found = answers.pop(0) if len(answers) > 1 else answers[0]
        if not found:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [entry for address in found for entry in self._real(address, port, *args, **kwargs)]


@pytest.fixture(autouse=True)
def resolver(monkeypatch: pytest.MonkeyPatch) -> Resolver:
    """The resolver under the test's control: resolver.names["a.test"] = [["192.0.2.1"], ["127.0.0.1"]]."""
    fake = Resolver()
    monkeypatch.setattr(socket, "getaddrinfo", fake)
    return fake


@pytest.fixture
def call() -> Callable[..., Response]:
    """Send a request that may take five seconds: call(url), call(url, "POST", body=b"…")."""

    def send(url: str, method: str = "GET", *, milliseconds: int = 5000, **options: Any) -> Response:
        return request(method, url, deadline=Deadline.after(milliseconds=milliseconds), **options)

    return send
