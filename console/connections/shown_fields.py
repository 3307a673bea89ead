"""Which settings of a connection its page shows for each choice. Without JavaScript the page shows all of them."""

import json
from typing import Any

from gateway.credentials import connection_secrets
from registry.models import Connection

Auth, SubjectAs, Transport = Connection.Auth, Connection.SubjectAs, Connection.Transport

# What is needed only if requests are sent.
_REQUEST_FIELDS = (
    *("base_url", "headers", "auth", "subject_as"),
    *("username", "key_in", "key_name", "token_url", "authorize_url", "client_id", "scopes", "subject_header"),
)
_LIMITS = ("max_in_flight", "max_response_kb", "check_every")
HTTP_FIELDS = (*_REQUEST_FIELDS, *_LIMITS, "idempotency_header", "document_url", "is_pinned")
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
        Auth.BEARER: (),
        Auth.BASIC: ("username",),
        Auth.API_KEY: ("key_in", "key_name"),
        Auth.CLIENT_CREDENTIALS: ("token_url", "client_id", "scopes"),
        Auth.USER_OAUTH: ("token_url", "authorize_url", "client_id", "scopes"),
    },
    "subject_as": {
        SubjectAs.NONE: (),
        SubjectAs.HEADER: ("subject_header",),
        SubjectAs.SIGNED_TOKEN: ("subject_header",),
    },
}


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
