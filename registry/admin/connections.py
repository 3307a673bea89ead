"""Connections in the admin."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils import timezone

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

    def save_model(self, request: HttpRequest, obj: Connection, form: Any, change: bool) -> None:
        """Save a connection; under another name its ops say something else."""
        super().save_model(request, obj, form, change)
        if "name" in form.changed_data:
            obj.ops.update(updated_at=timezone.now())
