"""Lists of what happened, read only, and pages whose changes go to the audit log."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString

from analytics.reports.report_filter import COHORT_PARAMETER, NO_COHORT, match_cohort
from analytics.rollout.models import Cohort
from audit import audit_log
from core.admin import base, page_parts
from core.text.display import DASH, SETUP, SETUP_COMMANDS, describe_actor, with_hash
from registry.releases.stored_releases import list_release_labels, map_short_names

TIME_FILTER = ("time", admin.DateFieldListFilter)


def show_release(version: str) -> SafeString:
    """Return the name of the release that served something, with its hash on hover; a dash if it is not known."""
    return with_hash(map_short_names([version])[version], version) if version else DASH


class AuditHistoryAdmin(base.ModelAdmin[Any]):
    """Admin page whose history is the audit log, which has old and new values; Django's log has none."""

    def get_audit_key(self, row: Any) -> tuple[str, str]:
        """Return the kind and name of a row in the audit log."""
        raise NotImplementedError

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Redirect to the audit log of a row."""
        row = self.get_object(request, unquote(object_id))
        if row is None:
            raise Http404("This row does not exist.")
        if not self.has_view_or_change_permission(request, row):
            raise PermissionDenied
        kind, name = self.get_audit_key(row)
        changelist = reverse("admin:audit_auditentry_changelist")
        return redirect(f"{changelist}?{urlencode({'kind': kind, 'name': name})}")


class AuditedAdmin(AuditHistoryAdmin):
    """Admin page that records changes in the audit log. For rows other than copy, which records its own."""

    audit_kind: str

    def get_audit_key(self, row: Any) -> tuple[str, str]:
        return self.audit_kind, self.get_audit_name(row)

    def get_audit_name(self, row: Any) -> str:
        """Return the name of a row in the audit log."""
        return str(row)

    def get_audit_values(self, row: Any) -> dict[str, Any] | None:
        """Return the audited fields of a row as JSON values."""
        raise NotImplementedError

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        saved_row = type(obj)._default_manager.filter(pk=obj.pk).first() if change else None
        vars(request)["audited_before"] = self.get_audit_values(saved_row) if saved_row else None
        super().save_model(request, obj, form, change)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        row = type(form.instance)._default_manager.get(pk=form.instance.pk)
        self.record_change(request, row, vars(request).pop("audited_before"), self.get_audit_values(row))

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        self.record_change(request, obj, self.get_audit_values(obj), None)
        super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        for row in queryset:
            self.record_change(request, row, self.get_audit_values(row), None)
        super().delete_queryset(request, queryset)

    def record_change(
        self, request: HttpRequest, row: Any, before: audit_log.AuditValues | None, after: audit_log.AuditValues | None
    ) -> None:
        """Record what a user changed. `before` is None for an added row, `after` for a removed one."""
        audit_log.record_change(
            self.audit_kind, self.get_audit_name(row), before, after, by=str(request.user), at=timezone.now()
        )


class LogAdmin(base.ReadOnlyMixin, base.ModelAdmin[Any]):
    """Read-only list of log rows. A date hierarchy would read the whole table, so times have a filter instead."""

    show_full_result_count = False
    list_per_page = 50
    list_before_template = "console/filter_chips.html"

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Show the list, and above it what it is filtered by."""
        response = super().changelist_view(request, extra_context)
        context: dict[str, Any] | None = getattr(response, "context_data", None)
        if context is not None and "cl" in context:  # not so of a redirect
            context.update(self.build_list_context(request, context["cl"]))
        return response

    def build_list_context(self, request: HttpRequest, changelist: ChangeList) -> dict[str, Any]:
        """Return the variables of the template above the list. Filters for a release have its name."""
        chips = page_parts.list_chips(changelist)
        names = map_short_names(chip.value for chip in chips if len(chip.value) == audit_log.VERSION_LENGTH)
        return {"chips": [replace(chip, value=names.get(chip.value, chip.value)) for chip in chips]}


class ConditionFilter(admin.SimpleListFilter):
    """Filter for the rows that meet one of some named conditions."""

    choices_by_value: Mapping[str, tuple[str, Q]]  # {value: (label, condition)}

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(value, label) for value, (label, _) in self.choices_by_value.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        if value is None:
            return queryset
        if value not in self.choices_by_value:
            raise IncorrectLookupParameters
        return queryset.filter(self.choices_by_value[value][1])


class KnownValuesFilter(admin.SimpleListFilter):
    """Filter by a column whose values are known. Django would read the whole table to find them."""

    values: Sequence[str]

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(value, value) for value in self.values]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        return queryset if value is None else queryset.filter(**{str(self.parameter_name): value})


class ReleaseFilter(admin.AllValuesFieldListFilter):
    """Filter by the release that served something. Its options have the words of the list of releases."""

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        """Yield the options, the newest release first."""
        everything, *options = super().choices(changelist)
        by_version = {str(option["display"]): option for option in options}
        yield everything
        for version, label in list_release_labels(by_version):
            yield {**by_version[version], "display": label or "None"}


class ActorFilter(admin.SimpleListFilter):
    """Filter for what one person or job did. The set-up commands are one of them."""

    title, parameter_name = "person", "by"  # the parameter is the column

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        column = str(self.parameter_name)
        names = model_admin.get_queryset(request).order_by(column).values_list(column, flat=True).distinct()
        return [(name, name) for name in dict.fromkeys(map(describe_actor, names))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if not (name := self.value()):
            return queryset
        return queryset.filter(**{f"{self.parameter_name}__in": SETUP_COMMANDS if name == SETUP else [name]})


RELEASE_FILTER = ("release", ReleaseFilter)


class CohortFilter(admin.SimpleListFilter):
    """Filter for the rows with a cohort among those that decided. A row can have several."""

    title, parameter_name = "cohort", COHORT_PARAMETER

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        names = set(Cohort.objects.values_list("name", flat=True))
        if (value := self.value()) and value != NO_COHORT:
            names.add(value)  # a report may link to a cohort that was deleted
        return [(NO_COHORT, "No cohort"), *((name, name) for name in sorted(names))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(match_cohort(self.value() or ""))
