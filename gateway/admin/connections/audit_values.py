"""What the audit log records of a connection."""

from typing import Any

from registry.catalog.connections import ConnectionConfig
from registry.models import Connection

AUDITED_FIELDS = (*ConnectionConfig.__dataclass_fields__, "document_url", "check_every", "is_pinned")


def read_audit_values(connection: Connection) -> dict[str, Any]:
    """Return all settings if the connection has some, else name and kind."""
    names = AUDITED_FIELDS if connection.is_remote else ("name", "kind")
    return {name: getattr(connection, name) for name in names}
