"""The admin page of assignments: who was exposed to which variant."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from analytics.admin.log_lists import TIME_FILTER
from analytics.models import Assignment
from core.admin import base
from gateway.admin.rollout.variants import annotate_releases, name_annotated_variant, title_flag


@admin.register(Assignment)
class AssignmentAdmin(base.ReadOnlyMixin, base.ModelAdmin[Assignment]):
    empty = "No exposures yet. docs/rollout-guide.md shows how a chat service asks for a variant."
    list_display = ["subject", "flag_title", "variant_label", "cohort", "time"]
    list_filter = ["flag", "variant", "cohort", TIME_FILTER]
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
