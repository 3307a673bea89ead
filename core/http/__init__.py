"""Guarded outgoing HTTP: `http.request(…)` and the errors it raises (docs/adr/0008)."""

from core.http.api_endpoint import build_endpoint_url, post_json
from core.http.client import Response, request
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
    "AddressRefused",
    "BadRequest",
    "BadUrl",
    "BrokenAnswer",
    "OutgoingError",
    "Response",
    "TimedOut",
    "TooLarge",
    "TooManyRedirects",
    "Unreachable",
    "Untrusted",
    "build_endpoint_url",
    "post_json",
    "request",
]
