"""The fields of a connection: which ones each kind and each choice needs, and what the audit log keeps of them."""

import json
from collections.abc import Collection, Sequence
from typing import Any

from console.connections import end_users
from gateway.credentials import connection_secrets
from gateway.models import ConnectionSecret
from registry.catalog.connections import ConnectionConfig
from registry.models import Connection

AUDITED_FIELDS = (*ConnectionConfig.__dataclass_fields__, "document_url", "check_every", "is_pinned")
Auth, SubjectAs, Transport = Connection.Auth, Connection.SubjectAs, Connection.Transport

# Needed only if requests are sent.
_REQUEST_FIELDS = tuple(
    """
    base_url headers auth has_user_keys subject_as username key_in key_name more_keys token_url authorize_url client_id
    scopes
    subject_header
""".split()
)
_LIMITS = ("max_in_flight", "max_response_kb", "check_every", "flow_labels")
_FILE_LIMITS = ("max_file_kb", "file_types")
HTTP_FIELDS = (*_REQUEST_FIELDS, *_LIMITS, *_FILE_LIMITS, "idempotency_header", "document_url", "is_pinned")
MCP_FIELDS = (*_REQUEST_FIELDS, *_LIMITS, "transport", "command", "shares_sessions")

# By the column that chooses: the columns that each choice needs.
NEEDED_FIELDS: dict[str, dict[str, tuple[str, ...]]] = {
    "kind": {
        Connection.Kind.EMBEDDED: (),
        Connection.Kind.EXAMPLE: (),
        Connection.Kind.HTTP: HTTP_FIELDS,
        Connection.Kind.MCP: MCP_FIELDS,
    },
    "transport": {Transport.HTTP: _REQUEST_FIELDS, Transport.SSE: _REQUEST_FIELDS, Transport.STDIO: ("command",)},
    "auth": {
        Auth.NONE: (),
        Auth.BEARER: ("has_user_keys",),
        Auth.BASIC: ("username", "has_user_keys"),
        Auth.API_KEY: ("key_in", "key_name", "has_user_keys"),
        Auth.CLIENT_CREDENTIALS: ("token_url", "client_id", "scopes"),
        Auth.USER_OAUTH: ("token_url", "authorize_url", "client_id", "scopes"),
    },
    "subject_as": {
        SubjectAs.NONE: (),
        SubjectAs.HEADER: ("subject_header",),
        SubjectAs.SIGNED_TOKEN: ("subject_header",),
    },
}
ALWAYS_PINNED = (
    "A tool whose definition changed is neither shown nor run until somebody approves the change. New tools of the "
    "server are listed here and never imported automatically."
)
_AUTHENTICATION = (
    "Authentication",
    {
        "fields": [
            "auth",
            "has_user_keys",
            ("key_in", "key_name"),
            "username",
            ("token_url", "authorize_url"),
            ("client_id", "scopes"),
            "more_keys",
        ]
    },
)
_END_USERS = ("End users", {"fields": [("subject_as", "subject_header")]})
_MCP_END_USERS = ("End users", {"fields": [("subject_as", "subject_header"), "shares_sessions"]})

_DATA_FLOW = ("Data flow", {"fields": ["flow_labels"]})

# By kind, the settings of a connection. Connections of other kinds have none.
FIELDSETS: dict[str, list[Any]] = {
    Connection.Kind.HTTP: [
        ("Service", {"fields": ["base_url", "headers"]}),
        _AUTHENTICATION,
        _END_USERS,
        (
            "Limits",
            {
                "fields": [
                    ("max_in_flight", "max_response_kb"),
                    ("max_file_kb", "file_types"),
                    "idempotency_header",
                ]
            },
        ),
        _DATA_FLOW,
        ("Changes upstream", {"fields": [("document_url", "check_every"), "is_pinned"]}),
    ],
    Connection.Kind.MCP: [
        ("Server", {"fields": ["transport", "command", "base_url", "headers"]}),
        _AUTHENTICATION,
        _MCP_END_USERS,
        ("Limits", {"fields": [("max_in_flight", "max_response_kb")]}),
        _DATA_FLOW,
        ("Changes upstream", {"fields": ["check_every"], "description": ALWAYS_PINNED}),
    ],
}

# A new connection may become one of either kind.
NEW_FIELDSETS: list[Any] = [
    ("Service", {"fields": ["transport", "command", "base_url", "headers"]}),
    *(_MCP_END_USERS if each is _END_USERS else each for each in FIELDSETS[Connection.Kind.HTTP][1:]),
]


def read_audit_values(connection: Connection) -> dict[str, Any]:
    """Return all settings if the connection has some, else name and kind. For secrets, only when each was set."""
    names = AUDITED_FIELDS if connection.is_remote else ("name", "kind")
    rows = ConnectionSecret.objects.filter(connection=connection).order_by("name")
    secrets = {f"secret {row.name}": _describe_secret(row) for row in rows}
    return {name: getattr(connection, name) for name in names} | secrets | end_users.read_audit_values(connection)


def _describe_secret(row: ConnectionSecret) -> str:
    if row.value.startswith(connection_secrets.REFERENCE):
        return row.value
    return f"set {row.updated_at:%Y-%m-%d %H:%M:%S}"


def drop_unneeded_fields(fieldsets: Sequence[Any], connection: Connection) -> list[Any]:
    """Return fieldsets without the fields that do not apply, such as the token URL for a bearer token."""
    unneeded = _list_unneeded_fields(connection)
    return [(title, options | {"fields": _leave_out(options["fields"], unneeded)}) for title, options in fieldsets]


def _list_unneeded_fields(connection: Connection) -> set[str]:
    choosing = NEEDED_FIELDS if connection.kind == Connection.Kind.MCP else NEEDED_FIELDS.keys() - {"transport"}
    return {
        field
        for column in choosing
        for fields in NEEDED_FIELDS[column].values()
        for field in fields
        if field not in NEEDED_FIELDS[column][getattr(connection, column)]
    }


def _leave_out(fields: Sequence[str | tuple[str, ...]], unneeded: Collection[str]) -> list[str | tuple[str, ...]]:
    """Return the lines of a fieldset without some fields."""
    lines = (line if isinstance(line, tuple) else (line,) for line in fields)
    needed = (tuple(field for field in line if field not in unneeded) for line in lines)
    return [line for line in needed if line]


def build_attributes(column: str) -> dict[str, str]:
    """Return the attributes of a select from which static/console/connection.js reads what to show."""
    if column not in NEEDED_FIELDS:
        return {}
    secrets: dict[str, Any] = {}
    if column == "auth":
        secrets = {auth: connection_secrets.list_used(auth, SubjectAs.NONE) for auth in Auth}
    if column == "subject_as":
        secrets = {choice: connection_secrets.list_used(Auth.NONE, choice) for choice in SubjectAs}
    return {"data-fields": json.dumps(NEEDED_FIELDS[column]), "data-secrets": json.dumps(secrets)}
