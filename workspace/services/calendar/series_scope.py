"""Ask which occurrences of a recurring event or task a call means. A guess would move or delete all of them."""

import copy
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, NoReturn, cast

from core.handler_contract import ArgumentError, build_invalid_args
from workspace.models import CalendarEvent
from workspace.services.calendar import event_times, series
from workspace.services.time.times import LocalTimeParser

SCOPES = (series.THIS, series.FOLLOWING, series.ALL)
CHOICES = (
    f"Send scope: {series.THIS} for one occurrence, {series.FOLLOWING} for that one and all later ones (both with "
    f"{series.ARGUMENT}), or {series.ALL}."
)
MOVING_ARGUMENTS = frozenset(("start_at", "end_at", "duration_minutes"))


def require_scope_to_delete(
    event: CalendarEvent, args: Mapping[str, Any], clock: LocalTimeParser, *, at: datetime
) -> None:
    """Raise InvalidArgs if a call to delete a recurring event, or its task, does not say which occurrences."""
    if _lacks_scope(event, args):
        _raise_choices(event, clock, f"It recurs {event.recurrence}.", near=at)


def require_scope_to_finish(
    event: CalendarEvent, args: Mapping[str, Any], clock: LocalTimeParser, *, at: datetime
) -> None:
    """Raise InvalidArgs if a call finishes a recurring task, and does not say which occurrences of it are done.

    Most likely it is the one of today, which is the correction.
    """
    if not _lacks_scope(event, args):
        return
    today = series.find_start(event, at.astimezone(clock.zone).date(), clock.zone)
    text = today and series.SeriesPart(today, following=False).format_start(clock.zone)
    send = {"scope": series.THIS, series.ARGUMENT: text} if text else None
    _raise_choices(
        event, clock, f"It recurs {event.recurrence}, so say which occurrences are done.", near=at, send=send
    )


def require_scope_to_move(
    event: CalendarEvent, args: Mapping[str, Any], clock: LocalTimeParser, *, at: datetime
) -> None:
    """Raise InvalidArgs if a call changes the times of a recurring event, and does not say of which occurrences.

    A new time on the day of a later occurrence most likely means that one, which is the correction.
    """
    if not _lacks_scope(event, args) or MOVING_ARGUMENTS.isdisjoint(args):
        return
    moved, trial = copy.copy(event), LocalTimeParser(clock.zone)
    event_times.assign_times(moved, args, trial)
    if _get_times(moved) == _get_times(event):
        return
    name = "start_at" if args.get("start_at") is not None else "end_at"
    when = trial.parse(args, name)
    day = when.astimezone(clock.zone).date() if isinstance(when, datetime) else when
    start = day and series.find_start(event, day, clock.zone)
    first = cast("datetime | date", event.start_at or event.start_date)
    if start is None or start == first:
        _raise_choices(event, clock, f"It recurs {event.recurrence}, so say which occurrences to change.", near=at)
    text = series.SeriesPart(start, following=False).format_start(clock.zone)
    message = (
        f"It recurs {event.recurrence}, and {name} is on the day of its occurrence {text}. To change that one, send "
        f"scope {series.THIS} with it as {series.ARGUMENT}; {series.FOLLOWING} also changes all later ones, "
        f"{series.ALL} every one."
    )
    send = {"scope": series.THIS, series.ARGUMENT: text}
    raise build_invalid_args([ArgumentError("/scope", "missing", message, expected=list(SCOPES), send=send)])


def _lacks_scope(event: CalendarEvent, args: Mapping[str, Any]) -> bool:
    return bool(event.recurrence) and args.get("scope") is None and args.get(series.ARGUMENT) is None


def _get_times(event: CalendarEvent) -> tuple[date | None, ...]:
    return event.start_at, event.end_at, event.start_date, event.end_date


def _raise_choices(
    event: CalendarEvent,
    clock: LocalTimeParser,
    problem: str,
    *,
    near: datetime,
    send: dict[str, Any] | None = None,
) -> NoReturn:
    texts = series.describe_next_starts(event, clock, near=near)
    hint = f" It occurs at {', '.join(texts)}." if texts else ""
    message = f"{problem} {CHOICES}{hint}"
    raise build_invalid_args([ArgumentError("/scope", "missing", message, expected=list(SCOPES), send=send)])
