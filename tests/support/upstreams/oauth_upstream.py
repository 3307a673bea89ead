"""An upstream with a token endpoint, on loopback, and connections to it."""

import json
import time
from dataclasses import dataclass
from itertools import count
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from django.utils import timezone

from core import http
from core.database.deadlines import Deadline
from gateway.executors.base import UpstreamCall
from gateway.executors.http.request_builder import BuiltRequest
from gateway.executors.remote.credentials import apply_credentials
from registry.catalog import connections
from registry.catalog.connections import ConnectionConfig
from registry.models import Connection
from tests.support.rows.sample_ops import build_op, build_upstream_call
from tests.support.upstreams.http_servers import Server, build_response


@dataclass(frozen=True)
class ReceivedRequest:
    """A request as a server got it: header names are lower case."""

    method: str
    target: str
    headers: dict[str, str]
    body: str

    @property
    def query(self) -> list[tuple[str, str]]:
        return parse_qsl(urlsplit(self.target).query, keep_blank_values=True)

    @property
    def form(self) -> dict[str, str]:
        return dict(parse_qsl(self.body))


def parse_request(raw: bytes) -> ReceivedRequest:
    head, _, body = raw.decode().partition("\r\n\r\n")
    first, *lines = head.split("\r\n")
    method, target, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return ReceivedRequest(method, target, headers, body)


class OAuthUpstream:
    """Answers /token with a new token each time, and everything else with ok.

    `refusal` is an error code with which /token refuses. `issued` is added to its answers; `seconds` is how long it
    takes.
    """

    def __init__(self) -> None:
        self.refusal, self.status, self.seconds = "", 200, 0.0
        self.issued: dict[str, Any] = {"expires_in": 3600}
        self.token_requests: list[ReceivedRequest] = []
        self.requests: list[ReceivedRequest] = []
        self._numbers = count(1)
        self.server = Server(self._answer)

    def _answer(self, raw: bytes) -> bytes:
        request = parse_request(raw)
        if not request.target.startswith("/token"):
            self.requests.append(request)
            return build_response()
        self.token_requests.append(request)
        time.sleep(self.seconds)
        if self.refusal:
            return build_response(json.dumps({"error": self.refusal}).encode(), "400 Bad Request")
        number = next(self._numbers)
        token = {"access_token": f"canary-access-{number}", "token_type": "Bearer"} | self.issued
        return build_response(json.dumps(token).encode(), f"{self.status} Status")

    def connect(self, **fields: Any) -> ConnectionConfig:
        """Create a connection to this upstream, or change the one there is, and return its settings."""
        urls = {"base_url": self.server.url("/v1"), "token_url": self.server.url("/token")}
        values = {"kind": Connection.Kind.HTTP, "client_id": "my client", **urls, **fields}
        Connection.objects.update_or_create(name="crm", defaults=values)
        return connections.refresh_connections().by_name["crm"]

    def send(self, config: ConnectionConfig, *, subject: str = "ana", **fields: Any) -> ReceivedRequest:
        """Send a request with credentials, and return it as it arrived."""
        request = BuiltRequest(
            **{"method": "GET", "url": f"{config.base_url}/items", "headers": {}, "body": None} | fields
        )
        request = apply_credentials(request, build_call(subject=subject), config)
        deadline = Deadline.after(milliseconds=5_000)
        http.request(request.method, request.url, headers=request.headers, body=request.body, deadline=deadline)
        return self.requests[-1]


def build_call(*, subject: str = "ana", client_id: int = 0, milliseconds: int = 5_000) -> UpstreamCall:
    deadline = Deadline.after(milliseconds=milliseconds)
    return build_upstream_call(
        build_op(connection="crm"), subject=subject, client_id=client_id, at=timezone.now(), deadline=deadline
    )
