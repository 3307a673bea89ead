"""Plans of requests that read: lists, searches, details, free time."""

import re
from collections.abc import Generator
from typing import Any

from chat.scripted_model.dates import Days
from chat.scripted_model.intents import OPEN_STATES, ScriptedIntent, read_list_filters
from chat.scripted_model.outcomes import ScriptedOutcome, build_op
from chat.scripted_model.plans import Plan, ScriptedCall, ScriptedCallFailed, run
from chat.scripted_model.rows import (
    DATE_LABELS,
    NOT_IN_PROJECTS,
    Row,
    describe_details,
    describe_row,
    describe_rows,
    describe_slots,
    read_rows,
    search_other_projects,
)
from chat.scripted_model.rules.lookup import find_project, find_row
from chat.scripted_model.rules.request import Request
from chat.scripted_model.vocabulary import DUE, MOST, THESE, TO_DO, WHEN

_LIMIT = 8
MAX_CHARS = 1_500  # of the texts of one row
_DURATION = re.compile(r"\b(\d{1,3}|an?|one|two|three|half an)[ -]?(hour|minute|min|h)s?\b", re.IGNORECASE)
_IMPACTS = {"critical": 1, "high": 2, "medium": 3, "low": 4}
_NUMBERS = {"a": 1.0, "an": 1.0, "one": 1.0, "two": 2.0, "three": 3.0, "half an": 0.5}


def plan_list(request: Request, days: Days) -> Plan:
    """List the rows of a kind, or search for words; within a project if the message names one."""
    intent = request.intent
    if (first := _find_most_urgent(request, days)) is not None:
        return first
    kind = intent.kind or ("task" if read_list_filters(intent.message) else "")
    if kind == "event":
        outcome = yield from run("cal.event.list", **days.parse_range(intent.message), limit=_LIMIT)
        return _describe_list([outcome], "event", days)
    project = (yield from find_project(intent.project)) if intent.project and kind not in ("", "project") else None
    words = _remove_words(intent.words, project.title if project else "")
    scope = {"project_id": project.id} if project else {}
    filters = _read_filters(intent, days) if kind == "task" else {}
    if words and not filters:
        place = None if project else request.place
        return (yield from _search(build_op(kind, "search") if kind else "onto.search", words, scope, place, days))
    where = project or (None if kind == "project" else request.place)  # a list is of the place if it has no project
    calls = [ScriptedCall(build_op(kind or "task", "list"), {**filters, **scope, "limit": _LIMIT})]
    times = days.parse_range(intent.message)
    if times and TO_DO.search(intent.message.lower()):
        calls.append(ScriptedCall("cal.event.list", {**times, "calendar_scope": "user", "limit": _LIMIT}))
    outcomes = yield calls
    if failed := next((outcome for outcome in outcomes if not outcome.ok), None):
        raise ScriptedCallFailed(failed)
    tasks, *events = outcomes
    parts = [_describe_list([tasks], kind or "row", days, project=where, filters=filters)]
    parts += [_describe_list(events, "event", days)] if events else []
    return "\n\n".join(parts)


def _find_most_urgent(request: Request, days: Days) -> str | None:
    """Return which of the rows that were shown comes first, if the message asks for that. No call is needed."""
    lower = request.intent.message.lower()
    is_about_shown = THESE.search(lower) or not (request.intent.kind or TO_DO.search(lower))
    rows = [row for row in request.shown_rows if row.id]
    is_about_other_days = bool(days.parse_range(lower))
    if not (rows and is_about_shown and MOST.search(lower)) or is_about_other_days:
        return None
    return f"Of these, this one comes first:\n\n- {describe_row(min(rows, key=_get_urgency), days)}"


def _get_urgency(row: Row) -> tuple[int, bool, str]:
    impact = _IMPACTS.get(str(row.fields.get("impact")))
    priority = row.fields.get("priority")
    level = impact or (priority if isinstance(priority, int) else 9)
    date = next((row.fields[name] for name in ("due_at", "target_date", "start_at") if row.fields.get(name)), "9999")
    return level, not row.fields.get("is_overdue"), str(date)


def _search(op: str, words: str, scope: dict[str, Any], place: Row | None, days: Days) -> Plan:
    """Search for words; if the project that the user looks at has none, search other projects as well."""
    outcomes = [(yield from run(op, query=words[:200], **scope, limit=_LIMIT))]
    if place and op not in NOT_IN_PROJECTS and not read_rows(outcomes[0]) and not outcomes[0].is_cut:
        outcomes += yield from search_other_projects(op, words[:200], place)
    kind = "row" if op == "onto.search" else op.split(".")[1]
    return _describe_list(outcomes, kind, days, words=words)


