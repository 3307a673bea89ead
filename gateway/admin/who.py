"""The page "Who gets this?": each flag's variant for one user, and which cohort decided it. Records no exposure."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from unfold.widgets import UnfoldAdminTextInputWidget

from analytics.models import Assignment, Cohort
from analytics.rollout import current, evaluation, people, shares
from analytics.rollout.evaluation import Outcome, Reason, Step
from analytics.rollout.facts import Facts, Trait
from analytics.rollout.flags import FLAGS, LIVE, FlagKey
from core import desk
from core.forms import LinesField
from gateway import flags
from registry.models import Release

LONGEST = 200  # characters of a field
EXPOSURES = 20

WHY = {
    Reason.TARGETING_MATCH: "in cohort {cohort}",
    Reason.SPLIT: "in the percentage of cohort {cohort}",
    Reason.DEFAULT: "default, because the user is in no cohort",
    Reason.DISABLED: "default, because the master switch AGENTIC_CHAT_TOOL_GATEWAY is off",
}


class WhoForm(forms.Form):
    """The user to evaluate flags for. Empty fields are unknown."""

    subject = forms.CharField(max_length=LONGEST, help_text="The end user, as in Gateway-Subject.")
    client = forms.CharField(max_length=100, required=False)
    environment = forms.CharField(max_length=LONGEST, required=False)
    context = forms.CharField(max_length=100, required=False, help_text="The type of Gateway-Context, such as project.")
    project = forms.CharField(max_length=100, required=False, help_text="The project's id.")
    model = forms.CharField(max_length=LONGEST, required=False, help_text="The model's name.")
    traits = LinesField(
        longest=LONGEST, required=False, widget=desk.LINES, help_text="One per line, such as plan=pro or seats=5."
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            if name != "traits":
                field.widget = UnfoldAdminTextInputWidget()
                field.widget.is_required = field.required

    def facts(self) -> Facts:
        """Return the form's values as evaluation input."""
        said = dict(self.cleaned_data)
        traits = dict(_trait(line) for line in said.pop("traits"))
        return Facts(traits=traits, **said)


class Said(NamedTuple):
    """A flag's variant for a user, the reason, and how each cohort decided."""

    title: str
    variant: str
    why: str
    steps: list[tuple[str, str, str]]  # cohort name, URL of its page, its decision


def page(request: HttpRequest) -> HttpResponse:
    """Show the variants of one user.

    If only the subject is given, the rest is filled in as last seen, for users who may view subjects.
    """
    if not request.user.has_perms(["analytics.view_cohort", "analytics.view_flag", "analytics.view_assignment"]):
        raise PermissionDenied
    asked = request.GET.copy()
    looks_up = set(asked) == {"subject"} and request.user.has_perm("analytics.view_subject")
    seen = people.known(request.GET["subject"]) if looks_up else None
    if seen is not None:
        asked.update(_filled(seen))
    form = WhoForm(asked or None)
    context: dict[str, Any] = {"title": "Who gets this?", "form": form, "seen": seen}
    if asked and form.is_valid():
        facts = form.facts()
        context |= {"explanations": list(_said(facts)), "subject": facts.subject}
        context |= {"exposures": _exposures(facts.subject)}
    return TemplateResponse(request, "gateway/who.html", admin.site.each_context(request) | context)


def _said(facts: Facts) -> Iterator[Said]:
    rollout, links = current.current(), _links()
    for flag in FlagKey:
        outcome = flags.decide(flag, facts)
        steps = [
            (step.cohort.name, links.get(step.cohort.name, ""), _told(step))
            for step in evaluation.steps(rollout, flag, facts)
        ]
        yield Said(FLAGS[flag].title, _variant(outcome), WHY[outcome.reason].format(cohort=outcome.cohort), steps)


def _variant(outcome: Outcome) -> str:
    if outcome.flag != FlagKey.RELEASE or outcome.variant == LIVE:
        return outcome.variant
    release = Release.objects.filter(version=outcome.variant).defer("content", "tokens").first()
    return str(release or outcome.variant)


def _told(step: Step) -> str:
    if step.is_listed:
        return "match (listed)"
    if step.unmet:
        return f"no match (fails: {'; '.join(rule.told for rule in step.unmet)})"
    share, part = step.cohort.parts / 100, step.part
    if step.cohort.parts >= shares.PARTS:
        return "match (all rules hold)"
    if part is None:
        return "no match (anonymous subjects never match a percentage)"
    if step.reason:
        return f"match (user is at {part / 100:g}%, within the {share:g}%)"
    return f"not in the {share:g}% (user is at {part / 100:g}%)"


def _exposures(subject: str) -> list[Assignment]:
    return list(Assignment.objects.filter(subject=subject).order_by("-time")[:EXPOSURES])


def _links() -> dict[str, str]:
    rows = Cohort.objects.values_list("name", "pk")
    return {name: reverse("admin:analytics_cohort_change", args=[pk]) for name, pk in rows}


def _filled(seen: Facts) -> dict[str, str]:
    """Return form data for a subject as last seen."""
    said = {name: getattr(seen, name) for name in ("client", "environment", "context", "project", "model")}
    return said | {"traits": "\n".join(f"{name}={_text(value)}" for name, value in sorted(seen.traits.items()))}


def _trait(line: str) -> tuple[str, Trait]:
    """Return the name and value of a trait from a line `name=value`. A name alone means true."""
    name, _, text = line.partition("=")
    if not _ or text in ("true", "false"):
        return name.strip(), text != "false"
    return name.strip(), text.strip()


def _text(value: Trait) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
