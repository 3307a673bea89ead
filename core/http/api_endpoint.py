"""JSON APIs whose URL and key the administrator configured, such as an embeddings endpoint or a language model."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from ipaddress import ip_network
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import orjson

from core.database.deadlines import Deadline
from core.http.client import Response, ResponseStream, open_stream, request
from core.http.errors import Abort

# The administrator chose the address, and it is often on this machine (docs/adr/0008).
_ANY_NETWORK = (ip_network("0.0.0.0/0"), ip_network("::/0"))


def build_endpoint_url(url: str, path: str) -> str:
    """Return the endpoint's URL. Many people set the base of the API instead, as for OpenAI's clients.

    Only the path changes. Azure's URLs have a query (`?api-version=…`).
    """
    parts = urlsplit(url)
    base = parts.path.rstrip("/")
    return urlunsplit(parts._replace(path=base if base.endswith(path) else f"{base}{path}"))


def post_json(url: str, *, key: str, body: Any, deadline: Deadline, max_bytes: int) -> Response:
    """Send a JSON body with the key as a bearer token, and return the answer. Raises an OutgoingError.

    Only the deadline limits how long the first byte takes: a model may think for a minute before it answers.
    """
    headers = _build_headers(key, accept="application/json")
    return call_api("POST", url, headers=headers, body=orjson.dumps(body), deadline=deadline, max_bytes=max_bytes)


def post_for_stream(
    url: str,
    *,
    key: str,
    body: Any,
    deadline: Deadline,
    max_bytes: int,
    read_seconds: float,
    abort: Abort,
    pause: Callable[[], float] | None = None,
) -> AbstractContextManager[ResponseStream]:
    """Send a JSON body, and read Server-Sent Events while they arrive. Raises an OutgoingError.

    `read_seconds` limits the time between two chunks, the first one included. `pause` returns the seconds to wait
    before each read of the body.
    """
    return open_stream(
        "POST",
        url,
        headers=_build_headers(key, accept="text/event-stream"),
        body=orjson.dumps(body),
        deadline=deadline,
        max_bytes=max_bytes,
        read_seconds=read_seconds,
        abort=abort,
        pause=pause,
        allow=_ANY_NETWORK,
    )


def call_api(
    method: str, url: str, *, headers: dict[str, str], body: bytes | None, deadline: Deadline, max_bytes: int
) -> Response:
    """Call an API with the given headers, and return the answer. Raises an OutgoingError.

    Only the deadline limits how long the first byte takes.
    """
    return request(
        method,
        url,
        headers=headers,
        body=body,
        deadline=deadline,
        max_bytes=max_bytes,
        read_seconds=None,
        follow_redirects=False,  # a redirect would leak the key or lose it
        allow=_ANY_NETWORK,
    )


def _build_headers(key: str, *, accept: str) -> dict[str, str]:
    headers = {"accept": accept, "content-type": "application/json"}
    if key:
        headers["authorization"] = f"Bearer {key}"
    return headers
