"""The page of cohorts, with their rules."""

from collections.abc import Iterator
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import admin, messages
from django.contrib.admin import SimpleListFilter
from django.contrib.admin.actions import delete_selected
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import ChangeList
from django.db.models import Count, F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from unfold.widgets import UnfoldAdminSelectWidget

from analytics.flags import FLAGS, FlagKey
from analytics.reports.report_filter import NO_COHORT
from analytics.rollout import impact
from analytics.rollout.evaluation import Rollout
from analytics.rollout.experiments import build_ended_arm_filter
from analytics.rollout.models import MAX_VALUE_LENGTH, Assignment, Cohort, CohortRule
from console.log_pages import AuditedAdmin
from console.reports.parts.verdicts import EVERYONE_ELSE
from console.rollout import cohort_facts, cohort_steps, impact_text
from console.rollout.cohort_steps import CohortStepMixin
from console.rollout.cohort_widening import CohortWideningMixin
from console.rollout.exposures import annotate_releases, build_variant_choices, name_annotated_variant
from console.rollout.impact_text import ImpactPreviewMixin
from core.admin import base
from core.text.display import DASH, with_hash
from registry.models import Release


class CohortForm(forms.ModelForm[Cohort]):
    """A cohort's form. A new cohort belongs to the flag that has its variant."""

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        if self.instance._state.adding and "variant" in self.cleaned_data:
            flags = (each.key for each in FLAGS.values() if each.accepts(self.cleaned_data["variant"]))
            self.instance.flag_id = next(flags)  # the choices are the variants of all flags
        return cleaned