def plan_details(request: Request, days: Days) -> Plan:
    """Get one row."""
    row = yield from find_row(request, days)
    outcome = yield from run(build_op(row.kind, "get"), **{f"{row.kind}_id": row.id}, **_limit_text(row.kind))
    rows = [one for one in read_rows(outcome) if one.id == row.id]
    shown = rows[0] if rows else row
    is_undated = WHEN.search(request.intent.message.lower()) and not any(map(shown.fields.get, DATE_LABELS))
    return describe_details(shown, days) + ("\n\nIt has no date." if is_undated else "")


def _limit_text(kind: str) -> dict[str, Any]:
    """Return the arguments with which a get returns only as much text as an answer shows."""
    return {} if kind in ("requirement", "event") else {"max_chars": MAX_CHARS}


def plan_free_time(request: Request, days: Days) -> Plan:
    """Find free time of the length and in the days that the message names."""
    minutes = read_minutes(request.intent.message) or 60
    outcome = yield from find_slots(request.intent.message, minutes, days)
    slots = describe_slots(outcome.result, days)
    if not slots:
        return f"You have no {minutes} minutes free then."
    return f"You are free for at least {minutes} minutes:\n\n{slots}"


def find_slots(
    message: str, minutes: int, days: Days
) -> Generator[list[ScriptedCall], list[ScriptedOutcome], ScriptedOutcome]:
    """Find free time in the days that a message names, else in the next seven."""
    return (yield from run("cal.slot.find", **days.parse_hours(message), duration_minutes=minutes, limit=3))


def read_minutes(message: str) -> int | None:
    """Return the length of time that a message names."""
    match = _DURATION.search(message)
    if not match:
        return None
    number = _NUMBERS.get(match[1].lower()) or float(match[1])
    return max(1, min(1440, int(number * (60 if match[2].lower().startswith("h") else 1))))


def _read_filters(intent: ScriptedIntent, days: Days) -> dict[str, Any]:
    filters = read_list_filters(intent.message)
    lower = intent.message.lower()
    times = {} if "overdue" in filters else days.parse_range(lower)
    if times:
        # Late tasks are also due today.
        is_by_today = TO_DO.search(lower) and days.today and times["time_max"] == days.today.isoformat()
        filters |= {} if is_by_today else {"due_after": times["time_min"]}
        filters["due_before"] = times["time_max"]
        filters.setdefault("state_key", [*OPEN_STATES])
    if times or DUE.search(lower):
        filters.setdefault("sort_by", "due_at")
    return filters


def _describe_list(
    outcomes: list[ScriptedOutcome],
    kind: str,
    days: Days,
    *,
    project: Row | None = None,
    filters: dict[str, Any] | None = None,
    words: str = "",
) -> str:
    rows = [row for outcome in outcomes for row in read_rows(outcome)]
    totals = (outcome.result.get("total") for outcome in outcomes)
    count = max(sum(total for total in totals if isinstance(total, int)), len(rows))
    where = f" in **{project.title}**" if project else ""
    searched = f" for “{words}”" if words else ""
    adjective, priority = _describe_filters(filters or {})
    if not rows:
        return f"I found no {adjective}{kind}s{priority}{searched}{where}."
    nouns = kind if count == 1 else f"{kind}s"
    return f"{count} {adjective}{nouns}{priority}{searched}{where}:\n\n{describe_rows(rows, days, total=count)}"


def _describe_filters(filters: dict[str, Any]) -> tuple[str, str]:
    """Return filters in words, before and after the noun."""
    states = filters.get("state_key", [])
    state = "open " if len(states) == len(OPEN_STATES) else "".join(f"{name.replace('_', ' ')} " for name in states)
    priority = " or ".join(str(number) for number in filters.get("priority", ()))
    due = " due then" if "due_after" in filters else " due by then" if "due_before" in filters else ""
    return (
        f"{'overdue ' if filters.get('overdue') else ''}{state}",
        f"{f' of priority {priority}' if priority else ''}{due}",
    )


def _remove_words(text: str, without: str) -> str:
    dropped = set(without.lower().split())
    return " ".join(word for word in text.split() if word.lower() not in dropped)
