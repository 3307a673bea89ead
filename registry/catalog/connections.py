"""The connections, kept in memory so that a call needs no database query, and what an op lacks to run through one.

Lists and cached answers depend on the current Connections, so that they leave out what cannot run.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, NamedTuple

from django.db.models import F, Q

from core.background.poller import PolledQuery, Row
from registry.models import Connection, UpstreamDefinition


@dataclass(frozen=True, slots=True)
class ConnectionConfig:
    """A connection's settings, without its secrets (see registry.models.connection)."""

    name: str
    kind: str
    base_url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, hash=False)
    auth: str = Connection.Auth.NONE
    key_in: str = Connection.KeyIn.HEADER
    key_name: str = ""
    more_keys: Mapping[str, str] = field(default_factory=dict, hash=False)  # name -> header, query or cookie
    username: str = ""
    token_url: str = ""
    authorize_url: str = ""
    client_id: str = ""
    scopes: str = ""
    subject_as: str = Connection.SubjectAs.NONE
    subject_header: str = ""
    idempotency_header: str = ""
    max_in_flight: int = 10
    max_response_kb: int = 1000
    transport: str = Connection.Transport.HTTP
    command: str = ""
    shares_sessions: bool = False
    flow_labels: Sequence[str] = field(default=(), hash=False)  # see registry.flow_labels

    @property
    def is_program(self) -> bool:
        """Whether a program of this machine is started, to which no request is sent."""
        return self.kind == Connection.Kind.MCP and self.transport == Connection.Transport.STDIO

    @property
    def names_subject(self) -> bool:
        """Whether calls are made for an end user, and so need one."""
        return self.subject_as != Connection.SubjectAs.NONE or self.auth == Connection.Auth.USER_OAUTH

    @property
    def has_shared_sessions(self) -> bool:
        """Whether all callers share a session with an MCP server. It never names more than one end user."""
        return self.shares_sessions and not self.names_subject

    @classmethod
    def of_row(cls, connection: Connection) -> "ConnectionConfig":
        """Return the settings of a connection, saved or not."""
        return cls(**{name: getattr(connection, name) for name in cls.__dataclass_fields__})


class UpstreamTarget(NamedTuple):
    """Where an op runs: its connection, its names there, and whether it has a request to send."""

    connection: str
    tool_name: str
    upstream_name: str = ""
    has_request: bool = False


# Says what an upstream lacks to run an op, in words as in `explain_missing`.
UpstreamCheck = Callable[[ConnectionConfig, UpstreamTarget], str]


@dataclass(frozen=True, slots=True, eq=False)
class Connections:
    """The connections at one moment, by name. Compared by identity, so that it is a fast cache key.

    `held` are operations that changed upstream and wait for approval: (connection, upstream name). `approved` are the
    digests of the tools of MCP servers, which are compared with what a server offers now.
    """

    by_name: Mapping[str, ConnectionConfig] = field(default_factory=dict)
    held: frozenset[tuple[str, str]] = frozenset()
    approved: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def explain_missing(self, target: UpstreamTarget) -> str:
        """Return what an op lacks to run, in words that follow "cannot run: "; empty if it can run."""
        if not target.connection:
            return "no connection is set"
        if target.connection not in self.by_name:
            return f'the connection "{target.connection}" does not exist'
        if self.is_held(target):
            return "its definition changed upstream, and the change is not approved"
        config = self.by_name[target.connection]
        if config.kind == Connection.Kind.MCP and _get_key(target) not in self.approved:
            return "no definition of its tool is approved: import it from its server"
        return _check_upstream(config, target)

    def is_held(self, target: UpstreamTarget) -> bool:
        """Return whether the op's operation changed upstream and waits for approval."""
        return _get_key(target) in self.held


def _get_key(target: UpstreamTarget) -> tuple[str, str]:
    """Return what identifies an op's operation: its connection, and its name there."""
    return target.connection, target.upstream_name or target.tool_name


def set_upstream_check(check: UpstreamCheck) -> None:
    """Set the function that knows the upstreams. Executing calls uses the same one."""
    global _check_upstream
    _check_upstream = check


def get_connections() -> Connections:
    """Return the current connections from memory, at most half a second old. Reads the database on first use."""
    return refresh_connections() if _current is None else _current


def refresh_connections() -> Connections:
    """Reload the connections, and replace those in memory if they changed. Takes three queries."""
    global _current, _rows
    with _refreshing:
        rows = _query.fetch_rows(), _held_query.fetch_rows(), _approved_query.fetch_rows()
        if _current is None or rows != _rows:
            approved = {(connection, name): digest for connection, name, digest in rows[2]}
            configs = {row[0]: _build_config(row) for row in rows[0]}
            _rows, _current = rows, Connections(configs, frozenset(rows[1]), approved)
        return _current


def clear_connections() -> None:
    """Clear the connections from memory, as in a new process."""
    global _current, _rows
    _current, _rows = None, ([], [], [])


def _build_config(row: Row) -> ConnectionConfig:
    fields: dict[str, Any] = dict(zip(_FIELDS, row, strict=True))
    return ConnectionConfig(**fields | {name: json.loads(fields[name]) for name in _JSON_FIELDS})


_JSON_FIELDS = ("headers", "more_keys", "flow_labels")
_FIELDS = tuple(ConnectionConfig.__dataclass_fields__)
_refreshing = Lock()
_current: Connections | None = None
_rows: tuple[list[Row], list[Row], list[Row]] = ([], [], [])
_query = PolledQuery(lambda: Connection.objects.order_by("name").values_list(*_FIELDS))
_held_query = PolledQuery(
    lambda: (
        UpstreamDefinition.objects.filter(Q(connection__is_pinned=True) | Q(connection__kind=Connection.Kind.MCP))
        .exclude(approved_digest="")
        .exclude(seen_digest=F("approved_digest"))
        .order_by("pk")
        .values_list("connection__name", "upstream_name")
    )
)
_approved_query = PolledQuery(
    lambda: (
        UpstreamDefinition.objects.filter(connection__kind=Connection.Kind.MCP)
        .exclude(approved_digest="")
        .order_by("pk")
        .values_list("connection__name", "upstream_name", "approved_digest")
    )
)
_check_upstream: UpstreamCheck = lambda config, target: ""  # noqa: E731, ARG005 - until it is set
