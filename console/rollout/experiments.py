"""Experiments: the list, the form of a draft, and what stays open to changes while one runs; prices of models."""

from collections.abc import Iterable
from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.utils import timezone
from unfold.widgets import UnfoldAdminTextareaWidget

from analytics.experiments import lifecycle, metric_text, planning, results
from analytics.experiments.lifecycle import ExperimentRefused
from analytics.experiments.metrics import FAILURE_RATE, METRICS
from analytics.flags import FlagKey
from analytics.rollout.experiments import Experiment, ExperimentResult
from analytics.rollout.models import Flag
from analytics.turns.prices import ModelPrice
from audit import audit_log
from console.log_pages import AuditedAdmin
from console.rollout import experiment_form, experiment_page, experiment_steps, experiment_tables, plan_text
from console.rollout.experiment_form import ArmInline, AudienceInline, ExperimentForm
from console.rollout.experiment_steps import ExperimentStepMixin
from console.rollout.plan_text import PlannedExperiment
from core.admin.page_parts import LivePreviewAdmin
from core.text.display import DASH

INCOMPLETE_FORM = "Choose the arms and fill in the form to see the plan."


def is_draft(experiment: Experiment | None) -> bool:
    """Return whether the plan can change: that of a new experiment, or of a draft."""
    return experiment is None or experiment.state == Experiment.State.DRAFT


