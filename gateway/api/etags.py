"""Comparing ETags."""


def matches(header: str, etag: str) -> bool:
    """Return whether an If-None-Match header matches, by weak comparison (RFC 9110 section 13.1.2)."""
    return header.strip() == "*" or etag in (tag.strip().removeprefix("W/") for tag in header.split(","))
