"""Write four weeks of demo activity up to now: events, reported turns, exposures, subjects and daily figures."""

import random
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from typing import Any

from django.db import transaction

from analytics.events import event_log, stored_contents
from analytics.events.models import OperationEvent
from analytics.flags import FlagKey
from analytics.rollout.models import Assignment, Subject
from analytics.rollups import rollup_job
from analytics.turns.models import Feedback, ToolSelection
from demo.traffic import compared_copy, experiments, turns
from demo.traffic.contents import DemoContents
from demo.traffic.turns import DemoOp, DemoVariant, TurnGenerator
from registry.releases import stored_releases

DAYS = 28
TURNS_PER_DAY = 140  # per weekday; a third of that at the weekend
SUBJECTS = [f"demo-user-{number:03}" for number in range(1, 181)]
HOUR_WEIGHTS = [1 if hour < 7 or hour > 20 else 4 if hour in (12, 13) else 8 for hour in range(24)]  # relative traffic
SEED = 9
TURNS_PER_INSERT = 1_000  # turns per insert


def exists() -> bool:
    """Return whether the activity was written before."""
    return OperationEvent.objects.filter(client=turns.CLIENT).exists()


def load(*, at: datetime, days: int = DAYS, turns_a_day: int = TURNS_PER_DAY, with_experiments: bool = False) -> int:
    """Write `days` of activity up to `at`, and roll it up. Return the number of events; 0 if it already exists."""
    if exists():
        return 0
    event_count = write(at=at, days=days, turns_a_day=turns_a_day)
    created = experiments.write_events(at=at) if with_experiments else []
    rollup_job.recount_from(_get_first_day(at, days), at)
    experiments.write_results(created, at=at)
    return event_count


def write(
    *,
    at: datetime,
    days: int,
    turns_a_day: int,
    ops: Sequence[DemoOp] = turns.OPS,
    releases: tuple[str, str] | None = None,
) -> int:
    """Write the activity without the rollup. Return the number of events.

    `releases` are the versions of the cohorts' releases; by default a plainer and a clearer copy of the live one.
    """
    variants = _build_variants(at, releases)
    event_count, contents = 0, DemoContents()
    stored_contents.refresh_rules()  # a command has not polled them
    contents_since = at - timedelta(days=stored_contents.get_rules().days)
    with transaction.atomic():
        for batch in _split_into_batches(_generate_turns(variants, at, days, turns_a_day, ops)):
            for of_turn, _ in batch:
                for number, event in enumerate(of_turn):
                    if event["time"] >= contents_since:
                        event["content"] = contents.build(event, of_turn[number + 1 :])
            batch_events = [event for of_turn, _ in batch for event in of_turn]
            event_log.write_events(batch_events)
            ToolSelection.objects.bulk_create([selection for _, selection in batch], batch_size=500)
            Feedback.objects.bulk_create(filter(None, (turns.draw_feedback(selection) for _, selection in batch)))
            event_count += len(batch_events)
        _record_exposures(variants, at - timedelta(days=days))
        _record_subjects(at)
    return event_count


def list_cohorts(at: datetime) -> Iterator[tuple[DemoVariant, list[str]]]:
    """Yield each cohort's variant and its subjects."""
    variants = _build_variants(at)
    for each in variants:
        if each.cohort:
            yield each, [subject for subject in SUBJECTS if _assign_variant(subject, variants) == each]


def _build_variants(at: datetime, releases: tuple[str, str] | None = None) -> list[DemoVariant]:
    """Return the default and two cohorts on two releases; the second one performs better."""
    live_release = stored_releases.get_live_release()
    live = live_release.version if live_release else ""
    plainer, clearer = releases or ("", "")
    if releases is None and live_release:
        plainer, clearer = (each.version for each in compared_copy.get_or_create_releases(live_release, at))
    return [
        DemoVariant("", "legacy", live, failure_rate=0.14, repair_rate=0.75, unknown_name_rate=0.05, loop_rate=0.006),
        DemoVariant(
            "copy-a",
            "gateway",
            plainer,
            failure_rate=0.12,
            repair_rate=0.84,
            unknown_name_rate=0.06,
            loop_rate=0.004,
        ),
        DemoVariant(
            "copy-b", "gateway", clearer, failure_rate=0.075, repair_rate=0.93, unknown_name_rate=0.03, loop_rate=0.002
        ),
    ]


def _assign_variant(subject: str, variants: Sequence[DemoVariant]) -> DemoVariant:
    return variants[int(turns.short_digest(subject), 16) % len(variants)]


def _generate_turns(
    variants: Sequence[DemoVariant], at: datetime, days: int, turns_a_day: int, ops: Sequence[DemoOp]
) -> Iterator[tuple[list[dict[str, Any]], ToolSelection]]:
    """Yield the events and the tool selection of each turn."""
    rng, writer = random.Random(SEED), TurnGenerator(SEED, ops)
    for number in range(days):
        day = _get_first_day(at, days) + timedelta(days=number)
        count = turns_a_day if day.weekday() < 5 else turns_a_day // 3
        for _ in range(round(count * rng.uniform(0.85, 1.15))):
            hour = rng.choices(range(24), HOUR_WEIGHTS)[0]
            starts_at = datetime.combine(day, time(hour), UTC) + timedelta(seconds=rng.uniform(0, 3_500))
            subject = rng.choice(SUBJECTS)
            turn = writer.generate_turn(subject, _assign_variant(subject, variants), starts_at)
            if turn[1].time < at:
                yield turn


def _record_exposures(variants: Sequence[DemoVariant], at: datetime) -> None:
    """Record an exposure to the surface and the release of its cohorts for each subject."""
    rows = []
    for subject in SUBJECTS:
        if (each := _assign_variant(subject, variants)).cohort:
            shared: dict[str, Any] = {"subject": subject, "time": at}
            rows += [
                Assignment(flag=FlagKey.SURFACE, variant=each.surface, cohort=turns.SURFACE_COHORT, **shared),
                Assignment(flag=FlagKey.RELEASE, variant=each.release, cohort=each.cohort, **shared),
            ]
    Assignment.objects.bulk_create(rows, ignore_conflicts=True)


def _record_subjects(at: datetime) -> None:
    """Record every subject as seen, so that the effect of a rollout change can be shown for them."""
    seen_at = at.replace(minute=0, second=0, microsecond=0)
    rows = [Subject(subject=subject, client=turns.CLIENT, seen_at=seen_at) for subject in SUBJECTS]
    Subject.objects.bulk_create(rows, ignore_conflicts=True)


def _get_first_day(at: datetime, days: int) -> date:
    return at.astimezone(UTC).date() - timedelta(days=days - 1)


def _split_into_batches(rows: Iterator[Any]) -> Iterator[list[Any]]:
    while batch := list(islice(rows, TURNS_PER_INSERT)):
        yield batch
