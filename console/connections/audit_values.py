"""What the audit log records of a connection."""

from typing import Any

from gateway.credentials import connection_secrets
from gateway.models import ConnectionSecret
from registry.catalog.connections import ConnectionConfig
from registry.models import Connection

AUDITED_FIELDS = (*ConnectionConfig.__dataclass_fields__, "document_url", "check_every", "is_pinned")


def read_audit_values(connection: Connection) -> dict[str, Any]:
    """Return all settings if the connection has some, else name and kind. Of its secrets, only when each was set."""
    names = AUDITED_FIELDS if connection.is_remote else ("name", "kind")
    rows = ConnectionSecret.objects.filter(connection=connection).order_by("name")
    secrets = {f"secret {row.name}": _describe_secret(row) for row in rows}
    return {name: getattr(connection, name) for name in names} | secrets


def _describe_secret(row: ConnectionSecret) -> str:
    if row.value.startswith(connection_secrets.REFERENCE):
        return row.value
    return f"set {row.updated_at:%Y-%m-%d %H:%M:%S}"
