"""The form of an experiment's draft: what is compared, on whom, and how it is judged."""

from collections.abc import Iterator, Sequence
from typing import Any

from django import forms
from django.contrib.admin.checks import InlineModelAdminChecks
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelectWidget,
)

from analytics.experiments.arm_plans import LETTERS, ArmPlan, name_arms
from analytics.experiments.metrics import FAILURE_RATE, METRICS
from analytics.flags import FLAGS
from analytics.rollout.experiments import Experiment
from analytics.rollout.models import MAX_VALUE_LENGTH, Cohort, CohortRule
from console.rollout.exposures import build_variant_choices
from core.admin import base

MIN_ARMS, MAX_ARMS = 2, len(LETTERS) + 1
SETUP_FIELDS = ("name", "hypothesis", "owner")
JUDGED_BY_FIELDS = ("primary_metric", "smallest_effect", "share", "guardrails", "signals")
OPEN_FIELDS = ("hypothesis", "owner", "note")  # that can change while it runs
ARM_HELP = "The first arm is the control: what the others are compared with. Choose the same twice for an A/A test."
AUDIENCE_HELP = "Users who match all rules. Without a rule, everyone who is not in an earlier cohort."


def describe_metric(name: str) -> str:
    """Return a metric as a choice: "Failed calls, lower is better"."""
    metric = METRICS[name]
    return f"{metric.title}, {'lower' if metric.lower_is_better else 'higher'} is better"


class ExperimentForm(forms.ModelForm[Experiment]):
    """The plan of an experiment, without its arms and its audience."""

    primary_metric = forms.ChoiceField(
        choices=lambda: [(name, describe_metric(name)) for name in METRICS],
        initial=FAILURE_RATE.name,
        widget=UnfoldAdminSelectWidget(),
        help_text="What decides. All others are shown, and held to a stricter test.",
    )
    guardrails = forms.MultipleChoiceField(
        choices=lambda: [(name, metric.title) for name, metric in METRICS.items()],
        required=False,
        widget=UnfoldAdminCheckboxSelectMultipleWidget(),
        help_text="If one of these gets clearly worse, the experiment stops by itself within a minute.",
    )
    signals = forms.MultipleChoiceField(
        choices=lambda: [(name, metric.title) for name, metric in METRICS.items()],
        required=False,
        widget=UnfoldAdminCheckboxSelectMultipleWidget(),
        help_text="If one of these gets clearly worse, you are asked to decide. It runs on until you do.",
    )

    def clean_name(self) -> str:
        """Refuse a name whose arms would have those of other cohorts."""
        name: str = self.cleaned_data["name"]
        others = Cohort.objects.exclude(experiment=self.instance.pk) if self.instance.pk else Cohort.objects.all()
        if taken := others.filter(name__in=name_arms(name, MAX_ARMS)).first():
            raise ValidationError(f"There is a cohort {taken}, as an arm would be named. Choose another name.")
        return name

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        guardrails, signals = (self.cleaned_data.get(name, []) for name in ("guardrails", "signals"))
        if both := set(guardrails) & set(signals):
            self.add_error("signals", f"{METRICS[both.pop()].title} is a guardrail already.")
        return cleaned


