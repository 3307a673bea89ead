"""Write four weeks of demo activity up to now: events, tool selections, exposures, subjects and daily figures."""

import hashlib
import random
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from typing import Any

from django.db import transaction

from analytics import events, rollup
from analytics.models import Assignment, OperationEvent, Subject, ToolSelection
from analytics.rollout.flags import FlagKey
from gateway.demo import turns
from gateway.demo.turns import DemoOp, Served, TurnWriter
from registry import releases
from registry.models import Activation

DAYS = 28
TURNS = 140  # per weekday; a third of that at the weekend
SUBJECTS = [f"demo-user-{number:02}" for number in range(1, 41)]
HOURS = [1 if hour < 7 or hour > 20 else 4 if hour in (12, 13) else 8 for hour in range(24)]  # relative traffic
SEED = 9
BATCH = 1_000  # turns per insert
UNHEARD_OF = hashlib.sha256(b"the release before the demo's").hexdigest()  # used if no earlier release exists


def load(*, at: datetime, days: int = DAYS, turns_a_day: int = TURNS) -> int:
    """Write `days` of activity up to `at`, and roll it up. Return the number of events; 0 if it already exists."""
    if OperationEvent.objects.filter(client=turns.CLIENT).exists():
        return 0
    written = write(at=at, days=days, turns_a_day=turns_a_day)
    rollup.recount(_first_day(at, days), at)
    return written


def write(*, at: datetime, days: int, turns_a_day: int, ops: Sequence[DemoOp] = turns.OPS) -> int:
    """Write the activity without the rollup. Return the number of events."""
    served = _served()
    written = 0
    with transaction.atomic():
        for some in _batches(_turns(served, at, days, turns_a_day, ops)):
            happened = [event for of_turn, _ in some for event in of_turn]
            events.write(happened)
            ToolSelection.objects.bulk_create([told for _, told in some], batch_size=500)
            written += len(happened)
        _expose(served, at - timedelta(days=days))
        _see(at)
    return written


def cohorts() -> Iterator[tuple[Served, list[str]]]:
    """Yield each cohort's variant and its subjects."""
    served = _served()
    for each in served:
        if each.cohort:
            yield each, [subject for subject in SUBJECTS if _served_to(subject, served) == each]


def _served() -> list[Served]:
    """Return the default and two cohorts on two releases; the later release performs slightly better."""
    live = Activation.objects.filter(is_live=True).values_list("release_id", flat=True).first() or ""
    try:
        before = releases.before_live().version
    except releases.UnknownRelease:
        before = UNHEARD_OF
    return [
        Served("", "legacy", live, fails=0.14, mends=0.75, is_lost=0.05, loops=0.006),
        Served("copy-a", "gateway", before, fails=0.12, mends=0.84, is_lost=0.06, loops=0.004),
        Served("copy-b", "gateway", live, fails=0.075, mends=0.93, is_lost=0.03, loops=0.002),
    ]


def _served_to(subject: str, served: Sequence[Served]) -> Served:
    return served[int(turns.digest(subject), 16) % len(served)]


def _turns(
    served: Sequence[Served], at: datetime, days: int, turns_a_day: int, ops: Sequence[DemoOp]
) -> Iterator[tuple[list[dict[str, Any]], ToolSelection]]:
    """Yield the events and the tool selection of each turn."""
    chance, writer = random.Random(SEED), TurnWriter(SEED, ops)
    for number in range(days):
        day = _first_day(at, days) + timedelta(days=number)
        count = turns_a_day if day.weekday() < 5 else turns_a_day // 3
        for _ in range(round(count * chance.uniform(0.85, 1.15))):
            hour = chance.choices(range(24), HOURS)[0]
            begins = datetime.combine(day, time(hour), UTC) + timedelta(seconds=chance.uniform(0, 3_500))
            subject = chance.choice(SUBJECTS)
            turn = writer.turn(subject, _served_to(subject, served), begins)
            if turn[1].time < at:
                yield turn


def _expose(served: Sequence[Served], at: datetime) -> None:
    """Record an exposure to the cohort's release for each of its subjects."""
    Assignment.objects.bulk_create(
        [
            Assignment(flag=FlagKey.RELEASE, variant=each.release, cohort=each.cohort, subject=subject, time=at)
            for subject in SUBJECTS
            if (each := _served_to(subject, served)).cohort
        ],
        ignore_conflicts=True,
    )


def _see(at: datetime) -> None:
    """Record every subject as seen, so that the effect of a rollout change can be shown for them."""
    seen_at = at.replace(minute=0, second=0, microsecond=0)
    rows = [Subject(subject=subject, client=turns.CLIENT, seen_at=seen_at) for subject in SUBJECTS]
    Subject.objects.bulk_create(rows, ignore_conflicts=True)


def _first_day(at: datetime, days: int) -> date:
    return at.astimezone(UTC).date() - timedelta(days=days - 1)


def _batches(rows: Iterator[Any]) -> Iterator[list[Any]]:
    while some := list(islice(rows, BATCH)):
        yield some
