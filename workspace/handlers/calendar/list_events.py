"""Lists of the calendar events in a time range."""

from collections.abc import Callable, Sequence
from datetime import datetime, time, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from core.handler_contract import OpOutcome, OpRequest
from workspace.entity_types import EVENT
from workspace.models import CalendarEvent, CalendarEventQuerySet
from workspace.services import access
from workspace.services.calendar import event_list, events
from workspace.services.calendar.event_list import CalendarScope, Occurrence, OccurrencePosition, TimeRange
from workspace.services.entities import pagination, serialization
from workspace.services.search import search
from workspace.services.time import times
from workspace.services.time.times import LocalTimeParser

DAY_LENGTH = len("2026-03-01")
ALSO_AT = (
    " An event that repeats is one row; also_at has its other starts{more}. With fields, each occurrence is a row."
)
MORE_STARTS = ", and more_starts counts those left out"
MAX_ALSO_AT = 7  # other starts of an event that a row lists: those of a daily event in the seven days of a list
DEFAULT_DAYS = 7  # length of the time range when time_max is not sent; it then ends with its last day

# Names the calendars that a list covers, by scope; used in the message.
CALENDARS_BY_SCOPE = {
    event_list.USER: "the user's own calendar and projects",
    event_list.PROJECT: "the project's calendar",
    event_list.BY_ID: "the user's own calendar",
}


def list_events(request: OpRequest) -> OpOutcome:
    """Return a page of the events in a time range, by default the next seven days.

    A row is an event, with `fields` an occurrence of one. Raises NotFound, InvalidArgs.
    """
    events.refuse_external_calendar(request.args.get("calendar_id"))
    clock, scope = times.from_request(request), event_list.parse_scope(request.args)
    fields = serialization.choose_fields(request.args, events.FIELDS, also=events.ROW_FIELDS)
    mark = pagination.build_mark(EVENT, {**request.args, "per_occurrence": bool(fields)})
    after = event_list.decode_cursor(request.args["cursor"], mark=mark) if "cursor" in request.args else None
    span = TimeRange(after.start, after.end, clock.zone) if after else parse_time_range(request, clock)
    occurrences = event_list.list_occurrences(_filter_events(request, scope), span)
    limit = min(request.args.get("limit", pagination.DEFAULT_LIMIT), pagination.MAX_LIMIT)
    series = {} if fields else _group_by_event(occurrences)
    listed = occurrences if fields else [first for first, *_ in series.values()]
    page, has_more = event_list.slice_page(listed, after=after, limit=limit)
    rows = event_list.load_events(page, is_complete=bool(fields)) if page else {}

    def serialize(occurrence: Occurrence) -> dict[str, Any]:
        # Without time_zone, times are in the user's own, and a local time that is sent back is read in that zone.
        return events.serialize_occurrence(
            rows[occurrence.id],
            occurrence,
            zone=clock.zone,
            with_offset="time_zone" in request.args,
            fields=fields,
        )

    event_rows, shared = [serialize(each) for each in page if each.id in rows], dict[str, Any]()
    if not fields:
        for row in event_rows:
            _add_other_starts(row, series[UUID(row["id"])][1:], serialize)
        event_rows, shared = serialization.take_out_project(event_rows)
    result: dict[str, Any] = {
        **shared,
        "events": event_rows,
        "total": len(listed),
        "has_more": has_more,
        "time_range": serialize_time_range(span),
        "message": _build_message(len(page), len(listed), CALENDARS_BY_SCOPE[scope.name])
        + _describe_series(event_rows),
    }
    if has_more:
        position = OccurrencePosition(span.start, span.end, page[-1].start, page[-1].id)
        result["next_cursor"] = event_list.encode_cursor(position, mark=mark)
    return OpOutcome(result=result, warnings=(*clock.warnings, *scope.warnings))


def _group_by_event(occurrences: Sequence[Occurrence]) -> dict[UUID, list[Occurrence]]:
    """Return the occurrences of each event, in the order of the first ones."""
    by_event: dict[UUID, list[Occurrence]] = {}
    for each in occurrences:
        by_event.setdefault(each.id, []).append(each)
    return by_event


