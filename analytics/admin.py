from django.contrib import admin
from django.http import HttpRequest

from analytics.models import OperationEvent


@admin.register(OperationEvent)
class OperationEventAdmin(admin.ModelAdmin[OperationEvent]):
    list_display = ["time", "type", "op", "ok", "code", "reason", "latency_ms", "client", "subject", "trace_id"]
    list_filter = ["type", "ok", "code", "kind", "dry_run"]
    search_fields = ["op", "trace_id", "session", "subject"]
    date_hierarchy = "time"
    show_full_result_count = False
    list_per_page = 50

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: OperationEvent | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: OperationEvent | None = None) -> bool:
        return False
