"""The requests of one call: the first one, and one for each redirect that is followed."""

import re
from collections.abc import Mapping
from functools import lru_cache

import httpx2

from core.http.connection_pool import AnswerHead, Origin
from core.http.errors import BadRequest, BadUrl
from core.records import record

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})  # not CONNECT, which is a tunnel
SAFE_METHODS = frozenset({"GET", "HEAD"})
REDIRECT_STATUSES = frozenset({301, 302, 303, 307, 308})
DEFAULT_PORTS = {"http": 80, "https": 443}

# These headers control message framing and routing. Callers must not set them: that would allow request smuggling.
RESERVED_HEADERS = frozenset(
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
# Also sent to another origin. All other headers are dropped, since any header may contain credentials.
CROSS_ORIGIN_HEADERS = frozenset({"accept", "accept-language", "user-agent"})

MAX_PLAIN = 4_000  # characters
# An origin, then a path and perhaps a query that need no other encoding. Most URLs are so, and to parse one takes as
# long as to read its answer.
_PLAIN_URL = re.compile(
    r"(https?://[^/?#\\\s]+)(/(?:[\w.~!$&()*+,;=:@/-]|%[0-9A-F]{2})*(?:\?(?:[\w.~!$&()*+,;=:@/?-]|%[0-9A-F]{2})*)?)",
    re.ASCII,
)


@record(repr=False)
class TargetUrl:
    """A URL as it is sent: where to connect, the header Host, and the path with the query."""

    text: str
    origin: Origin
    host: str
    target: bytes


@record(repr=False)
class Hop:
    """One request. Header names are in lower case."""

    method: str
    url: TargetUrl
    headers: dict[str, str]
    body: bytes | None


def build_first_request(method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> Hop:
    """Return the first request of a call. Raises BadRequest or BadUrl."""
    all_headers = DEFAULT_HEADERS | {name.lower(): value for name, value in headers.items()}
    if method not in METHODS or RESERVED_HEADERS & all_headers.keys():
        raise BadRequest
    return Hop(method, _join_url(None, url), all_headers, body)


def follow_redirect(hop: Hop, answer: AnswerHead, *, same_origin: bool = False) -> Hop | None:
    """Return the request that follows a redirect, or None if the response is final. Raises BadUrl.

    Methods change as in RFC 9110 section 15.4 and in browsers. Another origin only gets GET or HEAD, without a body and
    without headers that could be credentials; any other redirect to another origin is not followed, and with
    `same_origin` none is.
    """
    if answer.status not in REDIRECT_STATUSES or "location" not in answer.headers:
        return None
    next_hop = _convert_to_get(hop) if _changes_to_get(hop.method, answer.status) else hop
    url = _join_url(hop.url.text, answer.headers["location"])
    if url.origin == hop.url.origin:
        return Hop(next_hop.method, url, next_hop.headers, next_hop.body)
    if same_origin or next_hop.method not in SAFE_METHODS or next_hop.body is not None:
        return None
    safe_headers = {name: value for name, value in next_hop.headers.items() if name in CROSS_ORIGIN_HEADERS}
    return Hop(next_hop.method, url, safe_headers, None)


def _changes_to_get(method: str, status: int) -> bool:
    return (status == 303 and method != "HEAD") or (status in (301, 302) and method == "POST")


def _convert_to_get(hop: Hop) -> Hop:
    headers = {name: value for name, value in hop.headers.items() if not name.startswith("content-")}
    return Hop("GET", hop.url, headers, None)


def _join_url(base: str | None, reference: str) -> TargetUrl:
    """Return a URL, or where one leads from another one. Raises BadUrl."""
    is_short = base is None and len(reference) <= MAX_PLAIN and "/." not in reference
    if is_short and (plain := _PLAIN_URL.fullmatch(reference)):
        url = _parse_origin(plain[1])
        return TargetUrl(url.text[:-1] + plain[2], url.origin, url.host, plain[2].encode())
    return _parse_url(reference) if base is None else _parse_url(reference, base)


@lru_cache(maxsize=1_000)
def _parse_origin(origin: str) -> TargetUrl:
    return _parse_url(origin + "/")


def _parse_url(reference: str, base: str = "") -> TargetUrl:
    try:
        url = httpx2.URL(base).join(reference) if base else httpx2.URL(reference)
    except (httpx2.InvalidURL, ValueError):
        raise BadUrl from None  # the library's error message quotes the URL
    if url.scheme not in DEFAULT_PORTS or not url.host or url.userinfo:
        raise BadUrl
    port = DEFAULT_PORTS[url.scheme] if url.port is None else url.port
    if not 1 <= port <= 65535:
        raise BadUrl
    origin = Origin(url.scheme, url.raw_host.decode("ascii"), port)
    return TargetUrl(str(url), origin, url.netloc.decode("ascii"), url.raw_path)