class ArmForm(forms.ModelForm[Cohort]):
    """An arm: a variant, and its part of the users."""

    variant = forms.ChoiceField(choices=build_variant_choices, widget=UnfoldAdminSelectWidget())
    weight = forms.IntegerField(
        min_value=1, max_value=100, initial=1, widget=UnfoldAdminIntegerFieldWidget(), help_text="1 and 1 is half each."
    )

    class Meta:
        model = Cohort
        fields = ("variant",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk:
            self.initial["weight"] = self.instance.weight
        for name, field in self.fields.items():
            field.widget.attrs.setdefault("aria-label", name.capitalize())


class ArmFormSet(forms.BaseInlineFormSet):  # type: ignore[type-arg]  # Django's class takes arguments for mypy only
    """The arms, the control first."""

    def list_plans(self) -> list[ArmPlan]:
        """Return the arms as they were filled in."""
        return [ArmPlan(each["variant"], each["weight"]) for each in _iterate_filled_forms(self)]

    def clean(self) -> None:
        if any(self.errors):
            return
        arms = self.list_plans()
        if not MIN_ARMS <= len(arms) <= MAX_ARMS:
            raise ValidationError(f"Choose {MIN_ARMS} to {MAX_ARMS} arms, the control first.")
        if len({find_flag(arm.variant) for arm in arms}) > 1:
            raise ValidationError("Choose variants of one flag: else nobody could say which of them made a difference.")


class AudienceFormSet(forms.BaseModelFormSet[CohortRule, forms.ModelForm[CohortRule]]):
    """The rules of the audience. Each arm has a copy of them; the form edits those of the control."""

    fk = None  # Django's inlines have one

    def __init__(self, *args: Any, instance: Experiment, save_as_new: bool = False, **kwargs: Any) -> None:
        control = instance.arms.order_by("position").first() if instance.pk else None
        super().__init__(*args, **kwargs | {"queryset": CohortRule.objects.filter(cohort=control).order_by("id")})

    @classmethod
    def get_default_prefix(cls) -> str:
        return "rules"

    def list_rules(self) -> list[CohortRule]:
        """Return the rules as they were filled in, unsaved."""
        names = ("attribute", "trait", "operator", "values")
        return [CohortRule(**{name: each[name] for name in names}) for each in _iterate_filled_forms(self)]


class AudienceChecks(InlineModelAdminChecks):
    """Django's checks, without those of a foreign key to the experiment."""

    def _check_relation(self, obj: Any, parent_model: Any) -> list[Any]:
        return []


class AudienceInline(base.TabularInline[CohortRule, Experiment]):
    """The rules of cohorts, as those of the audience."""

    model = CohortRule
    checks_class = AudienceChecks
    fields = ("attribute", "trait", "operator", "values")
    line_lists = {"values": MAX_VALUE_LENGTH}
    verbose_name, verbose_name_plural = "rule", "Audience"
    template_before = "console/rollout/inline_help.html"
    help_text = AUDIENCE_HELP

    def get_formset(self, request: HttpRequest, obj: Any = None, **kwargs: Any) -> Any:
        """Return the rules as a formset of their own: they belong to the arms."""
        return forms.modelformset_factory(
            CohortRule,
            formset=AudienceFormSet,
            fields=self.fields,
            extra=0,
            can_delete=True,
            formfield_callback=lambda field, **more: self.formfield_for_dbfield(field, request, **more),
        )


class ArmInline(base.TabularInline[Cohort, Experiment]):
    model = Cohort
    form, formset = ArmForm, ArmFormSet
    fields = ("variant", "weight")
    ordering = ("position",)
    verbose_name, verbose_name_plural = "arm", "Arms"
    template_before = "console/rollout/inline_help.html"
    help_text = ARM_HELP

    def get_formset(self, request: HttpRequest, obj: Any = None, **kwargs: Any) -> Any:
        return super().get_formset(request, obj, **kwargs | {"fields": ArmForm.Meta.fields})  # the weight is declared

    def get_extra(self, request: HttpRequest, obj: Any = None, **kwargs: Any) -> int:
        return 0 if obj else MIN_ARMS


def find_flag(variant: str) -> str:
    """Return the flag that has a variant."""
    return str(next(each.key for each in FLAGS.values() if each.accepts(variant)))


def _iterate_filled_forms(formset: Any) -> Iterator[dict[str, Any]]:
    for form in formset.forms:
        if form.cleaned_data and form not in formset.deleted_forms:
            yield form.cleaned_data


def build_arms(experiment: Experiment, arms: Sequence[ArmPlan]) -> list[Cohort]:
    """Return the arms as cohorts, unsaved and off."""
    names = name_arms(experiment.name, len(arms))
    return [
        Cohort(
            name=name, flag=experiment.flag, variant=arm.variant, weight=arm.weight, salt=experiment.name, is_on=False
        )
        for name, arm in zip(names, arms, strict=True)
    ]
