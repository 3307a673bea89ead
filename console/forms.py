"""Forms that several sections of the console use."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from django import forms
from django.db import models
from django.utils.formats import date_format
from django.utils.text import get_text_list
from django.utils.timezone import localtime
from unfold.widgets import (
    INPUT_CLASSES,
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
)

from analytics.experiments import guarded_steps
from analytics.experiments.guarded_steps import WATCHED, GuardedPlan
from analytics.experiments.lifecycle import ExperimentRefused
from analytics.experiments.metrics import METRICS
from analytics.experiments.statistics import MIN_SUBJECTS
from analytics.rollout.models import cohort_name_validator
from core.admin.form_fields import LinesField, NoteField, find_invisible
from registry.drafts import draft
from registry.flow_labels import FLOW_LABEL_CHOICES
from registry.models import Release
from registry.releases import lifecycle, publishing
from registry.releases.stored_releases import annotate_own_note
from registry.reviews import approval, holds

MAX_LABEL_LENGTH = 30  # characters


NOTE_HELP = "Shown with the release in the release history."
LATER = "later"  # the button that schedules
# Why the draft cannot be published. Their messages say what to do.
PUBLISH_ERRORS = (
    publishing.NotPublishable,
    publishing.ReasonMissing,
    publishing.LossReasonMissing,
    lifecycle.AlreadyWithdrawn,
    lifecycle.LiveChanged,
    draft.DraftChanged,
    approval.ApprovalMissing,
    holds.EntriesHeld,
)


class LocalDateTimeInput(forms.DateTimeInput):
    """The browser's input for a day and a time, without seconds."""

    input_type = "datetime-local"

    def __init__(self) -> None:
        super().__init__(format="%Y-%m-%dT%H:%M", attrs={"class": " ".join(INPUT_CLASSES)})


class PublishReasons(TypedDict):
    """The note and the reasons that every way to publish takes."""

    note: str
    accepted: str
    accepted_loss: str


class PublishForm(forms.Form):
    """Publish the draft. Asks for a reason if there are new warnings, and if it loses too many eval cases."""

    note = NoteField(
        label="What changed, and why",
        asked="what changed, and why",
        help_text=NOTE_HELP,
    )
    # The page shows the ticks beside the warnings (console.releases.warning_groups).
    accepted = forms.MultipleChoiceField(required=False, widget=forms.MultipleHiddenInput)
    because = NoteField(
        label="Why is it safe to publish with these warnings?",
        asked="why it is safe to publish with these warnings",
        help_text="Stored with the release.",
    )
    lost_because = NoteField(
        label="Why is it right to publish although requests no longer find their op?",
        asked="why it is right to lose these eval cases, or fix them",
        help_text="Shown in the release history.",
    )
    publish_at = forms.DateTimeField(label="Publish at", required=False, widget=LocalDateTimeInput())
    seen = forms.CharField(required=False, widget=forms.HiddenInput)  # registry.releases.review.Review.seen

    def __init__(self, *args: Any, warning_groups: Mapping[str, int], is_loss: bool, **kwargs: Any) -> None:
        """`warning_groups` are the numbers of warnings by the key of their group."""
        super().__init__(*args, **kwargs)
        self.fields["accepted"].choices = [(key, key) for key in warning_groups]  # type: ignore[attr-defined]  # a MultipleChoiceField
        self.warning_groups = warning_groups
        if not warning_groups:
            del self.fields["accepted"], self.fields["because"]
        if not is_loss:
            del self.fields["lost_because"]

    def get_reasons(self) -> PublishReasons:
        """Return the valid form's note and reasons, as every way to publish takes them."""
        return {
            "note": self.cleaned_data["note"],
            "accepted": self.cleaned_data.get("because", ""),
            "accepted_loss": self.cleaned_data.get("lost_because", ""),
        }

    def list_publish_fields(self) -> list[forms.BoundField]:
        """Return the fields above the buttons. The time is shown separately."""
        return [field for field in self.visible_fields() if field.name != "publish_at"]

    def clean_accepted(self) -> list[str]:
        """Require a tick for each group of warnings."""
        accepted: list[str] = self.cleaned_data["accepted"]
        if left := sum(count for key, count in self.warning_groups.items() if key not in accepted):
            are = "warning is" if left == 1 else "warnings are"
            raise forms.ValidationError(f"{left:,} {are} neither accepted nor fixed.")
        return accepted

    def clean(self) -> Any:
        """Refuse a time with the button that publishes now. Enter also presses that button."""
        if self.cleaned_data.get("publish_at") and self.data.get("when") != LATER:
            self.add_error("publish_at", "To publish at this time, press Schedule. To publish now, clear the time.")
        return super().clean()


