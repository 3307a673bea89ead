"""The page "Who gets this?": each flag's variant for one user, and which cohort decided it. Records no exposure."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from unfold.widgets import UnfoldAdminTextInputWidget

from analytics.flags import FLAGS, LIVE, FlagKey
from analytics.rollout import assignment, evaluation, exposures
from analytics.rollout.evaluation import CohortDecision, EvaluationContext, EvaluationDetails, Reason, Trait
from analytics.rollout.models import Assignment, Cohort, Subject
from console.rollout.exposures import name_variants, title_flag
from core.admin import base
from core.admin.form_fields import LinesField
from core.admin.site import MAX_ROWS, GoToResult

SEE_ROLLOUT = [f"analytics.view_{model}" for model in ("cohort", "flag", "assignment")]  # permissions of the page
MAX_LENGTH = 200  # characters of a field
MAX_EXPOSURES = 20
MAX_USERS = 12

REASON_TEXTS = {
    Reason.TARGETING_MATCH: "in cohort {cohort}",
    Reason.SPLIT: "in the percentage of cohort {cohort}",
    Reason.DEFAULT: "default, because the user is in no cohort",
    Reason.DISABLED: "default, because the master switch AGENTIC_CHAT_TOOL_GATEWAY is off",
}


class FlagExplainerForm(forms.Form):
    """The user to evaluate flags for. Empty fields are unknown."""

    subject = forms.CharField(
        label="User", max_length=MAX_LENGTH, help_text="The end user, as in Gateway-Subject. A part of it is enough."
    )
    client = forms.CharField(max_length=100, required=False)
    environment = forms.CharField(max_length=MAX_LENGTH, required=False)
    context = forms.CharField(max_length=100, required=False, help_text="The type of Gateway-Context, such as project.")
    project = forms.CharField(max_length=100, required=False, help_text="The project's id.")
    model = forms.CharField(max_length=MAX_LENGTH, required=False, help_text="The model's name.")
    traits = LinesField(
        longest=MAX_LENGTH,
        required=False,
        widget=base.LINES_WIDGET,
        help_text="One per line, such as plan=pro or seats=5.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            if name != "traits":
                field.widget = UnfoldAdminTextInputWidget(attrs={"autofocus": True} if name == "subject" else {})
                field.widget.is_required = field.required

    def list_attributes(self) -> list[forms.BoundField]:
        """Return all fields but the user. They are filled in as last seen, so few people change them."""
        return [field for field in self if field.name != "subject"]

    def build_evaluation_context(self) -> EvaluationContext:
        """Return the form's values as evaluation input."""
        values = dict(self.cleaned_data)
        traits = dict(_parse_trait(line) for line in values.pop("traits"))
        return EvaluationContext(traits=traits, **values)


class FlagExplanation(NamedTuple):
    """A flag's variant for a user, the reason, and how each cohort decided."""

    title: str
    variant: str
    why: str
    decisions: list[tuple[str, str, str]]  # cohort name, URL of its page, its decision


def show_who_gets_this(request: HttpRequest) -> HttpResponse:
    """Show the variants of one user.

    If only the subject is given, the rest is filled in as last seen, for users who can view subjects.
    """
    if not request.user.has_perms(SEE_ROLLOUT):
        raise PermissionDenied
    form_data = request.GET.copy()
    is_subject_lookup = set(form_data) == {"subject"} and request.user.has_perm("analytics.view_subject")
    last_context = exposures.find_context(request.GET["subject"]) if is_subject_lookup else None
    if last_context is not None:
        form_data.update(_to_form_data(last_context))
    form = FlagExplainerForm(form_data or None)
    context: dict[str, Any] = {"title": "Who gets this?", "form": form, "last_context": last_context}
    if request.user.has_perm("analytics.view_subject") and last_context is None:
        context["users"] = _search_users(request.GET.get("subject", ""))
    if form_data and form.is_valid():
        facts = form.build_evaluation_context()
        context |= {"explanations": list(_explain_flags(facts)), "subject": facts.subject}
        context |= {"exposures": _list_recent_exposures(facts.subject)}
    return TemplateResponse(request, "console/rollout/who_gets_this.html", admin.site.each_context(request) | context)


