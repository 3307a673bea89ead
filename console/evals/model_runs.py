"""The pages of evals with a model: start a run, watch it, stop it, read what the model called."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from core.admin import base
from core.templatetags.admin_format import percent
from gateway.model_evals import job
from gateway.models import ModelRun

SETTINGS = ["target", "tier", "case_set", "tag", "case_limit"]


class ModelRunForm(forms.ModelForm):  # type: ignore[type-arg]
    """A new run. Refuses one that could not start."""

    def clean(self) -> Any:
        cleaned = super().clean()
        if not self.errors:
            run = ModelRun(**{name: self.cleaned_data[name] for name in SETTINGS})
            try:
                job.check_can_start(run)
            except job.RunRefused as error:
                self.add_error(None, str(error))
        return cleaned


@admin.register(ModelRun)
class ModelRunAdmin(base.ModelAdmin[ModelRun]):
    form = ModelRunForm
    has_history = False
    change_form_outer_after_template = "console/evals/model_run_results.html"
    empty = "A language model works on eval cases with the three tools. Add a run; it needs LLM_BASE_URL."
    list_display = ["created_at", "target", "model", "shown_state", "progress", "ops_right", "args_right", "created_by"]
    list_filter = ["state", "target", "tier"]
    search_fields = ["model", "created_by", "version"]
    actions = ["stop"]

    def get_fieldsets(self, request: HttpRequest, obj: ModelRun | None = None) -> Any:
        """Return the settings of a new run; for a started one, also its result."""
        if obj is None:
            return [(None, {"fields": SETTINGS})]
        lines = [("shown_state", "progress"), ("ops_right", "args_right"), ("model", "dollars"), "version"]
        return [
            (None, {"fields": lines}),
            ("Settings", {"fields": [("target", "tier"), ("case_set", "tag"), "case_limit"]}),
        ]

    def get_readonly_fields(self, request: HttpRequest, obj: ModelRun | None = None) -> list[str]:
        shown = ["shown_state", "progress", "ops_right", "args_right", "model", "version", "dollars"]
        return shown if obj else []

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_stop_permission(self, request: HttpRequest) -> bool:
        return self.has_add_permission(request)

    def save_model(self, request: HttpRequest, obj: ModelRun, form: Any, change: bool) -> None:
        job.start_run(obj, by=str(request.user))

    @admin.action(description="Stop after the current case", permissions=["stop"])
    def stop(self, request: HttpRequest, queryset: QuerySet[ModelRun]) -> None:
        stopped = [run for run in queryset if job.stop_run(run)]
        self.message_user(request, f"Stopped: {len(stopped)}.", messages.SUCCESS if stopped else messages.WARNING)

    @admin.display(description="State")
    def shown_state(self, run: ModelRun) -> str:
        return f"{run.state}: {run.error}" if run.error else run.state

    @admin.display(description="Cases")
    def progress(self, run: ModelRun) -> str:
        return f"{len(run.results)} of {run.case_count}"

    @admin.display(description="Op right")
    def ops_right(self, run: ModelRun) -> str:
        return _format_share([result["op_right"] for result in run.results])

    @admin.display(description="Args right")
    def args_right(self, run: ModelRun) -> str:
        return _format_share([each["args_right"] for each in run.results if each["args_right"] is not None])


def _format_share(values: list[bool]) -> str:
    return f"{percent(sum(values) / len(values))} of {len(values)}" if values else "–"
