"""What happened, in the admin: operation events, and the history of copy."""

from typing import Any

from django.contrib import admin

from analytics.models import AuditEntry, OpDaily, OperationEvent, Rollup
from core import desk


class LogAdmin(desk.ReadOnly, desk.ModelAdmin[Any]):
    """Rows that are written once."""

    date_hierarchy = "time"
    show_full_result_count = False
    list_per_page = 50


@admin.register(OperationEvent)
class OperationEventAdmin(LogAdmin):
    list_display = ["time", "type", "op", "ok", "code", "reason", "latency_ms", "client", "subject", "trace_id"]
    list_filter = ["type", "ok", "code", "kind", "dry_run"]
    search_fields = ["op", "trace_id", "session", "subject"]


@admin.register(OpDaily)
class OpDailyAdmin(LogAdmin):
    date_hierarchy = "day"
    list_display = ["day", "op", "calls", "invalid", "denied", "not_found", "conflict", "internal", "is_settled"]
    list_filter = ["day", "release"]
    search_fields = ["op"]


@admin.register(Rollup)
class RollupAdmin(LogAdmin):
    date_hierarchy = "counted_at"
    list_display = ["name", "settled_until", "counted_at"]
    search_fields = ["name"]


class AuditEntryAdmin(LogAdmin):
    """The history. Whoever owns what it tells of registers it, with what can be done about an entry."""

    list_display = ["time", "by", "kind", "name", "action", "fields_changed", "note"]
    list_display_links = ["name"]
    list_filter = ["kind", "action", "by"]
    search_fields = ["name", "by", "note"]

    @admin.display(description="changed")
    def fields_changed(self, entry: AuditEntry) -> str:
        return ", ".join(sorted(entry.changes)) if entry.action == AuditEntry.Action.CHANGED else ""
