"""Fixtures for the outgoing client: loopback servers, a fake resolver, and a short way to send a request."""

import socket
from collections.abc import Callable, Iterator
from ipaddress import ip_network
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from core.database.deadlines import Deadline
from core.http import Response, client, request
from tests.support.upstreams.fake_resolver import FakeResolver
from tests.support.upstreams.http_servers import ResponseBytes, Server, build_response


@pytest.fixture(autouse=True)
def _default_settings(settings: Settings) -> Iterator[None]:
    """Use the default settings, and close all connections after the test."""
    settings.GATEWAY_OUTGOING_ALLOW = []
    settings.GATEWAY_OUTGOING_PORTS = [80, 443]
    yield
    client.close_idle_connections()


@pytest.fixture
def loopback_allowed(settings: Settings) -> None:
    """Allow 127.0.0.0/8, but not ::1."""
    settings.GATEWAY_OUTGOING_ALLOW = [ip_network("127.0.0.0/8")]


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    servers: list[Server] = []

    def start(answers: Callable[[bytes], ResponseBytes] | bytes | None = None, **options: Any) -> Server:
        response = build_response() if answers is None else answers
        servers.append(Server((lambda _: response) if isinstance(response, bytes) else response, **options))
        return servers[-1]

    yield start
    client.close_idle_connections()
    for server in servers:
        server.stop()


@pytest.fixture
def canary(serve: Callable[..., Server], settings: Settings) -> Server:
    """Start a server on every loopback address, on an allowed port, so that only its address can be refused."""
    server = serve()
    settings.GATEWAY_OUTGOING_PORTS = [server.port]
    return server


@pytest.fixture(autouse=True)
def resolver(monkeypatch: pytest.MonkeyPatch) -> FakeResolver:
    """Replace the resolver: resolver.names["a.test"] = [["192.0.2.1"], ["127.0.0.1"]]."""
    fake = FakeResolver()
    monkeypatch.setattr(socket, "getaddrinfo", fake)
    return fake


@pytest.fixture
def call() -> Callable[..., Response]:
    """Return a function that sends a request within five seconds: call(url), call(url, "POST", body=b"…")."""

    def send(url: str, method: str = "GET", *, milliseconds: int = 5000, **options: Any) -> Response:
        return request(method, url, deadline=Deadline.after(milliseconds=milliseconds), **options)

    return send
