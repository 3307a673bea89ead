"""Misses: names and args that models got wrong, and searches after which nothing was run.

Field errors come from daily figures. The others need the order of events in a turn, so only the newest turns are read.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.db.models import Count, Max, Q

from analytics.events.event_filters import BY_MODEL, UNKNOWN_NAME, is_call, is_search
from analytics.events.models import UNKNOWN_OP, UNKNOWN_PATH, OperationEvent
from analytics.reports.report_filter import ReportFilter
from analytics.turns.models import TURN_CONDITIONS, Turn, TurnWith

MAX_TURNS = 1_000  # the newest turns that are read
MAX_LISTED = 30
MIN_FIELD_ERRORS = 2  # of the same kind; a single one does not repeat
MIN_WRONG_CHOICES = 3  # fewer may be chance
BATCH_SIZE = 400  # turns per query
TurnKey = tuple[str, str, str]


class MissEvent(NamedTuple):
    """The fields of an event that show what was missed."""

    id: int
    type: str
    source: str
    purpose: str
    op: str
    dry_run: bool
    replayed: bool
    ok: bool
    reason: str
    result_count: int | None
    release: str
    client: str
    session: str
    turn: str


@dataclass(slots=True)
class Miss:
    """Something that models got wrong in the same way, and how often."""

    times: int = 0
    releases: Counter[str] = field(default_factory=Counter)  # that served it
    example: int = 0  # id of the latest event
    next_ops: Counter[str] = field(default_factory=Counter)  # that worked later in the turn

    def add(self, event: MissEvent, next_op: str) -> None:
        """Count one more event; events come in order of time."""
        self.times += 1
        self.releases[event.release] += 1
        self.example = max(self.example, event.id)
        if next_op:
            self.next_ops[next_op] += 1

    @property
    def next_op(self) -> str:
        """The op that worked most often later in the turn; "" if none did."""
        return self.next_ops.most_common(1)[0][0] if self.next_ops else ""


class MissedSearch(NamedTuple):
    """A search without a useful result. The words are "" for all searches whose words are not stored."""

    words: str
    miss: Miss


class WrongChoice(NamedTuple):
    """An op that failed, and another one that then worked in the same turn, while the first one never did."""

    wrong: str
    right: str
    miss: Miss
    search: int | None  # id of the latest event of a search before it whose words are stored
    calls: int  # of the wrong op, in the turns that were read


class FieldErrors(NamedTuple):
    """The same error of the same argument of an op. The pointer has * for an index."""

    op: str
    pointer: str
    code: str
    times: int
    releases: Counter[str]


class TurnMisses(NamedTuple):
    """What was missed in the newest turns, most frequent first."""

    searches: list[MissedSearch]
    choices: list[WrongChoice]
    search_count: int  # of searches without a useful result, listed or not
    turn_count: int  # of turns that searched or failed, at most MAX_TURNS


def count_field_errors(report_filter: ReportFilter, *, limit: int = MAX_LISTED) -> list[FieldErrors]:
    """Return the field errors that repeat, most frequent first."""
    times: Counter[tuple[str, str, str]] = Counter()
    releases: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    rows = report_filter.select_daily_figures().exclude(field_errors=[]).exclude(op="")
    for op, release, field_errors in rows.values_list("op", "release", "field_errors"):
        for pointer, code, count in field_errors:
            times[op, pointer, code] += count
            releases[op, pointer, code][release] += count
    return [
        FieldErrors(*key, count, releases[key])
        for key, count in sorted(times.items(), key=lambda each: (-each[1], each[0]))[:limit]
        if count >= MIN_FIELD_ERRORS
    ]


def find_repairing_calls(report_filter: ReportFilter, ops: Iterable[str]) -> dict[str, int]:
    """Return {op: id of the latest event of a call that repaired a failed one and whose args are stored}."""
    events = report_filter.select_events().filter(op__in=list(ops), repairs__isnull=False, content__isnull=False)
    return dict(events.values("op").annotate(latest=Max("id")).values_list("op", "latest"))


def find_turn_misses(report_filter: ReportFilter, *, with_contents: bool = True, limit: int = MAX_LISTED) -> TurnMisses:
    """Return what was missed in the newest turns that searched or failed. Without contents, no words are read."""
    turns = report_filter.select_turns().filter(Q(searches__gt=0) | Q(failed__gt=0))
    keys = turns.order_by("-time", "-id").values_list("client", "session", "turn")[:MAX_TURNS]
    events_by_turn = _read_turns(list(keys))
    contents = _read_search_contents(events_by_turn.values()) if with_contents else {}
    searches: dict[str, Miss] = defaultdict(Miss)
    choices: dict[tuple[str, str], Miss] = defaultdict(Miss)
    last_searches: dict[tuple[str, str], int] = {}
    calls: Counter[str] = Counter()
    for events in events_by_turn.values():
        calls.update(event.op for event in events if is_call(event))
        for event, next_op in _iter_missed_searches(events, contents):
            searches[_get_words(contents.get(event.id))].add(event, next_op)
        for event, right, search in _iter_wrong_choices(events, contents):
            choices[event.op, right].add(event, right)
            if search is not None:
                last_searches[event.op, right] = max(search, last_searches.get((event.op, right), 0))
    return TurnMisses(
        [MissedSearch(words, miss) for words, miss in _sort_by_times(searches)[:limit]],
        [
            WrongChoice(wrong, right, miss, last_searches.get((wrong, right)), calls[wrong])
            for (wrong, right), miss in _sort_by_times(choices)[:limit]
            if miss.times >= MIN_WRONG_CHOICES
        ],
        sum(miss.times for miss in searches.values()),
        len(events_by_turn),
    )


def _iter_missed_searches(
    events: Sequence[MissEvent], contents: dict[int, dict[str, Any]]
) -> Iterator[tuple[MissEvent, str]]:
    """Yield (search, op that worked next) for the searches of a turn without a useful result.

    Either nothing was found, or none of the ops found (if they are stored) worked later in the turn, although the model
    searched again or ran another op.
    """
    for index, event in enumerate(events):
        if not is_search(event):
            continue
        later = events[index + 1 :]
        worked = [each.op for each in later if is_call(each) and each.ok]
        found = (contents.get(event.id) or {}).get("result", {}).get("items")
        went_on = bool(worked) or any(map(is_search, later))
        if event.result_count == 0 or (found is not None and went_on and not set(worked) & set(found)):
            yield event, worked[0] if worked else ""


def _iter_wrong_choices(
    events: Sequence[MissEvent], contents: dict[int, dict[str, Any]]
) -> Iterator[tuple[MissEvent, str, int | None]]:
    """Yield (failed call, op that worked then, search before it) for ops that failed in a turn and never worked."""
    calls = [each for each in events if is_call(each) and each.reason != UNKNOWN_OP and each.op]
    worked = {each.op for each in calls if each.ok}
    seen = set()
    for index, event in enumerate(calls):
        if event.ok or event.op in worked or event.op in seen:
            continue
        seen.add(event.op)  # a model that repeats a call has chosen once
        right = next((each.op for each in calls[index + 1 :] if each.ok), "")
        searches = [each.id for each in events if is_search(each) and each.id in contents and each.id < event.id]
        if right:
            yield event, right, searches[-1] if searches else None


def _read_turns(keys: Sequence[TurnKey]) -> dict[TurnKey, list[MissEvent]]:
    """Return the events of each turn in order of time."""
    events_by_turn: dict[TurnKey, list[MissEvent]] = {key: [] for key in keys}
    for start in range(0, len(keys), BATCH_SIZE):
        batch = keys[start : start + BATCH_SIZE]
        rows = OperationEvent.objects.filter(
            BY_MODEL, session__in={key[1] for key in batch}, turn__in={key[2] for key in batch}
        ).exclude(turn="")
        for row in rows.order_by("time", "id").values_list(*MissEvent._fields):
            event = MissEvent(*row)
            if (events := events_by_turn.get((event.client, event.session, event.turn))) is not None:
                events.append(event)
    return {key: events for key, events in events_by_turn.items() if events}


def _read_search_contents(turns: Iterable[Sequence[MissEvent]]) -> dict[int, dict[str, Any]]:
    """Return the stored words and results of searches, by event."""
    ids = [event.id for events in turns for event in events if is_search(event)]
    contents: dict[int, dict[str, Any]] = {}
    for start in range(0, len(ids), BATCH_SIZE):
        rows = OperationEvent.objects.filter(id__in=ids[start : start + BATCH_SIZE], content__isnull=False)
        contents |= {event: content or {} for event, content in rows.values_list("id", "content")}
    return contents


def _get_words(content: dict[str, Any] | None) -> str:
    return " ".join(str((content or {}).get("args", {}).get("query", "")).lower().split())


def _sort_by_times(misses: dict[Any, Miss]) -> list[tuple[Any, Miss]]:
    return sorted(misses.items(), key=lambda each: (-each[1].times, each[0]))


class UnknownName(NamedTuple):
    """An unknown name as it was sent, and how often."""

    name: str
    times: int
    releases: Counter[str]  # that served it


def count_unknown_names(report_filter: ReportFilter, *, limit: int = 20) -> list[UnknownName]:
    """Return the unknown names that were called or read most often.

    Reads events; an index covers these few. Daily figures do not store names that callers make up.
    """
    events = (
        report_filter.select_events().filter(reason__in=[UNKNOWN_OP, UNKNOWN_PATH]).filter(UNKNOWN_NAME).exclude(op="")
    )
    groups = events.values("op").annotate(times=Count("id")).order_by("-times", "op")
    times = {row["op"]: row["times"] for row in groups[:limit]}
    releases: dict[str, Counter[str]] = {name: Counter() for name in times}
    for name, release in events.filter(op__in=times).values_list("op", "release"):
        releases[name][release] += 1
    return [UnknownName(name, times[name], releases[name]) for name in times]


def list_worst_loops(report_filter: ReportFilter, *, limit: int = 20) -> list[Turn]:
    """Return the turns with the most repeated calls, worst first."""
    return list(
        report_filter.select_turns().filter(TURN_CONDITIONS[TurnWith.LOOP]).order_by("-repeats", "-time")[:limit]
    )
