"""A fake internet for tests: host names that resolve to servers on loopback, and nothing else.

Only the names are fake. The product's own code resolves, checks, connects and reads.
"""

import socket
import ssl
from collections.abc import Callable, Iterator
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import orjson
import pytest

from core.http import client
from tests.support.upstreams.http_servers import ResponseBytes, Server, build_response, create_certificate

LOOPBACK = [ip_network("127.0.0.0/8")]

ARTICLE = b"""<!doctype html>
<html lang="en">
<head><title>Example Domain</title><meta property="article:published_time" content="2026-02-03T10:00:00Z"></head>
<body><nav><a href="/menu">Menu</a></nav>
<article><h1>Example Domain</h1>
<p>This domain is for use in illustrative examples in documents, without needing permission.</p>
<p>Avoid use in operations, and read <a href="/more">more about it</a> where you have the time to do so.</p></article>
<script>document.title = "No script is run"</script></body></html>"""

RESULTS = orjson.dumps(
    {
        "results": [
            {"title": f"Page {number}", "url": f"https://example.com/{number}", "content": f"What page {number} says."}
            for number in range(1, 9)
        ]
    }
)


class FakeInternet:
    """Hosts by name, with a page for each path. Other paths answer 404."""

    def __init__(self) -> None:
        self.pages: dict[str, Callable[[bytes], ResponseBytes]] = {}
        self.requests: list[bytes] = []
        self.ports: dict[tuple[str, int], int] = {}
        self._resolve = socket.getaddrinfo
        self._servers: list[Server] = []

    def put(self, address: str, response: ResponseBytes | Callable[[bytes], ResponseBytes] | None = None) -> None:
        """Serve a response at host/path, such as example.com/a, over plain HTTP. The default is an article."""
        response = build_response(ARTICLE, Content_Type="text/html; charset=utf-8") if response is None else response
        self.pages[address] = response if callable(response) else lambda _: response
        host = address.partition("/")[0]
        self.ports.setdefault((host, 80), self._serve(host))

    def secure(self, host: str, certificate: Path) -> None:
        """Serve a host over HTTPS, too, and trust its certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        self.ports[host, 443] = self._serve(host, context=context)
        client.get_ssl_context().load_verify_locations(certificate)

    def _serve(self, host: str, **options: Any) -> int:
        def respond(request: bytes) -> ResponseBytes:
            self.requests.append(request)
            path = request.split()[1].decode().partition("?")[0]
            page = self.pages.get(f"{host}{path}")
            return page(request) if page else build_response(b"Nothing here.", "404 Not Found")

        self._servers.append(Server(respond, **options))
        return self._servers[-1].port

    def getaddrinfo(self, host: bytes | str, port: int, *args: Any, **kwargs: Any) -> list[Any]:
        """Resolve the fake names to loopback and the ports of their servers, and addresses to themselves."""
        name = host.decode() if isinstance(host, bytes) else host
        if (name, port) in self.ports:
            return self._resolve("127.0.0.1", self.ports[name, port], *args, **kwargs)
        try:
            ip_address(name)
        except ValueError:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known") from None
        return self._resolve(name, port, *args, **kwargs)

    def stop(self) -> None:
        client.close_idle_connections()
        for server in self._servers:
            server.stop()


@pytest.fixture
def fake_internet(monkeypatch: pytest.MonkeyPatch, settings: Any, warm_extractor: None) -> Iterator[FakeInternet]:
    """Return a fake internet that web visits and upstream calls may reach."""
    settings.GATEWAY_OUTGOING_ALLOW = settings.WEB_VISIT_ALLOW = LOOPBACK
    settings.GATEWAY_OUTGOING_PORTS = [80, 443]
    monkeypatch.setattr(client, "_pools", {})
    internet = FakeInternet()
    monkeypatch.setattr(socket, "getaddrinfo", internet.getaddrinfo)
    yield internet
    internet.stop()


@pytest.fixture
def search_endpoint(fake_internet: FakeInternet, settings: Any) -> FakeInternet:
    """Return a fake internet with the SearXNG of the settings, which finds eight pages."""
    fake_internet.put("search.test/search", build_response(RESULTS, Content_Type="application/json"))
    settings.WEB_SEARCH_KIND, settings.WEB_SEARCH_URL = "searxng", "http://search.test/search"
    return fake_internet


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return create_certificate(tmp_path_factory.mktemp("certificate"), "example.com")


@pytest.fixture
def internet_for_examples(search_endpoint: FakeInternet, certificate: Path) -> FakeInternet:
    """Return a fake internet with everything that the examples of the shipped catalog request."""
    search_endpoint.put("example.com/")
    search_endpoint.secure("example.com", certificate)
    return search_endpoint
