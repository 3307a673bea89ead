"""Release to a cohort first: the part of the review page that lets some users read the draft before everyone does."""

from decimal import Decimal
from typing import Any

from django import forms
from django.http import HttpRequest
from unfold.widgets import (
    UnfoldAdminRadioSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
)

from analytics.rollout.impact import ReleaseReach
from analytics.rollout.models import MAX_VALUE_LENGTH, Cohort, cohort_name_validator
from console.forms import PUBLISH_ERRORS, PublishForm
from console.releases import selection
from core.admin.form_fields import LinesField
from registry.models import Release
from registry.releases import stored_releases
from registry.releases.review import DraftReview
from registry.reviews import cohort_release
from registry.reviews.cohort_release import CohortPlan, CohortRefused

COHORT = "cohort"  # the button that releases to a cohort
ONLY_LISTED = "0"
SHARES = (1, 5, 25)  # percent


class CohortReleaseForm(forms.Form):
    """Whom the release goes to first."""

    cohort = forms.CharField(
        label="Name of the cohort",
        max_length=40,
        validators=[cohort_name_validator],
        widget=UnfoldAdminTextInputWidget(),
        help_text="A new one, or a cohort of releases, which then moves to this release.",
    )
    share = forms.ChoiceField(label="Share", widget=UnfoldAdminRadioSelectWidget())
    listed = LinesField(
        label="Always in",
        longest=MAX_VALUE_LENGTH,
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 2}),
        help_text="Users who read it whatever the share, one per line.",
    )
    is_guarded = forms.BooleanField(
        label="Stop automatically",
        required=False,
        widget=UnfoldBooleanWidget(),
        help_text="Stops the cohort if its calls clearly fail more often than all others. Checked every minute.",
    )

    def __init__(self, data: Any = None, *, reach: ReleaseReach, same_release: Release | None = None) -> None:
        super().__init__(data, initial={"cohort": _suggest_name(same_release), "share": "5", "is_guarded": True})
        share: Any = self.fields["share"]
        share.choices = [
            *((str(percent), _describe_share(percent, reach)) for percent in SHARES),
            (ONLY_LISTED, "Only the users below"),
        ]

    def clean(self) -> Any:
        """Refuse a cohort of nobody."""
        if self.cleaned_data.get("share") == ONLY_LISTED and not self.cleaned_data.get("listed", True):
            self.add_error("listed", "List at least one user, or choose a share.")
        return super().clean()

    def to_plan(self) -> CohortPlan:
        """Return the plan of the valid form."""
        chosen = self.cleaned_data
        return CohortPlan(chosen["cohort"], Decimal(chosen["share"]), chosen["listed"], chosen["is_guarded"])


def release_reviewed(
    request: HttpRequest, draft_review: DraftReview, form: PublishForm, cohort_form: CohortReleaseForm
) -> Cohort | None:
    """Release the reviewed draft to a cohort and return it. Returns None and adds errors to the forms if refused."""
    try:
        release, cohort = cohort_release.release_draft_to_cohort(
            cohort_form.to_plan(), **selection.build_release_arguments(request, draft_review, form)
        )
    except CohortRefused as error:
        cohort_form.add_error("cohort", str(error))
    except PUBLISH_ERRORS as error:
        form.add_error(None, str(error))
    else:
        who = cohort.describe_members(is_first=not cohort.position)
        text = f"{release.short_name} is released to the cohort {cohort.name} ({who})."
        selection.finish_release(request, text)
        return cohort
    return None


def _suggest_name(same_release: Release | None) -> str:
    """Return a name from the number of the release that the draft becomes, or already is."""
    if same_release and same_release.number:
        return f"r{same_release.number}-first"
    return f"r{stored_releases.get_next_number()}-first"


def _describe_share(percent: int, reach: ReleaseReach) -> str:
    """Return a share with the number of people that it is likely to be: "5%: about 60 of last week's 1,204 users"."""
    if not reach.following:
        return f"{percent}%"
    users = f"last week's {reach.following:,} users{'' if reach.is_everyone else ' in no other cohort'}"
    return f"{percent}%: about {round(reach.following * percent / 100):,} of {users}"
