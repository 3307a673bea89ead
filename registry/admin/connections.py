"""The admin of connections."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils import timezone

from analytics.admin import AuditedAdmin
from analytics.models import AuditEntry
from registry.admin.switches import SwitchableMixin
from registry.catalog import switches
from registry.models import Connection, Switch


@admin.register(Connection)
class ConnectionAdmin(AuditedAdmin, SwitchableMixin):
    empty = "Ops run through connections. Load the shipped ones with manage.py load_catalog, or add one."
    audit_kind = AuditEntry.Kind.CONNECTION
    switch_kind, switch_name = Switch.Kind.CONNECTION, "name"
    list_display = ["name", "kind", "off"]
    ordering = ["name"]
    search_fields = ["name"]

    def explain_off(self, row: Connection) -> str:
        reason = switches.get_switches().connections.get(row.name)
        return f"{row.name} is switched off: {reason}" if reason else ""

    def get_audit_values(self, row: Connection) -> dict[str, Any]:
        return {"name": row.name, "kind": row.kind}

    def save_model(self, request: HttpRequest, obj: Connection, form: Any, change: bool) -> None:
        """Save a connection. A new name changes the entries of its ops, so mark them as updated."""
        super().save_model(request, obj, form, change)
        if "name" in form.changed_data:
            obj.ops.update(updated_at=timezone.now())
