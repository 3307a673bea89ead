"""Rollout pages that show the effect of a change while the user edits, before anything is saved."""

from typing import Any

from django.forms import Script
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils import timezone

from analytics.rollout.evaluation import Rollout
from analytics.rollout.flags import FlagKey
from analytics.rollout.impact import RolloutImpact
from console.rollout import impact_text
from core.admin.page_parts import LivePreviewAdmin

INCOMPLETE_FORM = "Fill in the form to see its effect."


class ImpactPreviewMixin(LivePreviewAdmin):
    """Adds a panel with the effect of the unsaved form on recently seen users."""

    preview_path = "impact"
    change_form_template = "console/rollout/impact_form.html"
    compressed_fields = False  # labels above inputs, because the effect is beside the form

    class Media:
        css = {"all": ["console/report.css"]}
        js = [Script("console/impact.js", defer=True)]

    def build_rollout_from_form(self, request: HttpRequest, row: Any) -> tuple[FlagKey, Rollout] | None:
        """Return the flag and the rollout as the submitted form would make it; None if the form has errors."""
        raise NotImplementedError

    def render_preview(self, request: HttpRequest, row: Any) -> str:
        flag_and_rollout = self.build_rollout_from_form(request, row)
        lines = (
            [INCOMPLETE_FORM]
            if flag_and_rollout is None
            else impact_text.describe_impact(self._compute_impact(*flag_and_rollout))
        )
        return render_to_string("console/rollout/impact.html", {"lines": lines})

    def _compute_impact(self, flag: FlagKey, after: Rollout) -> RolloutImpact:
        return impact_text.compute_impact(flag, after, at=timezone.now())
