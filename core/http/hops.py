"""The requests of one call: the first, and those that redirects ask for."""

from collections.abc import Mapping
from dataclasses import dataclass

import httpx2

from core.http.errors import BadRequest, BadUrl

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})  # not CONNECT, which is a tunnel
READS = frozenset({"GET", "HEAD"})
REDIRECTS = frozenset({301, 302, 303, 307, 308})
PORTS = {"http": 80, "https": 443}

# How a message is framed and where it goes is ours to say; a caller that could would smuggle requests.
OUR_HEADERS = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
DEFAULT_HEADERS = {"accept": "*/*", "user-agent": "tool-gateway"}
# What another origin may see. Credentials travel in Authorization, in Cookie and in headers of any name.
HARMLESS_HEADERS = frozenset({"accept", "accept-language", "user-agent"})


@dataclass(frozen=True, slots=True, repr=False)
class Hop:
    """One request: header names in lower case."""

    method: str
    url: httpx2.URL
    headers: dict[str, str]
    body: bytes | None


def first(method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> Hop:
    """Return the request that the caller asks for; raises BadRequest, BadUrl."""
    sent = DEFAULT_HEADERS | {name.lower(): value for name, value in headers.items()}
    if method not in METHODS or OUR_HEADERS & sent.keys():
        raise BadRequest
    return Hop(method, _joined(None, url), sent, body)


def following(hop: Hop, answer: httpx2.Response) -> Hop | None:
    """Return the request that a redirect asks for, or None where the answer stands; raises BadUrl.

    Methods change as RFC 9110 section 15.4 says and browsers do. Another origin is only asked for a page to read, and
    is shown no header that could be a credential: what would change something or carry a body there is not sent.
    """
    if answer.status_code not in REDIRECTS or "location" not in answer.headers:
        return None
    asked = _as_get(hop) if _becomes_get(hop.method, answer.status_code) else hop
    url = _joined(hop.url, answer.headers["location"])
    if _origin(url) == _origin(hop.url):
        return Hop(asked.method, url, asked.headers, asked.body)
    if asked.method not in READS or asked.body is not None:
        return None
    shown = {name: value for name, value in asked.headers.items() if name in HARMLESS_HEADERS}
    return Hop(asked.method, url, shown, None)


def _becomes_get(method: str, status: int) -> bool:
    return (status == 303 and method != "HEAD") or (status in (301, 302) and method == "POST")


def _as_get(hop: Hop) -> Hop:
    headers = {name: value for name, value in hop.headers.items() if not name.startswith("content-")}
    return Hop("GET", hop.url, headers, None)


def _joined(base: httpx2.URL | None, reference: str) -> httpx2.URL:
    try:
        url = httpx2.URL(reference) if base is None else base.join(reference)
    except (httpx2.InvalidURL, ValueError):
        raise BadUrl from None  # the library's message quotes the URL
    if url.scheme not in PORTS or not url.host or url.userinfo or not 1 <= _origin(url)[2] <= 65535:
        raise BadUrl
    return url


def _origin(url: httpx2.URL) -> tuple[str, str, int]:
    return url.scheme, url.host, PORTS[url.scheme] if url.port is None else url.port
