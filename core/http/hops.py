"""The requests of one call: the first one, and one for each redirect that is followed."""

from collections.abc import Mapping
from dataclasses import dataclass

import httpx2

from core.http.errors import BadRequest, BadUrl

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})  # not CONNECT, which is a tunnel
READS = frozenset({"GET", "HEAD"})
REDIRECTS = frozenset({301, 302, 303, 307, 308})
PORTS = {"http": 80, "https": 443}

# These headers control message framing and routing. Callers may not set them: that would allow request smuggling.
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
# Sent to another origin too. All other headers are dropped, since any header may contain credentials.
HARMLESS_HEADERS = frozenset({"accept", "accept-language", "user-agent"})


@dataclass(frozen=True, slots=True, repr=False)
class Hop:
    """One request. Header names are in lower case."""

    method: str
    url: httpx2.URL
    headers: dict[str, str]
    body: bytes | None


def first(method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> Hop:
    """Return the first request of a call. Raises BadRequest or BadUrl."""
    sent = DEFAULT_HEADERS | {name.lower(): value for name, value in headers.items()}
    if method not in METHODS or OUR_HEADERS & sent.keys():
        raise BadRequest
    return Hop(method, _joined(None, url), sent, body)


def following(hop: Hop, answer: httpx2.Response) -> Hop | None:
    """Return the request that follows a redirect, or None if the response is final. Raises BadUrl.

    Methods change as in RFC 9110 section 15.4 and in browsers. Another origin only gets GET or HEAD, without a body and
    without headers that could be credentials; any other redirect to another origin is not followed.
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
        raise BadUrl from None  # the library's error message quotes the URL
    if url.scheme not in PORTS or not url.host or url.userinfo or not 1 <= _origin(url)[2] <= 65535:
        raise BadUrl
    return url


def _origin(url: httpx2.URL) -> tuple[str, str, int]:
    return url.scheme, url.host, PORTS[url.scheme] if url.port is None else url.port
