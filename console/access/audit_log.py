"""The admin page of the audit log."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from audit import audit_log
from audit.models import AuditEntry
from console.log_pages import TIME_FILTER, LogAdmin
from core.templatetags.admin_format import breakable

# The permission to view entries about a kind of rows, where it is not that to view the audit log.
KIND_PERMISSIONS = {
    AuditEntry.Kind.CLIENT: "gateway.view_client",
    AuditEntry.Kind.API_KEY: "gateway.view_apikey",
    AuditEntry.Kind.APPLICATION: "oauth2_provider.view_application",
    AuditEntry.Kind.USER: "auth.view_user",
    AuditEntry.Kind.ROLE: "auth.view_group",
    AuditEntry.Kind.SIGN_IN: "auth.view_user",
}


class PersonFilter(admin.SimpleListFilter):
    """Filter for what one person, command or job did."""

    title, parameter_name = "person", "by"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        names = model_admin.get_queryset(request).order_by("by").values_list("by", flat=True).distinct()
        return [(name, name) for name in names]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(by=name) if (name := self.value()) else queryset


class AuditEntryAdmin(LogAdmin):
    """The audit log. Registered by the apps that own the rows, which add actions for an entry."""

    empty = "Edit an op. Who changed what, and the text before, appear here."
    list_display = ["time", "by", "what", "what_changed", "note"]
    list_display_links = ["what"]
    list_filter = [PersonFilter, "kind", "action", TIME_FILTER]
    link_lookups = ["name"]
    search_fields = ["name", "by", "note"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[AuditEntry]:
        """Leave out entries about rows that the user may not view, such as users and API keys."""
        entries: QuerySet[AuditEntry] = super().get_queryset(request)
        if not self.has_view_permission(request):
            return entries  # the pages refuse the user anyway
        hidden = [kind for kind, permission in KIND_PERMISSIONS.items() if not request.user.has_perm(permission)]
        return entries.exclude(kind__in=hidden) if hidden else entries

    @admin.display(description="what", ordering="name")
    def what(self, entry: AuditEntry) -> str:
        return breakable(audit_log.describe_entry(entry))

    @admin.display(description="before and after")
    def what_changed(self, entry: AuditEntry) -> str:
        return audit_log.describe_changes(entry)
