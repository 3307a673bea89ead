"""The kind of each connection, kept in memory so that a call needs no database query."""

from core.polled_query import PolledQuery
from registry.models import Connection

_query = PolledQuery(lambda: Connection.objects.values_list("name", "kind"))
_kinds: dict[str, str] = {}


def get_kind(name: str) -> str | None:
    """Return the kind of the connection with this name, or None if there is no such connection."""
    return _kinds.get(name)


def refresh_connections() -> None:
    """Reload all connections. Takes one query."""
    global _kinds
    _kinds = dict(_query.fetch_rows())
