"""Metrics of one turn: which calls repaired which, and its figures. Pure functions of its events."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from analytics.events.event_filters import is_call, is_help_read, is_search, is_unknown_name
from analytics.turns.models import Turn

LOOP_LENGTH = 3  # identical calls in a turn that make a loop; a single repeat is not one


class TurnEvent(NamedTuple):
    """The fields of an event that turn metrics need."""

    id: int
    time: datetime
    type: str
    source: str
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
    )


def _count_repeats(events: Sequence[TurnEvent]) -> int:
    times = Counter(event.digest for event in events if event.digest)
    return sum(max(0, number - LOOP_LENGTH + 1) for number in times.values())
