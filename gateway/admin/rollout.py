"""Rollout in the admin: flags, the cohorts that decide them, and who was exposed to what."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from analytics.models import Assignment, Cohort, CohortRule, Flag
from core import desk


class RuleInline(desk.TabularInline[CohortRule, Cohort]):
    model = CohortRule


@admin.register(Cohort)
class CohortAdmin(desk.ModelAdmin[Cohort]):
    list_display = ["name", "flag", "position", "is_on", "variant", "percentage", "note"]
    list_filter = ["flag", "is_on"]
    list_select_related = ["flag"]
    search_fields = ["name", "note", "variant"]
    inlines = [RuleInline]


@admin.register(Flag)
class FlagAdmin(desk.ModelAdmin[Flag]):
    """Flags are declared in the code: nobody makes or deletes one here."""

    list_display = ["__str__", "key", "is_on"]
    readonly_fields = ["key"]
    search_fields = ["key"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Assignment)
class AssignmentAdmin(desk.ReadOnly, desk.ModelAdmin[Assignment]):
    date_hierarchy = "time"
    list_display = ["subject", "flag", "variant", "cohort", "time"]
    list_filter = ["flag", "variant", "cohort"]
    search_fields = ["subject"]
    show_full_result_count = False