class CohortChangeList(ChangeList):
    """The list of cohorts, each with the share of last week's users that it reaches."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        shares = impact.measure_shares(timezone.now())
        for cohort in self.result_list:
            cohort.share_reached = shares.get(cohort.name)


class EndedArmsFilter(SimpleListFilter):
    """Leaves out the arms of experiments that are over, unless they are asked for."""

    title, parameter_name = "ended arms", "ended_arms"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return [("shown", "Shown")]

    def choices(self, changelist: Any) -> Iterator[Any]:
        left_out, *others = super().choices(changelist)
        yield {**left_out, "display": "Left out"}
        yield from others

    def queryset(self, request: HttpRequest, queryset: QuerySet[Cohort]) -> QuerySet[Cohort]:
        return queryset if self.value() else queryset.exclude(build_ended_arm_filter())


class CohortRuleInline(base.TabularInline[CohortRule, Cohort]):
    model = CohortRule
    line_lists = {"values": MAX_VALUE_LENGTH}


@admin.register(Cohort)
class CohortAdmin(CohortStepMixin, CohortWideningMixin, ImpactPreviewMixin, AuditedAdmin):
    line_lists = {"listed": MAX_VALUE_LENGTH}
    change_form_template = "console/rollout/cohort_form.html"
    empty = "Everyone gets each flag's default. Add a cohort to give some users another variant."
    audit_kind = "cohort"
    form = CohortForm
    fields = ["name", "variant", "is_on", "percentage", "is_guarded", "listed", "note"]
    list_display = ["name", "flag", "members", "share", "variant_label", "exposed", "is_on"]
    list_filter = ["flag", "is_on", EndedArmsFilter]
    list_select_related = ["flag", "experiment"]
    search_fields = ["name", "note", "variant", "rules__trait", "rules__values"]
    go_to_order = 3
    inlines = [CohortRuleInline]
    actions = ["delete_selected"]

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Offer the variants of all flags; releases among them only if they can still be served."""
        if db_field.name == "variant":
            widget = UnfoldAdminSelectWidget()
            field = forms.ChoiceField(
                choices=build_variant_choices, widget=widget, help_text=db_field.help_text, required=True
            )
            field.error_messages["invalid_choice"] = "%(value)s is not a variant of this flag. Choose one that is."
            return field
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def get_form(self, request: HttpRequest, obj: Cohort | None = None, change: bool = False, **kwargs: Any) -> Any:
        """Offer an existing cohort the variants of its own flag only: a move would change two flags."""
        form: Any = super().get_form(request, obj, change, **kwargs)
        flag = obj.flag_id if obj else request.GET.get("flag", "")
        if flag in set(FlagKey) and "variant" in form.base_fields:
            form.base_fields["variant"].choices = partial(build_variant_choices, flag)
        return form

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return CohortChangeList

    def get_fields(self, request: HttpRequest, obj: Cohort | None = None) -> Any:
        """Name the variant and format the share for users who can only view."""
        is_view_only = obj is not None and not self.has_change_permission(request, obj)
        labels = {"variant": "variant_label", "percentage": "percentage_label"} if is_view_only else {}
        return [labels.get(str(name), name) for name in super().get_fields(request, obj)]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Cohort]:
        exposures = Assignment.objects.filter(cohort=OuterRef("name")).order_by().values("cohort")
        count = exposures.annotate(count=Count("subject", distinct=True)).values("count")
        rows: QuerySet[Cohort] = annotate_releases(super().get_queryset(request))
        on = Cohort.objects.filter(flag=OuterRef("flag"), is_on=True).order_by("position").values("position")[:1]
        return rows.prefetch_related("rules").annotate(
            exposed=Coalesce(Subquery(count), 0), first_position=Coalesce(Subquery(on), F("position"))
        )

    @admin.display(description="who")
    def members(self, cohort: Any) -> str:
        who = str(cohort.describe_members(is_first=cohort.position == cohort.first_position))
        if cohort.experiment is None:
            return who
        experiment_url = reverse("admin:analytics_experiment_change", args=[cohort.experiment_id])
        return format_html('{}, arm of <a href="{}">{}</a>', who, experiment_url, cohort.experiment)

    def has_change_permission(self, request: HttpRequest, obj: Cohort | None = None) -> bool:
        """Arms change with their experiment only: another share or variant would spoil its figures."""
        return super().has_change_permission(request, obj) and (obj is None or obj.experiment_id is None)

    def has_delete_permission(self, request: HttpRequest, obj: Cohort | None = None) -> bool:
        return super().has_delete_permission(request, obj) and (obj is None or obj.experiment_id is None)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Keep the arms of experiments."""
        deleted, counts, missing, kept = super().get_deleted_objects(objs, request)
        return (
            deleted,
            counts,
            missing,
            [*kept, *(f"{each}, an arm of {each.experiment}" for each in objs if each.experiment)],
        )

    @admin.display(description="of last week's users", ordering="percentage")
    def share(self, cohort: Any) -> str:
        """Return the share of users that the cohort reaches, also by its list; a dash if it reaches none."""
        if cohort.share_reached is None:
            return DASH
        return format_html(
            '<span class="ui-percentage"><progress value="{0}" max="100" aria-hidden="true"></progress>{0}%</span>',
            round(cohort.share_reached * 100),
        )

    @admin.display(description="variant", ordering="variant")
    def variant_label(self, cohort: Cohort) -> str:
        return with_hash(name_annotated_variant(cohort), cohort.variant)

    @admin.display(description="percentage")
    def percentage_label(self, cohort: Cohort) -> str:
        return f"{float(cohort.percentage):g}%"

    @admin.display(description="exposed", ordering="exposed")
    def exposed(self, cohort: Any) -> str:
        """Link to the users who were exposed to it."""
        changelist_url = reverse("admin:analytics_assignment_changelist")
        return format_html('<a href="{}?cohort={}">{}</a>', changelist_url, cohort.name, f"{cohort.exposed:,}")

    def build_rollout_from_form(self, request: HttpRequest, row: Cohort | None) -> tuple[FlagKey, Rollout] | None:
        form = self.bind_form(request, row)
        if not form.is_valid():
            return None
        cohort = form.instance
        rules: list[CohortRule] = []
        for formset, inline in self.get_formsets_with_inlines(request, row):
            bound = formset(data=request.POST, instance=cohort, queryset=inline.get_queryset(request))
            if not bound.is_valid():
                return None
            filled_forms = [each for each in bound.forms if each.cleaned_data and each not in bound.deleted_forms]
            rules += [each.instance for each in filled_forms]
        return FlagKey(cohort.flag_id), impact.apply_cohort(cohort, rules)

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Add what is known about the cohort, and links to its results and exposures."""
        if cohort := kwargs.get("obj"):
            context["facts"] = cohort_facts.build_facts(request, cohort, timezone.now())
            if "verdict" in context["facts"] and self.has_change_permission(request, cohort):
                context["steps"] = cohort_steps.list_steps(cohort, context["facts"]["advice"])
                context["seen"] = cohort_steps.describe_state(cohort)
            query, comparison_query = (
                urlencode({"cohort": cohort.name}),
                urlencode({"first": NO_COHORT, "second": cohort.name}),
            )
            context["make_live_url"] = _find_make_live_url(request, cohort)
            context["related"] = [
                ("Results", f"{reverse('admin:report_overview')}?{query}"),
                (f"Compare with {EVERYONE_ELSE}", f"{reverse('admin:report_comparison')}?{comparison_query}"),
                ("Exposures", f"{reverse('admin:analytics_assignment_changelist')}?{query}"),
            ]
            if widen_url := self.find_widen_url(request, cohort):
                context["related"].append(("Widen step by step", widen_url))
        return super().render_change_form(request, context, *args, **kwargs)

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """Show on the confirmation page what deleting the cohort means for its users."""
        cohort = self.get_object(request, unquote(object_id))
        if request.method == "GET" and cohort is not None and self.has_delete_permission(request, cohort):
            _add_removal_messages(request, [cohort])
        return super().delete_view(request, object_id, extra_context)

    @admin.action(permissions=["delete"], description="Delete selected cohorts")
    def delete_selected(self, request: HttpRequest, queryset: QuerySet[Cohort]) -> HttpResponse | None:
        """Show on the confirmation page what deleting the cohorts means for their users."""
        if not request.POST.get("post"):
            _add_removal_messages(request, list(queryset))
        return delete_selected(self, request, queryset)

    def get_audit_values(self, row: Cohort) -> dict[str, Any]:
        return row.list_audit_values()


def _find_make_live_url(request: HttpRequest, cohort: Cohort) -> str:
    """Return the page that makes the cohort's release live for everyone; "" if it cannot be, or the user may not."""
    is_waiting = cohort.flag_id == FlagKey.RELEASE and cohort.is_on and request.user.has_perm("registry.add_release")
    servable = Release.objects.filter(version=cohort.variant, withdrawn_at=None).exclude(activations__is_live=True)
    if is_waiting and servable.exists():
        return reverse("admin:registry_release_make_live", args=[cohort.variant])
    return ""


def _add_removal_messages(request: HttpRequest, cohorts: list[Cohort]) -> None:
    """Add messages that describe the effect of removing cohorts, for each flag."""
    after = impact.remove_cohorts(cohorts)
    for flag in sorted({FlagKey(cohort.flag_id) for cohort in cohorts}):
        for line in impact_text.describe_impact(impact_text.compute_impact(flag, after, at=timezone.now())):
            messages.info(request, line)
