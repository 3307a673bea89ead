"""The request that is sent to an upstream."""

from collections.abc import Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, repr=False)  # no repr: it may hold credentials, and args that are private
class BuiltRequest:
    """One HTTP request: an absolute, encoded URL, lower-case header names, and the body if there is one."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None = None

    def with_headers(self, headers: Mapping[str, str]) -> "BuiltRequest":
        """Return the request with more headers, which replace those of the same name."""
        return replace(self, headers={**self.headers, **{name.lower(): value for name, value in headers.items()}})
