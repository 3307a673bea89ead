"""Chat processes over the database of a test, and streams of their turns."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import orjson
from django.conf import settings

from tests.support.servers.environment import build_environment
from tests.support.servers.processes import (
    PLAIN_HTTP,
    STARTS_WITHIN,
    Process,
    Server,
    answers,
    eventually,
    free_port,
)
from tests.support.servers.stores import Store

Event = tuple[str, str, dict[str, Any]]  # id, type, data


@dataclass
class ChatServer:
    """A running chat, and a key with which a service calls it for any subject."""

    port: int
    process: Process
    key: str

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def is_alive(self) -> bool:
        """Whether /healthz answers."""
        assert self.process.inner.poll() is None, f"The chat ended:\n{self.process.output}"
        return answers(f"{self.url}/healthz")

    def client(self, subject: str) -> httpx2.Client:
        headers = {"Authorization": f"Bearer {self.key}", "Gateway-Subject": subject}
        return httpx2.Client(base_url=f"{self.url}/chat/api/", headers=headers, timeout=60, **PLAIN_HTTP)

    def send(self, subject: str, message: str, **body: Any) -> "list[Event]":
        """Send a message and return all events of its turn."""
        with self.open(subject, message, **body) as events:
            return list(events)

    @contextmanager
    def open(self, subject: str, message: str, **body: Any) -> Iterator[Iterator[Event]]:
        """Send a message and yield its events as they come."""
        with self.client(subject) as http, http.stream("POST", "stream", json={"message": message, **body}) as response:
            assert response.status_code == 200, response.read()
            yield read_events(response.iter_bytes())

    @contextmanager
    def resume(self, subject: str, event_id: str) -> Iterator[Iterator[Event]]:
        """Yield the events after one."""
        with (
            self.client(subject) as http,
            http.stream("GET", "stream", headers={"Last-Event-ID": event_id}) as response,
        ):
            assert response.status_code == 200, response.read()
            yield read_events(response.iter_bytes())


def read_events(chunks: Iterator[bytes]) -> Iterator[Event]:
    """Yield the events of a stream. One that breaks simply ends."""
    rest = b""
    with suppress(httpx2.TransportError):
        for chunk in chunks:
            *blocks, rest = (rest + chunk).split(b"\n\n")
            for block in blocks:
                fields = dict(line.split(": ", 1) for line in block.decode().split("\n") if not line.startswith(":"))
                if "event" in fields:
                    yield fields["id"], fields["event"], orjson.loads(fields["data"])


@contextmanager
def run_chat(
    store: Store, folder: Path, gateway: Server, *, key: str, variables: Mapping[str, str] = {}
) -> Iterator[ChatServer]:
    """Run a chat as `make run` does, for a gateway. `key` is the chat's own; services use it here, too."""
    port = free_port()
    environment = build_environment(store, folder, CHAT_GATEWAY_URL=gateway.url, CHAT_GATEWAY_KEY=key, **variables)
    command = [sys.executable, "-m", "config.chat.serve", "--host", "127.0.0.1", "--port", str(port)]
    server = ChatServer(port, Process(command, environment=environment, folder=settings.BASE_DIR), key)
    with server.process.stopped_afterwards():
        eventually(server.is_alive, within=STARTS_WITHIN, what="the chat's start")
        yield server
