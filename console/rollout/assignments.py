"""The admin page of assignments: who was exposed to which variant."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from analytics.models import Assignment, Cohort
from analytics.rollout.flags import FLAGS
from console.log_lists import TIME_FILTER, KnownValuesFilter
from console.rollout.variants import annotate_releases, name_annotated_variant, name_variants, title_flag
from core.admin import base


class FlagFilter(KnownValuesFilter):
    title, parameter_name, values = "flag", "flag", tuple(FLAGS)

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(key, title_flag(key)) for key in self.values]


class CohortNameFilter(KnownValuesFilter):
    """Filter by a cohort that exists, or by that of a link."""

    title, parameter_name = "cohort", "cohort"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        names = {*Cohort.objects.values_list("name", flat=True), *filter(None, [self.value()])}
        return [(name, name) for name in sorted(names)]


class VariantFilter(KnownValuesFilter):
    """Filter by the variants that flags declare, and the releases that cohorts are on."""

    title, parameter_name = "variant", "variant"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        declared = [variant for flag in FLAGS.values() for variant in flag.variants]
        used = Cohort.objects.order_by("variant").values_list("variant", flat=True).distinct()
        return list(name_variants([*declared, *used, *filter(None, [self.value()])]).items())


@admin.register(Assignment)
class AssignmentAdmin(base.ReadOnlyMixin, base.ModelAdmin[Assignment]):
    empty = "No exposures yet. docs/rollout-guide.md shows how a chat service asks for a variant."
    list_display = ["subject", "flag_title", "variant_label", "cohort", "time"]
    list_filter = [FlagFilter, VariantFilter, CohortNameFilter, TIME_FILTER]
    search_fields = ["subject"]
    show_full_result_count = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Assignment]:
        return annotate_releases(super().get_queryset(request))

    @admin.display(description="flag", ordering="flag")
    def flag_title(self, row: Assignment) -> str:
        return title_flag(row.flag)

    @admin.display(description="variant", ordering="variant")
    def variant_label(self, row: Assignment) -> str:
        return name_annotated_variant(row)
