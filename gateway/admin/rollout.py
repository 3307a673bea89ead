"""Rollout in the admin: flags, the cohorts that decide them, and who was exposed to what."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from analytics.admin import Audited
from analytics.models import Assignment, AuditEntry, Cohort, CohortRule, Flag
from core import desk

SAID_OF_A_COHORT = ("name", "position", "is_on", "variant", "listed", "note")


class RuleInline(desk.TabularInline[CohortRule, Cohort]):
    model = CohortRule


@admin.register(Cohort)
class CohortAdmin(Audited):
    audit_kind = AuditEntry.Kind.COHORT
    list_display = ["name", "flag", "position", "is_on", "variant", "percentage", "note"]
    list_filter = ["flag", "is_on"]
    list_select_related = ["flag"]
    search_fields = ["name", "note", "variant"]
    inlines = [RuleInline]

    def audited(self, row: Cohort) -> dict[str, Any]:
        said: dict[str, Any] = {name: getattr(row, name) for name in SAID_OF_A_COHORT}
        rules = [str(rule) for rule in row.rules.all()]
        return said | {"flag": row.flag_id, "percentage": float(row.percentage), "rules": rules}


@admin.register(Flag)
class FlagAdmin(Audited):
    """Flags are declared in the code: nobody makes or deletes one here."""

    audit_kind = AuditEntry.Kind.FLAG

    list_display = ["__str__", "key", "is_on"]
    readonly_fields = ["key"]
    search_fields = ["key"]

    def audited(self, row: Flag) -> dict[str, Any]:
        return {"is_on": row.is_on}

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
