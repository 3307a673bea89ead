"""What was live when: for everyone, and for the cohorts that are on their own release."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import OuterRef, QuerySet, Subquery

from analytics.flags import LIVE, FlagKey
from analytics.rollout.models import Cohort
from audit.models import AuditEntry
from registry.models import Activation, Release
from registry.releases import stored_releases

DAYS = 30
MAX_COHORTS = 10
MAX_SEGMENTS = 200  # of a lane
MIN_SPAN = timedelta(minutes=1)
MIN_WIDTH = 0.5  # percent, so that a short period can still be seen

EVERYONE = "Everyone"


class LivePeriod(NamedTuple):
    """A time during which users were served one release. The release of `version` may no longer exist."""

    version: str
    start: datetime
    end: datetime
    is_now: bool


@dataclass(frozen=True, slots=True)
class Segment:
    """A period as a part of the chart, with its place in percent of the width."""

    period: LivePeriod
    label: str
    release: Release | None
    left: float
    width: float


@dataclass(frozen=True, slots=True)
class Lane:
    """The periods of everyone or of one cohort, oldest first."""

    name: str
    cohort: Cohort | None
    segments: list[Segment]


def query_activations() -> QuerySet[Any]:
    """Return the activations, newest first, each with when the next one began (`until`) and what was live before."""
    until = Activation.objects.filter(id__gt=OuterRef("id")).order_by("id").values("activated_at")[:1]
    before = Activation.objects.filter(id__lt=OuterRef("id")).order_by("-id").values("release_id")[:1]
    return Activation.objects.annotate(until=Subquery(until), before=Subquery(before)).order_by("-id")


def find_start(at: datetime) -> datetime:
    """Return when the chart begins: the last days, or the time since the first release was made live."""
    first = Activation.objects.order_by("id").values_list("activated_at", flat=True).first() or at
    return min(max(first, at - timedelta(days=DAYS)), at - MIN_SPAN)


def build_lanes(since: datetime, *, at: datetime) -> list[Lane]:
    """Return the lanes since a time: everyone first, then the cohorts that were on their own release."""
    lanes: list[tuple[str, Cohort | None, list[LivePeriod]]] = [(EVERYONE, None, _list_live_periods(since, at))]
    for cohort in Cohort.objects.filter(flag_id=FlagKey.RELEASE).order_by("position")[:MAX_COHORTS]:
        if periods := list(_iterate_cohort_periods(cohort, since, at)):
            lanes.append((cohort.name, cohort, sorted(periods, key=lambda period: period.start)))
    versions = {period.version for _, _, periods in lanes for period in periods}
    releases = Release.objects.filter(version__in=versions).defer("content", "tokens", "accepted_warnings").in_bulk()
    return [Lane(name, cohort, list(_place_segments(periods, releases, since, at))) for name, cohort, periods in lanes]


def _list_live_periods(since: datetime, at: datetime) -> list[LivePeriod]:
    rows = query_activations().defer(*stored_releases.LARGE_COLUMNS)
    newest = [(row.release_id, row.activated_at, row.until) for row in rows[:MAX_SEGMENTS]]
    periods = [
        LivePeriod(version, max(start, since), until or at, until is None)
        for version, start, until in newest
        if until is None or until > since
    ]
    return periods[::-1]


def _iterate_cohort_periods(cohort: Cohort, since: datetime, at: datetime) -> Iterator[LivePeriod]:
    """Yield when a cohort was on a release, newest first, from its current state and the changes in the audit log."""
    variant, is_on, end = cohort.variant, cohort.is_on, at
    entries = AuditEntry.objects.filter(kind="cohort", name=cohort.name, time__gt=since, time__lte=at)
    for entry in entries.order_by("-id")[:MAX_SEGMENTS]:
        is_first = entry.action == AuditEntry.Action.ADDED
        if not is_first and not {"variant", "is_on"} & entry.changes.keys():
            continue
        if _is_pinned(variant, is_on):
            yield LivePeriod(variant, entry.time, end, end == at)
        if is_first:
            return
        variant, is_on = (entry.changes.get(name, [now])[0] for name, now in (("variant", variant), ("is_on", is_on)))
        end = entry.time
    if _is_pinned(variant, is_on):
        yield LivePeriod(variant, since, end, end == at)


def _is_pinned(variant: object, is_on: object) -> bool:
    return bool(is_on) and bool(variant) and variant != LIVE


def _place_segments(
    periods: Iterable[LivePeriod], releases: Mapping[str, Release], since: datetime, at: datetime
) -> Iterator[Segment]:
    whole = at - since
    for period in periods:
        release = releases.get(period.version)
        left, width = (100 * part / whole for part in (period.start - since, period.end - period.start))
        width = max(width, MIN_WIDTH)
        label = release.short_name if release else period.version[:12]
        yield Segment(period, label, release, round(min(left, 100 - width), 3), round(width, 3))
