"""Saved views of reports and lists: the filters of a page under a name, for oneself or for all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from analytics.reports.models import SavedView
from console.log_pages import AuditedAdmin, KnownValuesFilter
from console.reports import stored_views
from console.reports.report_list import REPORT_PERMISSIONS, REPORTS
from console.reports.stored_views import list_audit_values

# The pages whose filters can be saved, and the permissions that each requires.
PAGES: Mapping[str, Sequence[str]] = {
    **{report.url_name: REPORT_PERMISSIONS for report in REPORTS},
    "analytics_operationevent_changelist": ["analytics.view_operationevent"],
    "analytics_turn_changelist": ["analytics.view_turn"],
}
OTHER_PARAMETERS = ("csv", "p", "e", "all", "_popup", "_facets", "_changelist_filters")  # besides filters and sorting
TYPED_NAME = "saved_view_name"  # in the session: what was typed when a view could not be saved
PAGE_TITLES = {
    **{report.url_name: report.title for report in REPORTS},
    "analytics_operationevent_changelist": "Events",
    "analytics_turn_changelist": "Turns",
}


@dataclass(frozen=True, slots=True)
class ViewLink:
    """A saved view with its URL."""

    view: SavedView
    url: str
    is_own: bool
    is_here: bool


@dataclass(frozen=True, slots=True)
class ViewsPanel:
    """The views of a page, and what saving another one needs."""

    page: str
    query: str  # of the filters as they are now
    links: Sequence[ViewLink]
    typed_name: str = ""

    @property
    def own_links(self) -> list[ViewLink]:
        return [each for each in self.links if each.is_own]

    @property
    def is_open(self) -> bool:
        """Whether the form is open from the start: a view could not be saved."""
        return bool(self.typed_name)


def build_panel(request: HttpRequest, page: str) -> ViewsPanel:
    """Return the views of a page for the current user."""
    query = _keep_filters(request.GET)
    here = sorted(parse_qsl(query, keep_blank_values=True))
    links = [
        ViewLink(
            view,
            f"{reverse(f'admin:{page}')}?{view.query}",
            view.owner_id == request.user.pk,
            sorted(parse_qsl(view.query, keep_blank_values=True)) == here,
        )
        for view in stored_views.list_views(request.user, page)
    ]
    return ViewsPanel(page, query, links, request.session.pop(TYPED_NAME, ""))


@require_POST
def save(request: HttpRequest) -> HttpResponse:
    """Save the filters in `query` of the page in `page` under `name`, and show the page again."""
    page = _get_page(request)
    query, name = _keep_filters(QueryDict(request.POST.get("query", ""))), request.POST.get("name", "")
    try:
        view = stored_views.save_view(
            name=name,
            page=page,
            query=query,
            owner=request.user,
            is_shared="is_shared" in request.POST,
            at=timezone.now(),
        )
    except stored_views.ViewRefused as error:
        request.session[TYPED_NAME] = name[:200] or " "
        messages.error(request, f"Not saved. {error}")
    else:
        who = "Everyone who can open this page sees it." if view.is_shared else "Only you see it."
        messages.success(request, f"Saved the view “{view.name}”. {who}")
    return _show_page(page, query)


@require_POST
def delete(request: HttpRequest) -> HttpResponse:
    """Delete one's own view, and show its page with its filters, so that it can be saved again."""
    key = request.POST.get("view", "")
    views = SavedView.objects.filter(owner=request.user.pk)
    view = views.filter(pk=int(key)).first() if key.isascii() and key.isdigit() and len(key) < 19 else None
    if view is None or view.page not in PAGES:
        raise Http404("You have no such view. Reload the page.")
    page, query, name = view.page, view.query, view.name
    stored_views.delete_view(view, by=str(request.user), at=timezone.now())
    messages.success(request, f"Deleted the view “{name}”. Its filters are still on, so you can save them again.")
    return _show_page(page, query)


def _get_page(request: HttpRequest) -> str:
    page = request.POST.get("page", "")
    if page not in PAGES:
        raise Http404("Views of this page cannot be saved.")
    if not request.user.has_perms(PAGES[page]):
        raise PermissionDenied
    return page


def _show_page(page: str, query: str) -> HttpResponse:
    return redirect(f"{reverse(f'admin:{page}')}?{query}" if query else f"admin:{page}")


def _keep_filters(query: Any) -> str:
    """Return a query string without parameters other than filters, such as the page number."""
    return urlencode(
        [(name, value) for name, values in query.lists() if name not in OTHER_PARAMETERS for value in values]
    )


class PageFilter(KnownValuesFilter):
    title, parameter_name, values = "page", "page", tuple(PAGES)

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(page, PAGE_TITLES[page]) for page in self.values]


@admin.register(SavedView)
class SavedViewAdmin(AuditedAdmin):
    """Lists a person's own views and those that others share; all of them for users who can delete them."""

    empty = "Filter a report or the list of events, and save the filters there under a name."
    audit_kind = "view"
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
