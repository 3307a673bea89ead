"""Which kind of upstream each connection is, followed in memory: a call must not ask the database for it."""

from registry.models import Connection

_kinds: dict[str, str] = {}


def kind(name: str) -> str | None:
    """Return the kind of a connection by name, or None where there is none."""
    return _kinds.get(name)


def follow() -> None:
    """Read all connections. One query."""
    global _kinds
    _kinds = dict(Connection.objects.values_list("name", "kind"))
