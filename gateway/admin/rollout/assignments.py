"""The admin page of assignments: who was exposed to which variant."""

from django.contrib import admin

from analytics.admin.log_lists import TIME_FILTER
from analytics.models import Assignment
from core.admin import base
from gateway.admin.rollout.variants import shorten_variant


@admin.register(Assignment)
class AssignmentAdmin(base.ReadOnlyMixin, base.ModelAdmin[Assignment]):
    empty = "No exposures yet. docs/rollout-guide.md shows how a chat service asks for a variant."
    list_display = ["subject", "flag", "variant_label", "cohort", "time"]
    list_filter = ["flag", "variant", "cohort", TIME_FILTER]
    search_fields = ["subject"]
    show_full_result_count = False

    @admin.display(description="variant", ordering="variant")
    def variant_label(self, row: Assignment) -> str:
        return shorten_variant(row.variant)