@admin.register(Experiment)
class ExperimentAdmin(ExperimentStepMixin, LivePreviewAdmin, AuditedAdmin):
    """A draft is a form. A running experiment is a page of results, whose plan cannot change."""

    empty = "An experiment compares variants on users drawn by lot, and says when a difference is more than chance."
    audit_kind = "experiment"
    preview_path = "plan"
    form = ExperimentForm
    change_form_template = "console/rollout/experiment_form.html"
    compressed_fields = False  # labels above inputs, because the plan is next to the form
    list_display = ["name", "flag", "state", "metric", "difference", "users", "started_at", "owner"]
    list_filter = ["state", "flag"]
    list_select_related = ["flag"]
    search_fields = ["name", "hypothesis", "owner"]
    go_to_order = 3

    class Media:
        css = {"all": ["console/report.css"]}
        js = [forms.Script("console/impact.js", defer=True)]

    # --- the list ---

    def get_queryset(self, request: HttpRequest) -> QuerySet[Experiment]:
        latest = ExperimentResult.objects.filter(experiment=OuterRef("pk")).order_by("-hour")
        names = ("difference", "low", "high", "subjects")
        columns = {f"latest_{name}": Subquery(latest.values(name)[:1]) for name in names}
        rows: QuerySet[Experiment] = super().get_queryset(request).annotate(**columns).prefetch_related("arms__rules")
        return rows

    @admin.display(description="primary metric", ordering="primary_metric")
    def metric(self, row: Experiment) -> str:
        return METRICS[row.primary_metric].title

    @admin.display(description="difference")
    def difference(self, row: Any) -> str:
        """Return the primary difference with its interval."""
        if row.latest_difference is None:
            return DASH
        metric = METRICS[row.primary_metric]
        if row.latest_low is None or row.latest_high is None:
            return metric_text.format_difference(metric, row.latest_difference)
        interval = metric_text.format_range(metric, row.latest_low, row.latest_high)
        return f"{metric_text.format_difference(metric, row.latest_difference)} ({interval})"

    @admin.display(description="users", ordering="latest_subjects")
    def users(self, row: Any) -> str:
        return DASH if row.latest_subjects is None else f"{row.latest_subjects:,}"

    # --- the form ---

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name in ("hypothesis", "note"):
            kwargs["widget"] = UnfoldAdminTextareaWidget(attrs={"rows": 3})
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {
            "owner": str(request.user),
            "guardrails": [FAILURE_RATE.name],
            **super().get_changeform_initial_data(request),
        }

    def get_fieldsets(self, request: HttpRequest, obj: Experiment | None = None) -> Any:
        if is_draft(obj):
            return [
                (None, {"fields": experiment_form.SETUP_FIELDS}),
                ("How it is judged", {"fields": experiment_form.JUDGED_BY_FIELDS}),
            ]
        return [(None, {"fields": experiment_form.OPEN_FIELDS})]

    def get_form(self, request: HttpRequest, obj: Experiment | None = None, change: bool = False, **kwargs: Any) -> Any:
        if not is_draft(obj):
            kwargs["form"] = forms.ModelForm
        return super().get_form(request, obj, change, **kwargs)

    def get_inlines(self, request: HttpRequest, obj: Experiment | None) -> Any:
        return [ArmInline, AudienceInline] if is_draft(obj) else []

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Refuse a plan that was edited while the experiment was started. With `csv`, download a table."""
        experiment = self.get_object(request, unquote(object_id)) if object_id else None
        if experiment and "csv" in request.GET and self.has_view_permission(request, experiment):
            return self._download_table(request, experiment)
        if object_id and request.method == "POST" and "primary_metric" in request.POST:
            try:
                lifecycle.check_editable(experiment or Experiment())
            except ExperimentRefused as error:
                self.message_user(request, str(error), messages.ERROR)
                return redirect("admin:analytics_experiment_change", object_id)
        return super().changeform_view(request, object_id, form_url, extra_context)

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        experiment, at = kwargs.get("obj"), timezone.now()
        may_change = experiment is not None and self.has_change_permission(request, experiment)
        if experiment and not is_draft(experiment):
            context |= experiment_page.build_page(request, experiment, at, may_change=may_change)
            response: Any = super().render_change_form(request, context, *args, **kwargs)
            response.template_name = "console/rollout/experiment.html"
            return cast(HttpResponse, response)
        if experiment and may_change:
            context["steps"] = experiment_steps.list_steps(request, experiment, at, is_better=False)
            context["seen"] = experiment_steps.describe_state(experiment)
        context["show_save_and_continue"] = False
        return super().render_change_form(request, context, *args, **kwargs)

    def _download_table(self, request: HttpRequest, experiment: Experiment) -> HttpResponse:
        """Return a table of the page as a CSV file."""
        latest = results.get_latest(experiment)
        for table in experiment_tables.build_tables(experiment, latest.figures or {}) if latest else ():
            if table.name == request.GET["csv"]:
                name = f"Experiment {experiment.name}, {table.title}"
                audit_log.record_export("report", name, by=str(request.user), at=timezone.now())
                return table.to_csv_response(f"{experiment.name}-{table.name}")
        raise Http404("There is no such table.")

    def save_model(self, request: HttpRequest, obj: Experiment, form: Any, change: bool) -> None:
        if not is_draft(obj):
            super().save_model(request, obj, form, change)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        if not is_draft(form.instance):
            super().save_related(request, form, formsets, change)
            return
        planned, at, by = self._read_planned(form.instance, formsets), timezone.now(), str(request.user)
        planning.plan_experiment(*planned, at).apply(planned.experiment)
        save = lifecycle.change_draft if change else lifecycle.create_experiment
        save(*planned, by=by, at=at)

    def construct_change_message(self, request: HttpRequest, form: Any, formsets: Any, add: bool = False) -> Any:
        """Return nothing: the audit log has what changed."""
        return []

    def response_add(self, request: HttpRequest, obj: Experiment, post_url_continue: str | None = None) -> HttpResponse:
        return self._show_saved(request, obj)

    def response_change(self, request: HttpRequest, obj: Experiment) -> HttpResponse:
        return self._show_saved(request, obj)

    def _show_saved(self, request: HttpRequest, experiment: Experiment) -> HttpResponse:
        """Stay on its page: the next step of a draft is to start it."""
        waiting = " Nobody gets it until you start it." if is_draft(experiment) else ""
        self.message_user(request, f"Saved {experiment.name}.{waiting}", messages.SUCCESS)
        return redirect("admin:analytics_experiment_change", experiment.pk)

    def _read_planned(self, experiment: Experiment, formsets: Iterable[Any]) -> PlannedExperiment:
        arms, audience = formsets
        plans = arms.list_plans()
        experiment.flag = Flag.objects.get(pk=FlagKey(experiment_form.find_flag(plans[0].variant)))
        return PlannedExperiment(experiment, plans, audience.list_rules())

    # --- the plan beside the form ---

    def render_preview(self, request: HttpRequest, row: Experiment | None) -> str:
        planned = self._bind_planned(request, row) if is_draft(row) else None
        if planned is None:
            return render_to_string("console/rollout/impact.html", {"lines": [INCOMPLETE_FORM]})
        at = timezone.now()
        parts = {"plan": plan_text.describe_plan(planned, at), "effect": plan_text.describe_start(planned, at)}
        return render_to_string("console/rollout/plan.html", parts)

    def _bind_planned(self, request: HttpRequest, row: Experiment | None) -> PlannedExperiment | None:
        """Return the posted form; None if it has errors."""
        form = self.bind_form(request, row)
        is_valid = form.is_valid()
        if set(form.errors) - {"name"}:  # which the plan does not need
            return None
        formsets, _ = self._create_formsets(request, form.instance, change=row is not None)  # type: ignore[attr-defined]  # Django has it
        if not is_valid and not form.instance.name:
            form.instance.name = "new"
        return self._read_planned(form.instance, formsets) if all(each.is_valid() for each in formsets) else None

    # --- deleting ---

    def has_delete_permission(self, request: HttpRequest, obj: Experiment | None = None) -> bool:
        """Only drafts can be deleted: what was measured stays."""
        return is_draft(obj) and super().has_delete_permission(request, obj)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        return [str(each) for each in objs], {}, set(), [str(each) for each in objs if not is_draft(each)]

    def delete_model(self, request: HttpRequest, obj: Experiment) -> None:
        lifecycle.delete_draft(obj, by=str(request.user), at=timezone.now())

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Experiment]) -> None:
        for experiment in queryset:
            self.delete_model(request, experiment)

    def get_audit_values(self, row: Experiment) -> dict[str, Any]:
        return row.list_audit_values()


@admin.register(ModelPrice)
class ModelPriceAdmin(AuditedAdmin):
    empty = "Experiments count all models at GATEWAY_DOLLARS_PER_MILLION_TOKENS, until you add a model family here."
    audit_kind = "price"
    list_display = ["family", "dollars_per_million"]
    fields = ["family", "dollars_per_million"]
    search_fields = ["family"]

    def get_audit_values(self, row: ModelPrice) -> dict[str, Any]:
        return {"family": row.family, "dollars_per_million": float(row.dollars_per_million)}