def find_subjects(request: HttpRequest, search_text: str) -> Iterator[GoToResult]:
    """Yield the end users whose id begins with the text, for "Go to". The index of ids finds them."""
    if not request.user.has_perms([*SEE_ROLLOUT, "analytics.view_subject"]):
        return
    rows = Subject.objects.filter(subject__startswith=search_text).order_by("subject")
    for subject in rows.values_list("subject", flat=True)[:MAX_ROWS]:
        link = f"{reverse('admin:rollout_who')}?{urlencode({'subject': subject})}"
        yield GoToResult(subject, "end user", link, order=7)


def _search_users(text: str) -> list[str]:
    """Return the users seen whose id contains the text, latest first."""
    rows = Subject.objects.filter(subject__icontains=text).order_by("-seen_at", "subject")
    return list(rows.values_list("subject", flat=True)[:MAX_USERS])


def _explain_flags(facts: EvaluationContext) -> Iterator[FlagExplanation]:
    rollout, links = assignment.get_current_rollout(), _map_cohort_urls()
    for flag in FlagKey:
        outcome = assignment.evaluate_flag(flag, facts)
        decisions = [
            (step.cohort.name, links.get(step.cohort.name, ""), _explain_step(step))
            for step in evaluation.explain_cohorts(rollout, flag, facts)
        ]
        yield FlagExplanation(
            FLAGS[flag].title,
            _display_variant(outcome),
            REASON_TEXTS[outcome.reason].format(cohort=outcome.cohort),
            decisions,
        )


def _display_variant(outcome: EvaluationDetails) -> str:
    if outcome.flag != FlagKey.RELEASE or outcome.variant == LIVE:
        return outcome.variant
    return name_variants([outcome.variant])[outcome.variant]


def _explain_step(step: CohortDecision) -> str:
    if step.is_listed:
        return "match (listed)"
    if step.unmatched_rules:
        return f"no match (fails: {'; '.join(rule.description for rule in step.unmatched_rules)})"
    share, part = step.cohort.buckets / 100, step.bucket
    if not step.cohort.buckets:
        return "no match (not listed)"
    if step.cohort.buckets >= evaluation.BUCKETS:
        return "match (all rules hold)"
    if part is None:
        return "no match (anonymous subjects never match a percentage)"
    if first := step.cohort.first_bucket / 100:  # of an arm of an experiment
        place = f"{first:g} to {first + share:g}%"
        at = f"user is at {part / 100:g}%"
        return f"match ({at}, in {place})" if step.reason else f"not in {place} ({at})"
    if step.reason:
        return f"match (user is at {part / 100:g}%, within the {share:g}%)"
    return f"not in the {share:g}% (user is at {part / 100:g}%)"


class PastExposure(NamedTuple):
    """When a user was first shown a variant of a flag, in words."""

    time: datetime
    flag: str
    variant: str
    cohort: str


def _list_recent_exposures(subject: str) -> list[PastExposure]:
    rows = list(Assignment.objects.filter(subject=subject).order_by("-time")[:MAX_EXPOSURES])
    names = name_variants(row.variant for row in rows)
    return [PastExposure(row.time, title_flag(row.flag), names[row.variant], row.cohort) for row in rows]


def _map_cohort_urls() -> dict[str, str]:
    rows = Cohort.objects.values_list("name", "pk")
    return {name: reverse("admin:analytics_cohort_change", args=[pk]) for name, pk in rows}


def _to_form_data(context: EvaluationContext) -> dict[str, str]:
    """Return form data for a subject as last seen."""
    form_data = {name: getattr(context, name) for name in ("client", "environment", "context", "project", "model")}
    return form_data | {
        "traits": "\n".join(f"{name}={_format_trait(value)}" for name, value in sorted(context.traits.items()))
    }


def _parse_trait(line: str) -> tuple[str, Trait]:
    """Return the name and value of a trait from a line `name=value`. A name alone means true."""
    name, _, text = line.partition("=")
    if not _ or text in ("true", "false"):
        return name.strip(), text != "false"
    return name.strip(), text.strip()


def _format_trait(value: Trait) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