class GuardedStepsForm(forms.Form):
    """The steps of what is released or widened step by step, and what takes it back."""

    use_required_attribute = False  # it is one of several ways on a page: the browser must not ask for it in others
    experiment_name = forms.CharField(
        label="Name of the experiment",
        max_length=30,
        validators=[cohort_name_validator],
        widget=UnfoldAdminTextInputWidget(),
    )
    steps = forms.CharField(max_length=200, widget=UnfoldAdminTextInputWidget())
    guardrails = forms.MultipleChoiceField(
        label="Take it back if this gets worse",
        choices=[(name, METRICS[name].title) for name in WATCHED],
        widget=UnfoldAdminCheckboxSelectMultipleWidget(),
        help_text="Clearly worse than in the control. The others only hold the next step until somebody decides.",
    )

    def __init__(self, data: Any = None, *, template: GuardedPlan, reach: int) -> None:
        """`reach` is the number of last week's users that it can reach."""
        steps = guarded_steps.format_steps(template.steps)
        initial = {"experiment_name": template.name, "steps": steps, "guardrails": list(template.guardrails)}
        super().__init__(data, initial=initial)
        self.fields["steps"].help_text = _describe_first_step(template, reach)

    def clean_steps(self) -> list[list[float]]:
        """Return the steps as numbers."""
        try:
            return guarded_steps.parse_steps(self.cleaned_data["steps"])
        except ExperimentRefused as error:
            raise forms.ValidationError(str(error)) from None

    def to_plan(self) -> GuardedPlan:
        """Return the plan of the valid form."""
        chosen = self.cleaned_data
        return GuardedPlan(chosen["experiment_name"], chosen["steps"], chosen["guardrails"])


def _describe_first_step(template: GuardedPlan, reach: int) -> str:
    percent = template.steps[0][0]
    text = "Percent of the users, and hours. After the last step all of them get it."
    if not reach:
        return text
    users = f"{percent:g}% are about {round(reach * percent / 100):,} of last week's {reach:,} users"
    return f"{text} {users}; a step needs {MIN_SUBJECTS} on each side to go on by itself."


class MakeLiveForm(forms.Form):
    """Make an older release live again, or one that only a cohort reads."""

    note = NoteField(
        label="Note",
        asked="why it goes live",
        help_text=NOTE_HELP,
    )
    ends_cohorts = forms.BooleanField(required=False, widget=UnfoldBooleanWidget())

    def __init__(self, *args: Any, is_rollback: bool = False, cohorts: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if is_rollback:
            self.fields["note"] = NoteField(label="What went wrong?", asked="what went wrong", help_text=NOTE_HELP)
        if cohorts:
            field = self.fields["ends_cohorts"]
            field.label = f"Turn off {get_text_list(list(cohorts), 'and')}"
            field.help_text = (
                "Everyone reads this release then. A cohort that stays on keeps it when the next release goes live."
            )
        else:
            del self.fields["ends_cohorts"]


class NoteForm(forms.Form):
    """A note on what was decided."""

    note = forms.CharField(
        label="Note",
        max_length=500,
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 2}),
        help_text="What was decided, and why.",
    )


class WithdrawForm(forms.Form):
    """Withdraw a release, with a reason."""

    reason = NoteField(
        label="Reason",
        asked="why nobody should read this release",
        help_text="Shown to anyone who asks for this release.",
    )


class NameForm(forms.Form):
    """Give a release a name and labels that people find it by."""

    name = forms.CharField(
        max_length=60, required=False, widget=UnfoldAdminTextInputWidget(), help_text="Such as: clearer summaries."
    )
    labels = LinesField(
        longest=MAX_LABEL_LENGTH,
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
        help_text="One per line, such as quarter-4. Shown in lists.",
    )

    def clean_name(self) -> str:
        """Refuse direction marks and other invisible characters: pages write the name inside sentences."""
        name: str = self.cleaned_data["name"]
        if invisible := find_invisible(name):
            raise forms.ValidationError(f"Remove the invisible character {invisible}.")
        return name


class RestoreForm(forms.Form):
    """Restore a release into the draft."""

    seen = forms.CharField(required=False, widget=forms.HiddenInput)  # the version of the draft that the user reviewed


class ReleaseField(forms.ModelChoiceField[Release]):
    """A choice of release, labelled with its number, creation day and last note. Empty means the draft."""

    def __init__(self, **kwargs: Any) -> None:
        releases = annotate_own_note(Release.objects.only("version", "created_at", "number", "name"))
        releases = releases.order_by("-number")
        widget = UnfoldAdminSelectWidget()
        super().__init__(releases, required=False, empty_label="The draft", widget=widget, **kwargs)

    def label_from_instance(self, obj: Any) -> str:
        parts = [obj.short_name, date_format(localtime(obj.created_at), "j M Y"), obj.own_note]
        return " · ".join(filter(None, parts))


class CompareForm(forms.Form):
    """Choose two releases, or a release and the draft, to compare."""

    before = ReleaseField(label="First")
    after = ReleaseField(label="Second")


class CompareEvalsForm(forms.Form):
    """Choose the draft or a release to run the eval cases on, and another one to compare it with."""

    after = ReleaseField(label="Run on")
    before = ReleaseField(label="Compare with")


class MultipleFileInput(forms.ClearableFileInput):
    """A file input that accepts several files."""

    allow_multiple_selected = True


class MultipleFileField(forms.FileField):
    """A field for several files. Its cleaned value is a list."""

    def clean(self, data: Any, initial: Any = None) -> Any:
        return [super(MultipleFileField, self).clean(each, initial) for each in data or [None]]


class ImportFilesForm(forms.Form):
    """Import copy from files."""

    chosen = MultipleFileField(
        label="YAML files, or a ZIP archive of them",
        widget=MultipleFileInput(attrs={"accept": ".yaml,.yml,.zip"}),
        help_text="Entries in the files are replaced; others stay.",
    )


def build_flow_labels_field(column: models.Field[Any, Any]) -> forms.MultipleChoiceField:
    """Return the checkboxes of a column with labels of data flow."""
    return forms.MultipleChoiceField(
        label=str(column.verbose_name).capitalize(),
        choices=FLOW_LABEL_CHOICES,
        required=False,
        widget=UnfoldAdminCheckboxSelectMultipleWidget(),
        help_text=column.help_text,
    )
