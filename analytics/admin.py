"""What happened, in the admin: operation events, and the history of copy."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from analytics import audit
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


class Audited(desk.ModelAdmin[Any]):
    """A page of rows that are no copy: who changed what of them stands in the history."""

    audit_kind: AuditEntry.Kind

    def audited(self, row: Any) -> dict[str, Any]:
        """Return what the history tells of a row, as JSON values."""
        raise NotImplementedError

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        saved = type(obj)._default_manager.filter(pk=obj.pk).first() if change else None
        vars(request)["audited_before"] = self.audited(saved) if saved else None
        super().save_model(request, obj, form, change)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        row = type(form.instance)._default_manager.get(pk=form.instance.pk)
        self._record(request, row, vars(request).pop("audited_before"), self.audited(row))

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        self._record(request, obj, self.audited(obj), None)
        super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        for row in queryset:
            self._record(request, row, self.audited(row), None)
        super().delete_queryset(request, queryset)

    def _record(self, request: HttpRequest, row: Any, before: audit.Said | None, after: audit.Said | None) -> None:
        audit.record(self.audit_kind, str(row), before, after, by=str(request.user), at=timezone.now())
