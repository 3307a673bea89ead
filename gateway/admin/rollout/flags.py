"""The admin page of flags."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from analytics.admin import AuditedAdmin
from analytics.models import AuditEntry, Flag
from analytics.rollout import impact
from analytics.rollout.evaluation import Rollout
from analytics.rollout.flags import FLAGS, FlagKey
from gateway.admin.rollout.impact_preview import ImpactPreviewMixin


@admin.register(Flag)
class FlagAdmin(ImpactPreviewMixin, AuditedAdmin):
    """Flags are declared in the code, so they cannot be added or deleted here."""

    empty = "Flags are declared in the code. Run manage.py migrate to create their rows."
    audit_kind = AuditEntry.Kind.FLAG

    list_display = ["__str__", "flag_key", "default", "cohort_counts", "is_on"]
    fields = ["is_on", "flag_key", "default", "cohort_counts"]
    readonly_fields = ["flag_key", "default", "cohort_counts"]
    ordering = ["key"]
    search_fields = ["key"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Flag]:
        rows: QuerySet[Flag] = super().get_queryset(request)
        return rows.annotate(all=Count("cohorts"), on=Count("cohorts", filter=Q(cohorts__is_on=True)))

    @admin.display(description="key", ordering="key")
    def flag_key(self, row: Flag) -> str:
        """Return the key that OpenFeature clients send."""
        return row.key

    @admin.display(description="default")
    def default(self, row: Flag) -> str:
        """Return the variant of users in no cohort."""
        return FLAGS[FlagKey(row.key)].default if row.key in set(FlagKey) else "–"

    @admin.display(description="cohorts")
    def cohort_counts(self, row: Any) -> str:
        """Link to the flag's cohorts."""
        cohorts_url = f"{reverse('admin:analytics_cohort_changelist')}?{urlencode({'flag__key__exact': row.key})}"
        return format_html('<a href="{}">{}</a>', cohorts_url, f"{row.on} of {row.all} on") if row.all else "none"

    def get_audit_values(self, row: Flag) -> dict[str, Any]:
        return {"is_on": row.is_on}

    def build_rollout_from_form(self, request: HttpRequest, row: Flag | None) -> tuple[FlagKey, Rollout] | None:
        form = self.bind_form(request, row)
        if not form.is_valid() or form.instance.key not in set(FlagKey):
            return None
        return FlagKey(form.instance.key), impact.apply_flag(form.instance)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
