"""Automatic rollback of cohorts: a guarded one is switched off when its users' calls clearly fail more often.

It is compared with all other users, since it last changed, for two days at most. The test holds at every look, so that
it can be made each minute.
"""

import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.urls import reverse

from analytics.experiments import proportions, statistics, sums
from analytics.experiments.cohorts.comparison import CALL_LIMIT, choose_side_tuning
from analytics.experiments.metrics import FAILURE_RATE
from analytics.experiments.statistics import MIN_SUBJECTS, ArmMoments, ArmVerdict, MetricKind, MetricTest
from analytics.experiments.sums import Span
from analytics.reports.report_filter import match_cohort
from analytics.rollout.models import Cohort
from analytics.rollups.models import SubjectFigures
from audit import audit_log
from audit.models import AuditEntry
from notifications import outbox
from notifications.outbox import OutgoingMessage
from notifications.recipients import find_emails

log = logging.getLogger(__name__)

BY = "guardrail"  # in the audit log
EVENT = "cohort.stopped"  # of the webhook
UNCHANGED = "Since the cohort last changed"  # the period of a reading, without a time: readers have other time zones


@dataclass(frozen=True, slots=True)
class GuardrailReading:
    """The users of a cohort and all others since a time, and how often their calls failed."""

    since: datetime
    own: ArmMoments
    others: ArmMoments

    @property
    def is_enough(self) -> bool:
        """Whether both sides have enough users to compare them."""
        return min(self.own.counted, self.others.counted) >= MIN_SUBJECTS

    @property
    def is_worse(self) -> bool:
        """Whether the cohort's calls fail more often, beyond chance."""
        tuning = min(choose_side_tuning(self.others, self.own), statistics.MAX_GUARDRAIL_TUNING)
        test = MetricTest(MetricKind.RATIO, FAILURE_RATE.lower_is_better, alpha=0.05, tuning=tuning, tails=1)
        return statistics.compare_arms(self.others, self.own, test).verdict == ArmVerdict.WORSE

    @property
    def is_worse_by_calls(self) -> bool:
        """Whether too few users for a test have calls that would clearly differ if no two were alike."""
        counts = [round(each) for side in (self.own, self.others) for each in (_count_failed(side), side.amount)]
        return not self.is_enough and proportions.is_clearly_higher(*counts)

    @property
    def summary(self) -> str:
        """Both rates, in words, if there are users to compare."""
        return f"{_describe_side(self.own)} failed, and {_describe_side(self.others)} of others"


def _count_failed(side: ArmMoments) -> float:
    return side.numerator * side.subjects


def _describe_side(side: ArmMoments) -> str:
    rate = _count_failed(side) / side.amount if side.amount else 0.0
    users = f"{side.subjects:,} user{'' if side.subjects == 1 else 's'}"
    return f"{rate:.{0 if rate >= 0.1 or not rate else 1}%} of the calls of {users}"


def stop_worse_cohorts(at: datetime) -> None:
    """Switch off guarded cohorts whose calls clearly fail more often, and notify the users who can change cohorts."""
    guarded = list(Cohort.objects.filter(is_on=True, is_guarded=True, flag__is_on=True))
    for cohort, reading in measure_cohorts(guarded, at=at).items():
        if reading.is_worse:
            _stop_cohort(cohort, reading, at=at)


def measure_cohorts(cohorts: Collection[Cohort], *, at: datetime) -> Mapping[Cohort, GuardrailReading]:
    """Return the reading of each cohort. Without cohorts it takes no query."""
    if not cohorts:
        return {}
    yesterday = datetime.combine(at.astimezone(UTC).date() - timedelta(days=1), time(), UTC)
    return {
        cohort: _read_cohort(cohort, max(yesterday, _find_last_change(cohort) or yesterday), at) for cohort in cohorts
    }


def _read_cohort(cohort: Cohort, since: datetime, at: datetime) -> GuardrailReading:
    rows: QuerySet[Any] = SubjectFigures.objects.filter(begin__gte=since)
    own = rows.filter(match_cohort(cohort.name))
    others = rows.exclude(match_cohort(cohort.name)).exclude(subject__in=own.values("subject"))
    span = Span(since, at, CALL_LIMIT)
    sides = [
        sums.sum_metrics([FAILURE_RATE], {SubjectFigures: side}, span)[FAILURE_RATE.name] for side in (own, others)
    ]
    return GuardrailReading(since, *sides)


def _find_last_change(cohort: Cohort) -> datetime | None:
    entries = AuditEntry.objects.filter(kind="cohort", name=cohort.name)
    return entries.order_by("-time", "-id").values_list("time", flat=True).first()


@transaction.atomic
def _stop_cohort(cohort: Cohort, reading: GuardrailReading, *, at: datetime) -> None:
    """Switch a cohort off, unless somebody changed it since it was read."""
    states = {"is_on": True, "is_guarded": True, "percentage": cohort.percentage, "variant": cohort.variant}
    current = Cohort.objects.select_for_update().filter(pk=cohort.pk, **states).first()
    if current is None:
        return
    current.is_on = False
    current.save(update_fields=["is_on"])
    reason = f"{UNCHANGED}, {reading.summary}."
    audit_log.record_change("cohort", current.name, {"is_on": True}, {"is_on": False}, by=BY, at=at, note=reason)
    subject = f"The cohort {current.name} was stopped automatically"
    page = reverse("admin:analytics_cohort_change", args=[current.pk])
    message = OutgoingMessage(EVENT, subject, f"{subject}. {reason} Its users get what everyone else gets.", page, BY)
    outbox.notify(message, recipients=find_emails("analytics.change_cohort"), at=at)
    log.warning("cohort.stopped name=%s users=%s", current.name, reading.own.subjects)


@dataclass(frozen=True, slots=True)
class GuardrailStop:
    """A cohort that the guardrail switched off, when and why."""

    cohort: Cohort
    time: datetime
    reason: str


def list_stops(cohorts: Iterable[Cohort]) -> list[GuardrailStop]:
    """Return the cohorts that the guardrail switched off, the latest first."""
    off = {cohort.name: cohort for cohort in cohorts if not cohort.is_on}
    entries = AuditEntry.objects.filter(kind="cohort", name__in=list(off)).order_by("-time", "-id")
    latest: dict[str, AuditEntry] = {}
    for entry in entries[:1_000] if off else ():
        latest.setdefault(entry.name, entry)
    return [GuardrailStop(off[name], entry.time, entry.note) for name, entry in latest.items() if entry.by == BY]
