"""The admin page of saved views. Views are saved on the pages whose filters they keep."""

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from analytics.admin.audited import AuditedAdmin
from analytics.models import AuditEntry, SavedView
from analytics.saved_views import list_audit_values


@admin.register(SavedView)
class SavedViewAdmin(AuditedAdmin):
    """Lists a person's own views and those that others share; all of them for who may delete them."""

    empty = "Filter a report or the list of events, and save the filters there under a name."
    audit_kind = AuditEntry.Kind.VIEW
    list_display = ["name", "page", "owner", "is_shared", "saved_at"]
    list_filter = ["page", "is_shared"]
    list_select_related = ["owner"]
    search_fields = ["name"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[SavedView]:
        views: QuerySet[SavedView] = super().get_queryset(request)
        if request.user.has_perm("analytics.delete_savedview"):
            return views
        return views.filter(Q(owner=request.user.pk) | Q(is_shared=True))

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_audit_values(self, row: SavedView) -> dict[str, Any]:
        return list_audit_values(row)
