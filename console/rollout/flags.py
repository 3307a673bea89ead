"""The page of flags."""

from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Count, Q, QuerySet
from django.forms import Script
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.views.decorators.http import require_POST

from analytics.flags import FLAGS, FlagKey
from analytics.rollout import holdouts, impact, models
from analytics.rollout.evaluation import Rollout
from analytics.rollout.experiments import build_ended_arm_filter
from analytics.rollout.holdouts import HoldoutRefused
from analytics.rollout.models import Flag
from console.log_pages import AuditedAdmin
from console.rollout.impact_text import ImpactPreviewMixin
from core.text.display import DASH
from registry.releases import stored_releases

COHORT_INPUT = "cohort"  # one input for each cohort, in the order of evaluation


class FlagForm(forms.ModelForm[Flag]):
    """A flag's form. The page sends the ids of its cohorts in the order of evaluation."""

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        try:
            self.cohort_ids = [int(each) for each in self.data.getlist(COHORT_INPUT)]  # type: ignore[attr-defined]
        except ValueError:
            raise ValidationError("The order of the cohorts is not valid. Reload the page.") from None
        if self.cohort_ids:
            models.check_complete(self.instance, self.cohort_ids)
        return cleaned


@admin.register(Flag)
class FlagAdmin(ImpactPreviewMixin, AuditedAdmin):
    """Flags are declared in the code, so they cannot be added or deleted here."""

    empty = "Flags are declared in the code. Run manage.py migrate to create their rows."
    audit_kind = "flag"
    form = FlagForm
    change_form_template = "console/rollout/flag_form.html"

    class Media:
        js = [Script("console/cohort_order.js", defer=True)]

    list_display = ["__str__", "flag_key", "default", "cohort_counts", "is_on"]
    fields = ["is_on", "flag_key", "default", "cohort_counts"]
    readonly_fields = ["flag_key", "default", "cohort_counts"]
    ordering = ["key"]
    search_fields = ["key"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Flag]:
        rows: QuerySet[Flag] = super().get_queryset(request)
        shown = ~build_ended_arm_filter("cohorts__")
        return rows.annotate(all=Count("cohorts", filter=shown), on=Count("cohorts", filter=Q(cohorts__is_on=True)))

    @admin.display(description="key", ordering="key")
    def flag_key(self, row: Flag) -> str:
        """Return the key that OpenFeature clients send."""
        return row.key

    @admin.display(description="default")
    def default(self, row: Flag) -> str:
        """Return the variant of users in no cohort."""
        return FLAGS[FlagKey(row.key)].default if row.key in set(FlagKey) else DASH

    @admin.display(description="cohorts")
    def cohort_counts(self, row: Any) -> str:
        """Link to the flag's cohorts."""
        cohorts_url = f"{reverse('admin:analytics_cohort_changelist')}?{urlencode({'flag__key__exact': row.key})}"
        return format_html('<a href="{}">{}</a>', cohorts_url, f"{row.on} of {row.all} on") if row.all else "none"

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Add the flag's cohorts, in the order of evaluation."""
        if flag := kwargs.get("obj"):
            rows = flag.cohorts.prefetch_related("rules")
            cohorts = list(rows.exclude(build_ended_arm_filter()))
            first = next((each for each in cohorts if each.is_on), None)
            context["cohorts"] = [(each, each.describe_members(is_first=each == first)) for each in cohorts]
            context["ended_arms"] = rows.filter(build_ended_arm_filter())
            context["may_order"] = self.has_change_permission(request, flag)
            if flag.key in set(FlagKey) and request.user.has_perm("analytics.add_cohort"):
                context["holdout"] = holdouts.build_holdout(
                    flag, live=stored_releases.get_live_version(), at=timezone.now()
                )
        return super().render_change_form(request, context, *args, **kwargs)

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.holdout_view)
        return [path("<path:object_id>/holdout/", view, name="analytics_flag_holdout"), *super().get_urls()]

    @method_decorator(require_POST)
    def holdout_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Hold out a share of the users for the rest of the quarter."""
        flag = self.get_object(request, unquote(object_id))
        if flag is None or flag.key not in set(FlagKey):
            raise Http404("This flag does not exist.")
        if not request.user.has_perm("analytics.add_cohort"):
            raise PermissionDenied
        live = stored_releases.get_live_version()
        try:
            cohort = holdouts.create_holdout(flag, live=live, by=str(request.user), at=timezone.now())
        except HoldoutRefused as error:
            self.message_user(request, str(error), messages.WARNING)
            return redirect("admin:analytics_flag_change", flag.pk)
        self.message_user(request, f"{cohort.name} holds out 5% of the users. {cohort.note}", messages.SUCCESS)
        return redirect("admin:analytics_cohort_change", cohort.pk)

    def save_model(self, request: HttpRequest, obj: Flag, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if form.cohort_ids:
            models.set_order(obj, form.cohort_ids)

    def get_audit_values(self, row: Flag) -> dict[str, Any]:
        return {"is_on": row.is_on, "cohorts": [cohort.name for cohort in row.cohorts.order_by("position")]}

    def build_rollout_from_form(self, request: HttpRequest, row: Flag | None) -> tuple[FlagKey, Rollout] | None:
        form = self.bind_form(request, row)
        if not form.is_valid() or form.instance.key not in set(FlagKey):
            return None
        return FlagKey(form.instance.key), impact.apply_flag(form.instance, form.cohort_ids)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
