"""Connections in the admin."""

from typing import Any

from django.contrib import admin

from analytics.admin import Audited
from analytics.models import AuditEntry
from registry.admin.switches import Switchable
from registry.models import Connection, Switch


@admin.register(Connection)
class ConnectionAdmin(Audited, Switchable):
    audit_kind = AuditEntry.Kind.CONNECTION
    switch_kind, switch_name = Switch.Kind.CONNECTION, "name"
    list_display = ["name", "kind"]
    ordering = ["name"]
    search_fields = ["name"]

    def audited(self, row: Connection) -> dict[str, Any]:
        return {"name": row.name, "kind": row.kind}
