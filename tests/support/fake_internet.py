"""The world outside, as tests have it: names that resolve to servers on loopback, and nothing else out there.

The names are the one thing that is made up; how they are resolved, checked, connected to and read is the product's.
"""

import shutil
import socket
import ssl
import subprocess
from collections.abc import Callable, Iterator
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import orjson
import pytest

from core.http import client
from tests.support.http_servers import Answer, Server, answer

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


class Outside:
    """Hosts by name, each with a page for each path; paths without one answer 404."""

    def __init__(self) -> None:
        self.pages: dict[str, Callable[[bytes], Answer]] = {}
        self.requests: list[bytes] = []
        self.ports: dict[tuple[str, int], int] = {}
        self._resolve = socket.getaddrinfo
        self._servers: list[Server] = []

    def put(self, address: str, said: Answer | Callable[[bytes], Answer] | None = None) -> None:
        """Have host/path, such as example.com/a, answer these bytes over plain http: by default an article."""
        said = answer(ARTICLE, Content_Type="text/html; charset=utf-8") if said is None else said
        self.pages[address] = said if callable(said) else lambda _: said
        host = address.partition("/")[0]
        self.ports.setdefault((host, 80), self._serve(host))

    def secure(self, host: str, certificate: Path) -> None:
        """Have a host answer https as well, under a certificate that is then trusted."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        self.ports[host, 443] = self._serve(host, context=context)
        client.get_transport(tuple(LOOPBACK))._pool._ssl_context.load_verify_locations(certificate)

    def _serve(self, host: str, **options: Any) -> int:
        def answers(request: bytes) -> Answer:
            self.requests.append(request)
            path = request.split()[1].decode().partition("?")[0]
            page = self.pages.get(f"{host}{path}")
            return page(request) if page else answer(b"Nothing here.", "404 Not Found")

        self._servers.append(Server(answers, **options))
        return self._servers[-1].port

    def getaddrinfo(self, host: bytes | str, port: int, *args: Any, **kwargs: Any) -> list[Any]:
        """Resolve the names of this world to loopback and its servers' ports, addresses to themselves."""
        name = host.decode() if isinstance(host, bytes) else host
        if (name, port) in self.ports:
            return self._resolve("127.0.0.1", self.ports[name, port], *args, **kwargs)
        try:
            ip_address(name)
        except ValueError:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known") from None
        return self._resolve(name, port, *args, **kwargs)

    def stop(self) -> None:
        for transport in client._transports.values():
            transport.close()
        for server in self._servers:
            server.stop()


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[Outside]:
    """A world that both may reach: what a model visits, and what the administrator set up."""
    settings.GATEWAY_OUTGOING_ALLOW = settings.WEB_VISIT_ALLOW = LOOPBACK
    settings.GATEWAY_OUTGOING_PORTS = [80, 443]
    monkeypatch.setattr(client, "_transports", {})
    world = Outside()
    monkeypatch.setattr(socket, "getaddrinfo", world.getaddrinfo)
    yield world
    world.stop()


@pytest.fixture
def search_endpoint(outside: Outside, settings: Any) -> Outside:
    """A world with a SearXNG that the settings name, and that finds eight pages."""
    outside.put("search.test/search", answer(RESULTS, Content_Type="application/json"))
    settings.WEB_SEARCH_KIND, settings.WEB_SEARCH_URL = "searxng", "http://search.test/search"
    return outside


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate of example.com and its key, in one file."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate")
    folder = tmp_path_factory.mktemp("certificate")
    made, key = folder / "example.com.pem", folder / "key.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=example.com"
    subprocess.run(
        [*command.split(), "-addext", "subjectAltName=DNS:example.com", "-keyout", key, "-out", made],
        check=True,
        capture_output=True,
    )
    made.write_text(made.read_text() + key.read_text())
    return made


@pytest.fixture
def whole_world(search_endpoint: Outside, certificate: Path) -> Outside:
    """A world in which every example of the shipped catalog finds what it asks for."""
    search_endpoint.put("example.com/")
    search_endpoint.secure("example.com", certificate)
    return search_endpoint
