"""Base classes of the read-only lists of log rows, and filters that several of them have."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ChangeList
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse

from analytics.models import Cohort
from analytics.reports.report_filter import COHORT_PARAMETER, NO_COHORT, match_cohort
from core.admin import base, page_parts

TIME_FILTER = ("time", admin.DateFieldListFilter)


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
        """Return the variables of the template above the list."""
        return {"chips": page_parts.list_chips(changelist)}


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
