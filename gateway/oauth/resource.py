"""The one resource that tokens are for: /mcp (RFC 8707, RFC 9728)."""

from collections.abc import Sequence

from django.conf import settings

PATH = "/mcp"
METADATA_PATH = f"/.well-known/oauth-protected-resource{PATH}"


def get_identifier() -> str:
    """Return the URL of /mcp, which tokens name as their audience."""
    return f"{settings.GATEWAY_URL}{PATH}"


def get_metadata_url() -> str:
    """Return the URL of the document that says where to sign in."""
    return f"{settings.GATEWAY_URL}{METADATA_PATH}"


def accepts(indicators: Sequence[str]) -> bool:
    """Return whether all resource indicators of a request mean /mcp. A request without one means it, too."""
    return all(indicator.rstrip("/") == get_identifier() for indicator in indicators)
