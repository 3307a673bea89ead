"""Metrics of one turn: which calls repaired which, and its figures. Pure functions of its events."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from analytics.calls import is_call, is_unknown_name
from analytics.models import OperationEvent, Turn

LOOP = 3  # identical calls in a turn that make a loop; a single repeat is not one


class Event(NamedTuple):
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
    mends: int | None
    release: str
    surface: str
    cohort: str
    model: str
    client: str
    subject: str
    session: str
    turn: str


def mended(events: Sequence[Event], *, settled_until: datetime) -> dict[int, Event]:
    """Return {id of a call: the failed call that it repairs} for the events of one turn, in order of time.

    A successful call repairs the latest earlier failed call of the same op that is not repaired yet. Repairs by settled
    calls stay as they were counted, even if an earlier event is written late.
    """
    found: dict[int, Event] = {}
    failed: defaultdict[str, list[Event]] = defaultdict(list)  # by op, calls that are not repaired yet
    for event in filter(is_call, events):
        waiting = failed[event.op]
        if not event.ok:
            waiting.append(event)
        elif event.time >= settled_until:
            if waiting:
                found[event.id] = waiting.pop()
        elif was := next((each for each in waiting if each.id == event.mends), None):
            waiting.remove(was)
            found[event.id] = was
    return found


def of(events: Sequence[Event], mends: Mapping[int, Event]) -> Turn:
    """Return an unsaved turn with its figures. `events` are in order of time; `repairs` is from `find_repairs`."""
    first, last = events[0], events[-1]
    calls = [event for event in events if is_call(event)]
    searches = [event for event in events if event.type == OperationEvent.Type.SEARCH and event.ok]
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
        helps=sum(event.type == OperationEvent.Type.HELP and event.ok for event in events),
        calls=len(calls),
        failed=sum(not event.ok for event in calls),
        mended=len(mends),
        unknown_names=sum(map(is_unknown_name, events)),
        repeats=_repeats(events),
    )


def _repeats(events: Sequence[Event]) -> int:
    times = Counter(event.digest for event in events if event.digest)
    return sum(max(0, number - LOOP + 1) for number in times.values())
