"""Holdouts: a small share of the users who get nothing new for a quarter, to see what all changes did together."""

from datetime import date, datetime, timedelta
from decimal import Decimal

from django.db import transaction
from django.utils.formats import date_format
from django.utils.text import slugify

from analytics.flags import FLAGS, LIVE, FlagKey
from analytics.rollout import assignment
from analytics.rollout.evaluation import EvaluationContext
from analytics.rollout.experiments import Experiment
from analytics.rollout.models import Cohort, Flag, set_order
from audit import audit_log

SHARE = Decimal(5)  # percent


class HoldoutRefused(Exception):
    """The holdout cannot be made now. The message says why."""


def build_holdout(flag: Flag, *, live: str, at: datetime) -> Cohort | None:
    """Return the unsaved holdout of this quarter; None if there is one. `live` is the live release, if there is one.

    All flags hold out the same users. They keep what users in no narrower cohort have now: for releases, the version
    that is live now.
    """
    quarter, end = _name_quarter(at.date())
    name = f"{quarter}-{slugify(FLAGS[FlagKey(flag.key)].title)}"
    if Cohort.objects.filter(flag=flag, salt=quarter).exists():
        return None
    if not Cohort.objects.filter(name=quarter).exists():
        name = quarter
    variant = assignment.load_rollout().evaluate(FlagKey(flag.key), EvaluationContext()).variant
    if flag.key == FlagKey.RELEASE and variant == LIVE:
        variant = live
    note = f"Gets nothing new until {date_format(end, 'j F Y')}. Switch it off then."
    return Cohort(name=name, flag=flag, variant=variant, percentage=SHARE, note=note, salt=quarter)


@transaction.atomic
def create_holdout(flag: Flag, *, live: str, by: str, at: datetime) -> Cohort:
    """Place the holdout of this quarter before all cohorts of a flag. Raises HoldoutRefused."""
    running = Experiment.objects.filter(flag=flag, state=Experiment.State.RUNNING).first()
    if running:
        raise HoldoutRefused(f"The experiment {running} runs on this flag and would lose users. Decide it first.")
    cohort = build_holdout(flag, live=live, at=at)
    if cohort is None:
        raise HoldoutRefused("There is a holdout of this quarter already.")
    cohort.full_clean()
    cohort.save()
    others = Cohort.objects.filter(flag=flag).exclude(pk=cohort.pk).order_by("position")
    set_order(flag, [cohort.pk, *others.values_list("pk", flat=True)])
    cohort.refresh_from_db()
    audit_log.record_change("cohort", cohort.name, None, cohort.list_audit_values(), by=by, at=at)
    return cohort


def _name_quarter(day: date) -> tuple[str, date]:
    """Return the name of the holdout of a day's quarter, and the last day of the quarter."""
    quarter = (day.month - 1) // 3 + 1
    next_quarter = date(day.year + quarter // 4, quarter % 4 * 3 + 1, 1)
    return f"holdout-{day.year}-q{quarter}", next_quarter - timedelta(days=1)