def _add_other_starts(
    row: dict[str, Any], others: Sequence[Occurrence], serialize: Callable[[Occurrence], dict[str, Any]]
) -> None:
    """Add to the row of an event when it starts again. These are days if they start at the same time of day."""
    for each in others[:MAX_ALSO_AT]:
        start = serialize(each)["start_at"]
        is_same_time = start[DAY_LENGTH:] == row["start_at"][DAY_LENGTH:]
        row.setdefault("also_at", []).append(start[:DAY_LENGTH] if is_same_time else start)
    if len(others) > MAX_ALSO_AT:
        row["more_starts"] = len(others) - MAX_ALSO_AT


def _describe_series(rows: Sequence[dict[str, Any]]) -> str:
    if not any("also_at" in row for row in rows):
        return ""
    return ALSO_AT.format(more=MORE_STARTS if any("more_starts" in row for row in rows) else "")


def _build_message(shown: int, total: int, calendars: str) -> str:
    if not total:
        return f"No events in {calendars} in time_range; for another time, send time_min and time_max."
    which = "" if calendars == CALENDARS_BY_SCOPE[event_list.USER] else f" in {calendars}"
    return f"{shown} of {total} events{which}, earliest first. {EVENT.get_op_path('get')} returns all fields."


def parse_time_range(request: OpRequest, clock: LocalTimeParser) -> TimeRange:
    """Return the requested time range. A date as time_max includes that whole day. Raises InvalidArgs."""
    time_min, time_max = clock.parse(request.args, "time_min"), clock.parse(request.args, "time_max")
    clock.raise_errors()
    start = request.at.replace(microsecond=0) if time_min is None else times.to_range_start(time_min, clock.zone)
    if time_max is None:
        end = _find_default_end(start, clock.zone)
    else:
        end = times.to_range_end(time_max, clock.zone)
    if end <= start:
        message = (
            "time_max must be after time_min, which defaults to now; send a later time_max or an earlier time_min."
        )
        swap = ("time_min", "time_max") if time_min is not None and time_max is not None else None
        clock.add_error("time_max", "out_of_order", message, swap=swap)
    elif end - start > event_list.MAX_LENGTH:
        message = f"The time range is longer than {event_list.MAX_LENGTH.days} days; send an earlier time_max."
        clock.add_error("time_max", "too_long", message)
    clock.raise_errors()
    return TimeRange(start, end, clock.zone)


def _find_default_end(start: datetime, zone: ZoneInfo) -> datetime:
    """Return the end of the day that is a week after a start. Whoever asks on a Sunday means all of the next one."""
    week_later = start.astimezone(zone).replace(tzinfo=None) + timedelta(days=DEFAULT_DAYS)
    midnight = datetime.combine(week_later, time.min)
    return times.localize(midnight if midnight == week_later else midnight + timedelta(days=1), zone)


def _filter_events(request: OpRequest, scope: CalendarScope) -> CalendarEventQuerySet:
    """Return the visible events that match the scope and the query. Raises NotFound for project_id, InvalidArgs."""
    queryset = CalendarEvent.objects.visible_to(request.subject)
    if scope.project_id is not None:
        access.require_project(subject=request.subject, id=scope.project_id)
        queryset = queryset.filter(project=UUID(scope.project_id))
    elif scope.name == event_list.BY_ID:
        queryset = queryset.owned_by(request.subject)
    if "query" in request.args:
        words = search.leave_out_stop_words(search.split_required_words(request.args["query"]))
        queryset = queryset.filter(search.match_all_words(words, columns=EVENT.search_columns))
    return queryset


def serialize_time_range(span: TimeRange) -> dict[str, str]:
    """Return a time range as {time_min, time_max, time_zone}, with the local times of that zone, as rows have them."""
    moments = {"time_min": span.start, "time_max": span.end}
    return {
        **{name: times.format_local_time(each, zone=span.zone) for name, each in moments.items()},
        "time_zone": span.zone.key,
    }
