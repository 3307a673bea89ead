"""Release step by step: the part of the review page that starts it, and what a release's page says of it."""

from dataclasses import replace
from typing import Any

from django.http import HttpRequest

from analytics.experiments import guarded_steps
from analytics.experiments.lifecycle import ExperimentRefused
from analytics.flags import FlagKey
from analytics.rollout.experiments import Experiment
from analytics.rollout.impact import ReleaseReach
from console.forms import PUBLISH_ERRORS, GuardedStepsForm, PublishForm
from console.releases import selection
from registry.releases.review import DraftReview
from registry.reviews import guarded_release
from registry.reviews.cohort_release import CohortRefused

STEPS = "steps"  # the button that releases step by step


def build_form(data: Any = None, *, reach: ReleaseReach) -> GuardedStepsForm:
    """Return the form, which begins with what was used last."""
    template = replace(guarded_steps.load_template(FlagKey.RELEASE), name=guarded_release.suggest_name())
    return GuardedStepsForm(data, template=template, reach=reach.following)


def release_reviewed(
    request: HttpRequest, draft_review: DraftReview, form: PublishForm, steps_form: GuardedStepsForm
) -> Experiment | None:
    """Start to release the reviewed draft. Returns None and adds errors to the forms if refused."""
    try:
        release, experiment = guarded_release.release_draft_step_by_step(
            steps_form.to_plan(), **selection.build_release_arguments(request, draft_review, form)
        )
    except ExperimentRefused as error:
        steps_form.add_error("steps", str(error))
    except (CohortRefused, *PUBLISH_ERRORS) as error:
        form.add_error(None, str(error))
    else:
        text = f"{release.short_name} is released to {experiment.step_percent:g}% of the users, and goes on by itself."
        selection.finish_release(request, text)
        return experiment
    return None
