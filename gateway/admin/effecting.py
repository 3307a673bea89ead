"""Rollout pages that show the effect of a change while the user edits, before anything is saved."""

from typing import Any

from django.forms import Script
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils import timezone

from analytics.rollout.effects import Effect
from analytics.rollout.evaluation import Rollout
from analytics.rollout.flags import FlagKey
from core.beside import Beside
from gateway import effects

MEND = "Fill in the form to see its effect."


class Effecting(Beside):
    """Adds a panel with the effect of the unsaved form on recently seen users."""

    beside = "effect"
    change_form_template = "gateway/effect_form.html"

    class Media:
        js = [Script("desk/effect.js", defer=True)]

    def rollout_with(self, request: HttpRequest, row: Any) -> tuple[FlagKey, Rollout] | None:
        """Return the flag and the rollout as the submitted form would make it; None if the form has errors."""
        raise NotImplementedError

    def beside_of(self, request: HttpRequest, row: Any) -> str:
        found = self.rollout_with(request, row)
        lines = [MEND] if found is None else effects.told(self._effect(*found))
        return render_to_string("gateway/effect.html", {"lines": lines})

    def _effect(self, flag: FlagKey, after: Rollout) -> Effect:
        return effects.of(flag, after, at=timezone.now())
