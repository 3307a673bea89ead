"""Guarded outgoing HTTP: `http.request(…)` and the errors it raises (docs/adr/0008)."""

from core.http.api_endpoint import build_endpoint_url, call_api, post_for_stream, post_json
from core.http.client import Response, ResponseStream, request
from core.http.errors import (
    MAX_PARAMETERS,
    Abort,
    AddressRefused,
    BadRequest,
    BadUrl,
    BrokenAnswer,
    OutgoingError,
    TimedOut,
    TooLarge,
    TooManyRedirects,
    Unreachable,
    Untrusted,
    parse_parameters,
    parse_retry_after,
)
from core.http.ssrf import get_upstream_networks

__all__ = [
    "MAX_PARAMETERS",
    "Abort",
    "AddressRefused",
    "BadRequest",
    "BadUrl",
    "BrokenAnswer",
    "OutgoingError",
    "Response",
    "ResponseStream",
    "TimedOut",
    "TooLarge",
    "TooManyRedirects",
    "Unreachable",
    "Untrusted",
    "build_endpoint_url",
    "call_api",
    "get_upstream_networks",
    "parse_parameters",
    "parse_retry_after",
    "post_for_stream",
    "post_json",
    "request",
]
