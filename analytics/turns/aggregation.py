"""Aggregate turns into rates and medians, by group."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeVar

from django.db.models import Count

from analytics.events.event_filters import (
    NOT_TRIED_IN_ADMIN,
    is_by_model,
    is_call,
    is_help_read,
    is_search,
    is_unknown_name,
)
from analytics.events.models import OperationEvent
from analytics.turns.models import Turn

LOOP_LENGTH = 3  # identical calls in a turn that make a loop; a single repeat is not one
MAX_TURN_LENGTH = timedelta(hours=6)  # maximum length of a turn; of a longer one, only the last hours count
MAX_TURN_EVENTS = 1_000  # events of a turn in one run; more means that a client sends one id for all turns
QUERY_BATCH_SIZE = 400  # turns per query
_KEY_FIELDS = ("client", "session", "turn")
_VALUE_FIELDS = tuple(field.name for field in Turn._meta.fields if field.name not in ("id", *_KEY_FIELDS))
TurnKey = tuple[str, str, str]
Row = TypeVar("Row")


class TurnEvent(NamedTuple):
    """The fields of an event that turn metrics need."""

    id: int
    time: datetime
    type: str
    source: str
    purpose: str
    op: str
    tool_name: str
    dry_run: bool
    replayed: bool
    ok: bool
    reason: str
    result_count: int | None
    digest: str
    repairs: int | None
    release: str
    surface: str
    cohort: str
    model: str
    client: str
    subject: str
    session: str
    turn: str


def find_repairs(events: Sequence[TurnEvent], *, settled_until: datetime) -> dict[int, TurnEvent]:
    """Return {id of a call: the failed call that it repairs} for the events of one turn, in order of time.

    A successful call repairs the latest earlier failed call of the same op that is not repaired yet. Repairs by settled
    calls stay as they were counted, even if an earlier event is written late.
    """
    repairs: dict[int, TurnEvent] = {}
    failed: defaultdict[str, list[TurnEvent]] = defaultdict(list)  # by op, calls that are not repaired yet
    for event in filter(is_call, events):
        unrepaired = failed[event.op]
        if not event.ok:
            unrepaired.append(event)
        elif event.time >= settled_until:
            if unrepaired:
                repairs[event.id] = unrepaired.pop()
        elif repaired_call := next((each for each in unrepaired if each.id == event.repairs), None):
            unrepaired.remove(repaired_call)
            repairs[event.id] = repaired_call
    return repairs


def compute_turn(events: Sequence[TurnEvent], repairs: Mapping[int, TurnEvent]) -> Turn:
    """Return an unsaved turn with its figures. `events` are in order of time; `repairs` is from `find_repairs`."""
    first, last = events[0], events[-1]
    calls = list(filter(is_call, events))
    searches = list(filter(is_search, events))
    return Turn(
        client=last.client,
        session=last.session,
        turn=last.turn,
        subject=last.subject,
        time=first.time,
        release=last.release,
        surface=last.surface,
        cohort=last.cohort,
        model=last.model,
        searches=len(searches),
        misses=sum(event.result_count == 0 for event in searches),
        helps=sum(map(is_help_read, events)),
        calls=len(calls),
        failed=sum(not event.ok for event in calls),
        repaired=len(repairs),
        unknown_names=sum(map(is_unknown_name, events)),
        repeats=_count_repeats(events),
        is_first_call_ok=calls[0].ok if calls else None,
    )


def _count_repeats(events: Sequence[TurnEvent]) -> int:
    times = Counter(event.digest for event in events if event.digest and is_by_model(event))
    return sum(max(0, number - LOOP_LENGTH + 1) for number in times.values())


class Repair(NamedTuple):
    """A failed call, and the call that repaired it."""

    failed: TurnEvent
    repaired_by: TurnEvent


class TurnAggregates(NamedTuple):
    """Unsaved turns, the repairs since the last run, and {event id: new value of its `repairs`} for changed events."""

    turns: list[Turn]
    repairs: list[Repair]
    changed_repairs: dict[int, int | None]


def aggregate_turns(since: datetime, until: datetime) -> TurnAggregates:
    """Return the turns that have events with since <= time < until.

    Repairs by calls before `since` are settled and do not change.
    """
    aggregates = TurnAggregates([], [], {})
    for events in _iter_turn_events(_find_turn_keys(since, until), since, until):
        repaired = find_repairs(events, settled_until=since)
        last_events = [event for event in events if event.time >= events[-1].time - MAX_TURN_LENGTH]
        last_repairs = {by: failed for by, failed in repaired.items() if failed.time >= last_events[0].time}
        aggregates.turns.append(compute_turn(last_events, last_repairs))
        for event in (event for event in events if event.time >= since):
            failed = repaired.get(event.id)
            if failed:
                aggregates.repairs.append(Repair(failed, event))
            if event.repairs != (failed and failed.id):
                aggregates.changed_repairs[event.id] = failed and failed.id
    return aggregates


def write_turns(aggregates: TurnAggregates) -> None:
    """Write the turns and events that differ from their rows."""
    for batch in _iter_batches(sorted(aggregates.turns, key=lambda turn: turn.time)):
        candidates = Turn.objects.filter(turn__in=[turn.turn for turn in batch])
        stored = {_get_values(turn) for turn in candidates.filter(time__gte=batch[0].time, time__lte=batch[-1].time)}
        Turn.objects.bulk_create(
            [turn for turn in batch if _get_values(turn) not in stored],
            update_conflicts=True,
            unique_fields=_KEY_FIELDS,
            update_fields=_VALUE_FIELDS,
        )
    changed = [OperationEvent(id=event, repairs=failed) for event, failed in aggregates.changed_repairs.items()]
    OperationEvent.objects.bulk_update(changed, ["repairs"], batch_size=QUERY_BATCH_SIZE)


def _find_turn_keys(since: datetime, until: datetime) -> list[TurnKey]:
    turns = _filter_events(since, until).exclude(turn="").order_by().values(*_KEY_FIELDS).annotate(times=Count("id"))
    return list(turns.filter(times__lte=MAX_TURN_EVENTS).values_list(*_KEY_FIELDS))


def _iter_turn_events(keys: Sequence[TurnKey], since: datetime, until: datetime) -> Iterator[list[TurnEvent]]:
    """Yield the events of each turn in order of time; for a long turn, only the last hours and all since `since`.

    The figures of a turn are those of its last hours. The repairs of all events since `since` are counted in this run.
    """
    for batch in _iter_batches(keys):
        events_by_key: dict[TurnKey, list[TurnEvent]] = {key: [] for key in batch}
        sessions, turns = ({key[index] for key in batch} for index in (1, 2))
        # This may also match other turns, if clients number turns per session. One condition per turn would take longer
        # to plan than to run.
        candidates = (
            _filter_events(since - MAX_TURN_LENGTH, until).filter(session__in=sessions, turn__in=turns).exclude(turn="")
        )
        for row in candidates.order_by("time", "id").values_list(*TurnEvent._fields):
            event = TurnEvent(*row)
            if (events := events_by_key.get((event.client, event.session, event.turn))) is not None:
                events.append(event)
        for key in batch:
            begin = min(since, events_by_key[key][-1].time - MAX_TURN_LENGTH)
            yield [event for event in events_by_key[key] if event.time >= begin]


def _filter_events(since: datetime, until: datetime) -> Any:
    return OperationEvent.objects.filter(NOT_TRIED_IN_ADMIN, time__gte=since, time__lt=until)


def _get_values(turn: Turn) -> tuple[Any, ...]:
    return tuple(getattr(turn, name) for name in (*_KEY_FIELDS, *_VALUE_FIELDS))


def _iter_batches(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    for start in range(0, len(rows), QUERY_BATCH_SIZE):
        yield rows[start : start + QUERY_BATCH_SIZE]
