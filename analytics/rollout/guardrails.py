"""Automatic rollback: a guarded cohort is switched off when its calls clearly fail more often than all other calls.

Only calls since the cohort last changed count, and only those of the last day. The check runs every minute, so it uses
a 99.9% interval: with 95%, chance alone would soon stop a cohort.
"""

import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.urls import reverse

from analytics.events.event_filters import CALL
from analytics.events.models import OperationEvent
from analytics.reports.comparison import MIN_SAMPLE, Proportion, compute_newcombe_interval
from analytics.rollout.models import Cohort
from audit import audit_log
from audit.models import AuditEntry
from notifications import outbox
from notifications.outbox import OutgoingMessage

log = logging.getLogger(__name__)

WINDOW = timedelta(days=1)
MAX_CALLS = 50_000  # newest calls that are read
Z = 3.290527  # standard deviations that contain 99.9% of a normal distribution
BY = "guardrail"  # in the audit log
EVENT = "cohort.stopped"  # of the webhook
UNCHANGED = "Since the cohort last changed"  # the period of a reading, without a time: readers have other time zones


@dataclass(frozen=True, slots=True)
class GuardrailReading:
    """The calls of a cohort and all others since a time: how many failed of how many."""

    since: datetime
    own: Proportion
    others: Proportion

    @property
    def is_enough(self) -> bool:
        """Whether both sides have enough calls to compare them."""
        return min(self.own.total, self.others.total) >= MIN_SAMPLE

    @property
    def is_worse(self) -> bool:
        """Whether the cohort's calls fail more often, beyond chance."""
        if not self.is_enough:
            return False
        sides = (self.others.hits, self.others.total, self.own.hits, self.own.total)
        return compute_newcombe_interval(*sides, z=Z).low > 0

    @property
    def summary(self) -> str:
        """Both rates, in words, if there are enough calls to compare."""
        return f"{_describe_share(self.own)} failed, and {_describe_share(self.others)} of others"


def _describe_share(share: Proportion) -> str:
    rate = share.rate or 0.0
    return f"{rate:.{0 if rate >= 0.1 or not share.hits else 1}%} of {share.total:,} calls"


def stop_worse_cohorts(at: datetime) -> bool:
    """Switch off guarded cohorts whose calls clearly fail more often, and notify the users who can change cohorts."""
    guarded = list(Cohort.objects.filter(is_on=True, is_guarded=True, flag__is_on=True))
    for cohort, reading in measure_cohorts(guarded, at=at).items():
        if reading.is_worse:
            _stop_cohort(cohort, reading, at=at)
    return False


def measure_cohorts(cohorts: Collection[Cohort], *, at: datetime) -> Mapping[Cohort, GuardrailReading]:
    """Return the reading of each cohort. Without cohorts it takes no query."""
    if not cohorts:
        return {}
    begin = at - WINDOW
    since = {cohort: max(begin, _find_last_change(cohort) or begin) for cohort in cohorts}
    rows = OperationEvent.objects.filter(CALL, time__gte=min(since.values()), time__lte=at).order_by("-time", "-id")
    calls = [(time, names.split(), ok) for time, names, ok in rows.values_list("time", "cohort", "ok")[:MAX_CALLS]]
    return {cohort: _count_calls(cohort, calls, since[cohort]) for cohort in cohorts}


def _count_calls(
    cohort: Cohort, calls: Iterable[tuple[datetime, list[str], bool]], since: datetime
) -> GuardrailReading:
    counts = {True: [0, 0], False: [0, 0]}  # whether they are of the cohort: [failed, all]
    for time, names, ok in calls:
        if time >= since:
            side = counts[cohort.name in names]
            side[0] += not ok
            side[1] += 1
    return GuardrailReading(since, Proportion(*counts[True]), Proportion(*counts[False]))


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
    period = f"In the last {WINDOW.total_seconds() / 3600:.0f} hours" if reading.since == at - WINDOW else UNCHANGED
    reason = f"{period}, {reading.summary}."
    audit_log.record_change("cohort", current.name, {"is_on": True}, {"is_on": False}, by=BY, at=at, note=reason)
    subject = f"The cohort {current.name} was stopped automatically"
    page = reverse("admin:analytics_cohort_change", args=[current.pk])
    message = OutgoingMessage(EVENT, subject, f"{subject}. {reason} Its users get what everyone else gets.", page, BY)
    outbox.notify(message, recipients=find_recipients(), at=at)
    log.warning("cohort.stopped name=%s failed=%s calls=%s", current.name, reading.own.hits, reading.own.total)


def find_recipients() -> list[str]:
    """Return the e-mail addresses of the users who can change cohorts."""
    users = User.objects.with_perm("analytics.change_cohort", backend="django.contrib.auth.backends.ModelBackend")
    rows = users.filter(is_staff=True).exclude(email="").order_by("pk")
    return list(dict.fromkeys(rows.values_list("email", flat=True)))


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
