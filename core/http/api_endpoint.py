"""JSON APIs whose URL and key the administrator configured, such as an embeddings endpoint or a language model."""

from ipaddress import ip_network
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import orjson

from core.deadlines import Deadline
from core.http.client import Response, request

# The administrator chose the address, and it is often on this machine (docs/adr/0008).
_ANY_NETWORK = (ip_network("0.0.0.0/0"), ip_network("::/0"))


def build_endpoint_url(url: str, path: str) -> str:
    """Return the endpoint's URL. Many name the base of the API instead, as OpenAI's clients want it.

    Only the path changes. Azure's URLs have a query (`?api-version=…`).
    """
    parts = urlsplit(url)
    base = parts.path.rstrip("/")
    return urlunsplit(parts._replace(path=base if base.endswith(path) else f"{base}{path}"))


def post_json(url: str, *, key: str, body: Any, deadline: Deadline, max_bytes: int) -> Response:
    """Send a JSON body with the key as a bearer token, and return the answer. Raises an OutgoingError.

    Only the deadline limits how long the first byte takes: a model may think for a minute before it answers.
    """
    headers = {"accept": "application/json", "content-type": "application/json"}
    if key:
        headers["authorization"] = f"Bearer {key}"
    return request(
        "POST",
        url,
        headers=headers,
        body=orjson.dumps(body),
        deadline=deadline,
        max_bytes=max_bytes,
        read_seconds=None,
        follow_redirects=False,  # a redirect would leak the key or lose it
        allow=_ANY_NETWORK,
    )
