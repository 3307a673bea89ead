"""The HTTP request of a call."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BuiltRequest:
    """One request to an upstream, ready to send."""

    method: str
    url: str
    headers: dict[str, str]
    body: bytes | None
