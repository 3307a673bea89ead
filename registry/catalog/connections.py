"""The connections, kept in memory so that a call needs no database query, and what an op lacks to run through one.

Lists and cached answers depend on the current Connections, so that they leave out what cannot run.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from core.polled_query import PolledQuery, Row
from registry.models import Connection

# Says what an upstream lacks to run a tool: (kind, connection, tool name) -> words as in `explain_missing`.
UpstreamCheck = Callable[[str, str, str], str]


@dataclass(frozen=True, slots=True, eq=False)
class Connections:
    """The connections at one moment: {name: kind}. Compared by identity, so that it is a fast cache key."""

    kinds: Mapping[str, str] = field(default_factory=dict)

    def explain_missing(self, connection: str, tool_name: str) -> str:
        """Return what an op lacks to run, in words that follow "cannot run: "; empty if it can run."""
        if not connection:
            return "no connection is set"
        if connection not in self.kinds:
            return f'the connection "{connection}" does not exist'
        return _check_upstream(self.kinds[connection], connection, tool_name)


def set_upstream_check(check: UpstreamCheck) -> None:
    """Set the function that knows the upstreams. Executing calls uses the same one."""
    global _check_upstream
    _check_upstream = check


def get_connections() -> Connections:
    """Return the current connections from memory, at most half a second old. Reads the database on first use."""
    return refresh_connections() if _current is None else _current


def refresh_connections() -> Connections:
    """Reload the connections, and replace those in memory if they changed. Takes one query."""
    global _current, _rows
    rows = _query.fetch_rows()
    if _current is None or rows != _rows:
        _rows, _current = rows, Connections(dict(rows))
    return _current


def clear_connections() -> None:
    """Clear the connections from memory, as in a new process."""
    global _current, _rows
    _current, _rows = None, []


_current: Connections | None = None
_rows: list[Row] = []
_query = PolledQuery(lambda: Connection.objects.order_by("name").values_list("name", "kind"))
_check_upstream: UpstreamCheck = lambda kind, connection, tool_name: ""  # noqa: E731, ARG005 - until it is set
