"""Origins: where a secret may be sent.

A secret is stored with the origins that it was entered for. Somebody who may change the address of a connection, but
does not know its secrets, could otherwise have them sent to a server of their own.
"""

from typing import Protocol
from urllib.parse import urlsplit

from registry.models import Connection

_PORTS = {"http": 80, "https": 443}
_GETS_TOKENS = (Connection.Auth.CLIENT_CREDENTIALS, Connection.Auth.USER_OAUTH)


class Addresses(Protocol):
    """The settings of a connection that say where its secrets go."""

    @property
    def base_url(self) -> str: ...
    @property
    def token_url(self) -> str: ...
    @property
    def auth(self) -> str: ...


def get_origin(url: str) -> str:
    """Return scheme://host:port of a URL; empty if it has none."""
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        return ""
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}:{port}" if host and port else ""


def list_origins(connection: Addresses) -> str:
    """Return the origins of a connection, separated by spaces: its own, and that of its token endpoint.

    Tokens of a token endpoint go to the connection's own origin, so a client secret belongs to both.
    """
    urls = [connection.base_url, *([connection.token_url] if connection.auth in _GETS_TOKENS else [])]
    return " ".join(get_origin(url) for url in urls)
