"""Who gets this? What each flag says for one user, and which cohort decided why. Looking exposes nobody."""

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

LONGEST = 200  # characters of what flags are evaluated by
EXPOSURES = 20

WHY = {
    Reason.TARGETING_MATCH: "the cohort {cohort} takes them",
    Reason.SPLIT: "they are within the percentage of the cohort {cohort}",
    Reason.DEFAULT: "no cohort takes them, so they get the default",
    Reason.DISABLED: "the master switch AGENTIC_CHAT_TOOL_GATEWAY is off, so everyone gets the default",
}


class WhoForm(forms.Form):
    """Whom to evaluate for; what is left out is unknown."""

    subject = forms.CharField(max_length=LONGEST, help_text="The end user, as Gateway-Subject names them.")
    client = forms.CharField(max_length=100, required=False)
    environment = forms.CharField(max_length=LONGEST, required=False)
    context = forms.CharField(max_length=100, required=False, help_text="The type of Gateway-Context, such as project.")
    project = forms.CharField(max_length=100, required=False, help_text="The project's id.")
    model = forms.CharField(max_length=LONGEST, required=False, help_text="The model's name.")
    traits = LinesField(
        longest=LONGEST, required=False, widget=desk.LINES, help_text="One a line, such as plan=pro or seats=5."
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            if name != "traits":
                field.widget = UnfoldAdminTextInputWidget()
                field.widget.is_required = field.required

    def facts(self) -> Facts:
        """Return what the form says."""
        said = dict(self.cleaned_data)
        traits = dict(_trait(line) for line in said.pop("traits"))
        return Facts(traits=traits, **said)


class Said(NamedTuple):
    """What a flag says, in words, and how its cohorts decided."""

    title: str
    variant: str
    why: str
    steps: list[tuple[str, str, str]]  # the cohort's name, its page, what it says of the user


def page(request: HttpRequest) -> HttpResponse:
    """Show what one user gets; a subject that was seen is filled in for whoever may see those."""
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
        context |= {"said": list(_said(facts)), "exposures": _exposures(facts.subject), "subject": facts.subject}
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
        return "takes them: they stand in its list."
    if step.unmet:
        return f"does not: {'; '.join(rule.told for rule in step.unmet)} does not hold."
    share, part = step.cohort.parts / 100, step.part
    if step.cohort.parts >= shares.PARTS:
        return "takes them: its rules hold, and it takes all for whom they do."
    if part is None:
        return "does not: nobody unknown is within a percentage."
    if step.reason:
        return f"takes them: they lie at {part / 100:g}%, below its {share:g}%."
    return f"does not: they lie at {part / 100:g}%, and it takes those below {share:g}%."


def _exposures(subject: str) -> list[Assignment]:
    return list(Assignment.objects.filter(subject=subject).order_by("-time")[:EXPOSURES])


def _links() -> dict[str, str]:
    rows = Cohort.objects.values_list("name", "pk")
    return {name: reverse("admin:analytics_cohort_change", args=[pk]) for name, pk in rows}


def _filled(seen: Facts) -> dict[str, str]:
    """Return the form's fields as a subject was last seen."""
    said = {name: getattr(seen, name) for name in ("client", "environment", "context", "project", "model")}
    return said | {"traits": "\n".join(f"{name}={_text(value)}" for name, value in sorted(seen.traits.items()))}


def _trait(line: str) -> tuple[str, Trait]:
    """Return the name and value of a trait as a line tells it; a name alone is a boolean that is true."""
    name, _, text = line.partition("=")
    if not _ or text in ("true", "false"):
        return name.strip(), text != "false"
    return name.strip(), text.strip()


def _text(value: Trait) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
