"""An HTTP service in a process of its own that applies each write it gets, and counts how often.

Run by the crash tests: `python -m tests.support.servers.applying_upstream PORT`. A write with an idempotency key that
it knows gets the first answer again.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2
from django.conf import settings

from tests.support.servers.processes import PLAIN_HTTP, Process, eventually, free_port

COUNTS_PATH = "/applied"
KEY_HEADER = "Idempotency-Key"


class ApplyingUpstream:
    """The running service, as tests see it."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"

    def count_applied(self) -> dict[str, int]:
        """Return how often each product was ordered."""
        counts: dict[str, int] = httpx2.get(self.url + COUNTS_PATH, **PLAIN_HTTP).json()
        return counts

    def is_ready(self) -> bool:
        with suppress(httpx2.TransportError):
            return self.count_applied() == {}
        return False


@contextmanager
def run_upstream() -> Iterator[ApplyingUpstream]:
    port = free_port()
    command = [sys.executable, "-m", "tests.support.servers.applying_upstream", str(port)]
    process = Process(command, environment={"PATH": ""}, folder=settings.BASE_DIR)
    try:
        upstream = ApplyingUpstream(port)
        eventually(upstream.is_ready, within=20, what="the upstream's start")
        yield upstream
    finally:
        process.kill()


class _Handler(BaseHTTPRequestHandler):
    applied: Counter[str] = Counter()
    answers: dict[str, dict[str, Any]] = {}  # by idempotency key
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet

    def do_GET(self) -> None:
        self._send(self.applied)

    def do_POST(self) -> None:
        product = json.loads(self.rfile.read(int(self.headers["content-length"])))["sku"]
        key = self.headers.get(KEY_HEADER, "")
        if key not in self.answers:
            self.applied[product] += 1
        answer = {"id": f"{product}-{self.applied[product]}"}
        self._send(self.answers.setdefault(key, answer) if key else answer)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""

    def _send(self, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        with suppress(ConnectionError):  # the gateway was killed
            self.wfile.write(body)


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), _Handler).serve_forever()
