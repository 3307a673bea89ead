"""Lists of the calendar events in a time range."""

from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from workspace.contract import Outcome, Request
from workspace.kinds import EVENT
from workspace.models import CalendarEvent, CalendarEventQuerySet
from workspace.services import access, agenda, events, pages, scopes, search, times, wallclock
from workspace.services.agenda import Position, Span
from workspace.services.scopes import Scope
from workspace.services.wallclock import Wallclock

DAYS = 7  # length of the time range when time_max is not sent

# Names the calendars that a list covers, by scope; used in the message.
WHERE = {
    scopes.USER: "the user's own calendar and projects",
    scopes.PROJECT: "the project's calendar",
    scopes.BY_ID: "the user's own calendar",
}


def list_events(request: Request) -> Outcome:
    """Return a page of the events in a time range, by default the next seven days.

    Raises NotFound, Invalid.
    """
    events.refuse_external(request.args.get("calendar_id"))
    clock, scope = wallclock.of(request), scopes.read(request.args)
    mark = pages.Listing.of(EVENT, request.args).mark
    after = agenda.decode(request.args["cursor"], mark=mark) if "cursor" in request.args else None
    span = Span(after.start, after.end, clock.zone) if after else span_of(request, clock)
    together = agenda.times_of(_narrowed(request, scope), span)
    limit = min(request.args.get("limit", pages.DEFAULT_LIMIT), pages.LARGEST_LIMIT)
    shown, has_more = agenda.page(together, after=after, limit=limit)
    rows = agenda.rows(shown) if shown else {}
    result: dict[str, Any] = {
        "events": [events.abbreviated(rows[each.id], each, zone=clock.zone) for each in shown if each.id in rows],
        "total": len(together),
        "has_more": has_more,
        "time_range": told(span),
        "message": f"{len(shown)} of {len(together)} events in {WHERE[scope.name]}, earliest first. "
        f"{EVENT.path('get')} returns the complete event.",
    }
    if has_more:
        position = Position(span.start, span.end, shown[-1].start, shown[-1].id)
        result["next_cursor"] = agenda.encode(position, mark=mark)
    return Outcome(result=result, warnings=(*clock.warnings, *scope.warnings))


def span_of(request: Request, clock: Wallclock) -> Span:
    """Return the requested time range. A date as time_max includes that whole day. Raises Invalid."""
    first, last = clock.read(request.args, "time_min"), clock.read(request.args, "time_max")
    clock.check()
    start = request.at.replace(microsecond=0) if first is None else _moment(first, clock.zone)
    if last is None:
        week_later = start.astimezone(clock.zone).replace(tzinfo=None) + timedelta(days=DAYS)
        end = times.at_wall(week_later, clock.zone)
    else:
        end = _moment(last if isinstance(last, datetime) else last + timedelta(days=1), clock.zone)
    if end <= start:
        message = (
            "time_max must be after time_min, which defaults to now; send a later time_max or an earlier time_min."
        )
        clock.refuse("time_max", "out_of_order", message)
    elif end - start > agenda.LONGEST:
        message = f"The time range is longer than {agenda.LONGEST.days} days; send an earlier time_max."
        clock.refuse("time_max", "too_long", message)
    clock.check()
    return Span(start, end, clock.zone)


def _moment(when: date, zone: ZoneInfo) -> datetime:
    return when if isinstance(when, datetime) else wallclock.beginning(when, zone)


def _narrowed(request: Request, scope: Scope) -> CalendarEventQuerySet:
    """Return the visible events that match the scope and the query. Raises NotFound for project_id, Invalid."""
    found = CalendarEvent.objects.visible_to(request.subject)
    if scope.project_id is not None:
        access.require_project(subject=request.subject, id=scope.project_id)
        found = found.filter(project=UUID(scope.project_id))
    elif scope.name == scopes.BY_ID:
        found = found.own(request.subject)
    if "query" in request.args:
        found = found.filter(search.all_of(search.required_words(request.args["query"]), columns=EVENT.searched))
    return found


def told(span: Span) -> dict[str, str]:
    """Return a time range as {time_min, time_max, time_zone}, with the times in that zone."""
    moments = {"time_min": span.start, "time_max": span.end}
    return {
        **{name: times.write(each, zone=span.zone) for name, each in moments.items()},
        "time_zone": span.zone.key,
    }
