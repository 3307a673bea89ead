"""The list of saved views. Views are saved on the pages whose filters they keep."""

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from analytics.models import AuditEntry, SavedView
from console.audited import AuditedAdmin
from console.log_lists import KnownValuesFilter
from console.reports.report_list import REPORTS
from console.reports.saved_views import PAGES
from console.reports.stored_views import list_audit_values

PAGE_TITLES = {
    **{report.url_name: report.title for report in REPORTS},
    "analytics_operationevent_changelist": "Events",
    "analytics_turn_changelist": "Turns",
}


class PageFilter(KnownValuesFilter):
    title, parameter_name, values = "page", "page", tuple(PAGES)

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(page, PAGE_TITLES[page]) for page in self.values]


@admin.register(SavedView)
class SavedViewAdmin(AuditedAdmin):
    """Lists a person's own views and those that others share; all of them for who may delete them."""

    empty = "Filter a report or the list of events, and save the filters there under a name."
    audit_kind = AuditEntry.Kind.VIEW
    list_display = ["name", "page_title", "owner", "is_shared", "saved_at"]
    list_filter = [PageFilter, "is_shared"]
    list_select_related = ["owner"]
    search_fields = ["name"]

    @admin.display(description="page", ordering="page")
    def page_title(self, view: SavedView) -> str:
        return PAGE_TITLES.get(view.page, view.page)

    def get_queryset(self, request: HttpRequest) -> QuerySet[SavedView]:
        views: QuerySet[SavedView] = super().get_queryset(request)
        if request.user.has_perm("analytics.delete_savedview"):
            return views
        return views.filter(Q(owner=request.user.pk) | Q(is_shared=True))

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_audit_values(self, row: SavedView) -> dict[str, Any] | None:
        return list_audit_values(row)
