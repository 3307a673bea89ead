"""The page of the audit log."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest

from audit import audit_log
from audit.models import AuditEntry
from console.log_pages import TIME_FILTER, ActorFilter, LogAdmin
from core import manifest
from core.templatetags.admin_format import breakable
from registry.releases.stored_releases import map_short_names


class AuditKindFilter(admin.SimpleListFilter):
    """Filter for a kind of rows that the user can see."""

    title, parameter_name = "kind", "kind__exact"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        kinds = manifest.get().audit_kinds
        return [(name, kinds[name].label) for name in list_visible_kinds(request)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(kind=kind) if (kind := self.value()) else queryset


class ActionFilter(admin.ChoicesFieldListFilter):
    """Filter for what was done, in the words of the list."""

    def choices(self, changelist: Any) -> Iterator[Any]:
        everything, *others = super().choices(changelist)
        yield everything
        for each, action in zip(others, AuditEntry.Action, strict=True):
            yield {**each, "display": audit_log.name_action(action)}


def list_visible_kinds(request: HttpRequest) -> list[str]:
    """Return the kinds of entries that the user may see, which for many leaves out users and API keys.

    The kinds of an app that was removed are not among them: nobody can tell any more who may see them.
    """
    kinds = manifest.get().audit_kinds
    return [name for name, kind in kinds.items() if not kind.permission or request.user.has_perm(kind.permission)]


def filter_visible(entries: QuerySet[AuditEntry], request: HttpRequest) -> QuerySet[AuditEntry]:
    """Return only the entries whose kind the user may see. Superusers see those of removed apps, too."""
    return entries if request.user.is_superuser else entries.filter(kind__in=list_visible_kinds(request))


def _get_releases(entry: Any) -> Mapping[str, str]:
    """Return the names of the releases in an entry. The list knows them already."""
    names: Mapping[str, str] | None = getattr(entry, "releases", None)
    return map_short_names(audit_log.find_versions([entry])) if names is None else names


class AuditChangeList(ChangeList):
    """The audit log, with the names of the releases in it."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        releases = map_short_names(audit_log.find_versions(self.result_list))
        for entry in self.result_list:
            entry.releases = releases


class AuditEntryAdmin(LogAdmin):
    """The audit log. Registered by the apps that own the rows, which add actions for an entry."""

    empty = "Edit an op. This list then shows who changed what, and the previous text."
    list_display = ["time", "by", "changed_entry", "what_changed", "note"]
    list_display_links = ["changed_entry"]
    list_filter = [ActorFilter, AuditKindFilter, ("action", ActionFilter), TIME_FILTER]
    link_lookups = ["kind", "name"]
    search_fields = ["name", "by", "note"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[AuditEntry]:
        """Leave out entries about rows that the user may not view, such as users and API keys."""
        entries: QuerySet[AuditEntry] = super().get_queryset(request)
        if not self.has_view_permission(request):
            return entries  # the pages refuse the user anyway
        return filter_visible(entries, request)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return AuditChangeList

    @admin.display(description="what", ordering="name")
    def changed_entry(self, entry: Any) -> str:
        return breakable(audit_log.describe_entry(entry, _get_releases(entry)))

    @admin.display(description="before and after")
    def what_changed(self, entry: Any) -> str:
        return audit_log.describe_changes(entry, _get_releases(entry))
