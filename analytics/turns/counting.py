"""Aggregate turns from events. A turn with new events is recounted from all of its events."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeVar

from django.db.models import Count

from analytics.models import OperationEvent, Turn
from analytics.turns import facts
from analytics.turns.facts import Event

LASTS = timedelta(hours=6)  # maximum length of a turn; of a longer one, only the last hours count
MOST = 1_000  # events of a turn in one run; more means that a client sends one id for all turns
ASKED = 400  # turns per query

_KEY = ("client", "session", "turn")
_TOLD = tuple(field.name for field in Turn._meta.fields if field.name not in ("id", *_KEY))

Key = tuple[str, str, str]
Row = TypeVar("Row")


class Mended(NamedTuple):
    """A failed call, and the call that repaired it."""

    failed: Event
    by: Event


class Counted(NamedTuple):
    """Unsaved turns, the repairs since the last run, and {event id: new value of its `mends`} for changed events."""

    turns: list[Turn]
    mended: list[Mended]
    mends: dict[int, int | None]


def of(since: datetime, until: datetime) -> Counted:
    """Return the turns that have events with since <= time < until.

    Repairs by calls before `since` are settled and do not change.
    """
    counted = Counted([], [], {})
    for events in _events_of(_keys(since, until), since - LASTS, until):
        mends = facts.mended(events, settled_until=since)
        counted.turns.append(facts.of(events, mends))
        for event in (event for event in events if event.time >= since):
            failed = mends.get(event.id)
            if failed:
                counted.mended.append(Mended(failed, event))
            if event.mends != (failed and failed.id):
                counted.mends[event.id] = failed and failed.id
    return counted


def write(counted: Counted) -> None:
    """Write the turns and events that differ from their rows."""
    for some in _batches(sorted(counted.turns, key=lambda turn: turn.time)):
        named = Turn.objects.filter(turn__in=[turn.turn for turn in some])
        known = {_said(turn) for turn in named.filter(time__gte=some[0].time, time__lte=some[-1].time)}
        Turn.objects.bulk_create(
            [turn for turn in some if _said(turn) not in known],
            update_conflicts=True,
            unique_fields=_KEY,
            update_fields=_TOLD,
        )
    changed = [OperationEvent(id=event, mends=failed) for event, failed in counted.mends.items()]
    OperationEvent.objects.bulk_update(changed, ["mends"], batch_size=ASKED)


def _keys(since: datetime, until: datetime) -> list[Key]:
    turns = _events(since, until).exclude(turn="").order_by().values(*_KEY).annotate(times=Count("id"))
    return list(turns.filter(times__lte=MOST).values_list(*_KEY))


def _events_of(keys: Sequence[Key], since: datetime, until: datetime) -> Iterator[list[Event]]:
    """Yield the events of each turn in order of time; of a turn longer than MAX_TURN_LENGTH, only its last hours."""
    for some in _batches(keys):
        found: dict[Key, list[Event]] = {key: [] for key in some}
        sessions, turns = ({key[place] for key in some} for place in (1, 2))
        # This may match other turns too, if clients number turns per session. One condition per turn would take longer
        # to plan than to run.
        named = _events(since, until).filter(session__in=sessions, turn__in=turns).exclude(turn="")
        for row in named.order_by("time", "id").values_list(*Event._fields):
            event = Event(*row)
            if (events := found.get((event.client, event.session, event.turn))) is not None:
                events.append(event)
        for key in some:
            yield [event for event in found[key] if event.time >= found[key][-1].time - LASTS]


def _events(since: datetime, until: datetime) -> Any:
    events = OperationEvent.objects.filter(time__gte=since, time__lt=until)
    return events.exclude(source=OperationEvent.Source.ADMIN)


def _said(turn: Turn) -> tuple[Any, ...]:
    return tuple(getattr(turn, name) for name in (*_KEY, *_TOLD))


def _batches(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    for start in range(0, len(rows), ASKED):
        yield rows[start : start + ASKED]
