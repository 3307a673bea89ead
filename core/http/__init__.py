"""Guarded outgoing HTTP: `http.request(…)` and the errors it raises (docs/adr/0008)."""

from core.http.abort import Abort
from core.http.api_endpoint import build_endpoint_url, call_api, post_for_stream, post_json
from core.http.client import Response, ResponseStream, request
from core.http.errors import (
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
)

__all__ = [
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
    "post_for_stream",
    "post_json",
    "request",
]
