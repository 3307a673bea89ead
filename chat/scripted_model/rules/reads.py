"""Plans of requests that read: lists, searches, details, free time."""

import re
from collections.abc import Generator
from datetime import date, timedelta
from typing import Any

from chat.scripted_model.dates import Days
from chat.scripted_model.intents import OPEN_STATES, Intent, read_list_filters
from chat.scripted_model.op_names import build_op
from chat.scripted_model.outcomes import Outcome
from chat.scripted_model.plans import Call, Plan, run
from chat.scripted_model.rows import Row, describe_details, describe_rows, describe_slots, read_rows
from chat.scripted_model.rules.lookup import find_project, find_row
from chat.scripted_model.rules.request import Request
from chat.scripted_model.vocabulary import DUE

_LIMIT = 8
MAX_CHARS = 1_500  # of the texts of one row
_DURATION = re.compile(r"\b(\d{1,3}|an?|one|two|three|half an)[ -]?(hour|minute|min|h)s?\b", re.IGNORECASE)
_NUMBERS = {"a": 1.0, "an": 1.0, "one": 1.0, "two": 2.0, "three": 3.0, "half an": 0.5}


def plan_list(request: Request, days: Days) -> Plan:
    """List the rows of a kind, or search for words; within a project if the message names one."""
    intent = request.intent
    kind = intent.kind or ("task" if read_list_filters(intent.message) else "")
    if kind == "event":
        outcome = yield from run("cal.event.list", **days.parse_range(intent.message), limit=_LIMIT)
        return _describe_list(outcome, "event", days)
    project = (yield from find_project(intent.project)) if intent.project and kind not in ("", "project") else None
    words = _remove_words(intent.words, project.title if project else "")
    scope = {"project_id": project.id} if project else {}
    filters = _read_filters(intent, days) if kind == "task" else {}
    if words and not filters:
        outcome = yield from run(
            build_op(kind, "search") if kind else "onto.search", query=words[:200], **scope, limit=_LIMIT
        )
    else:
        outcome = yield from run(build_op(kind or "task", "list"), **filters, **scope, limit=_LIMIT)
    return _describe_list(outcome, kind or "row", days, project=project, filters=filters)


def plan_details(request: Request, days: Days) -> Plan:
    """Get one row."""
    row = yield from find_row(request, days)
    outcome = yield from run(build_op(row.kind, "get"), **{f"{row.kind}_id": row.id}, **_limit_text(row.kind))
    rows = [one for one in read_rows(outcome) if one.id == row.id]
    return describe_details(rows[0] if rows else row, days)


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


def find_slots(message: str, minutes: int, days: Days) -> Generator[list[Call], list[Outcome], Outcome]:
    """Find free time in the days that a message names, else in the next seven."""
    return (yield from run("cal.slot.find", **days.parse_range(message), duration_minutes=minutes, limit=3))


def read_minutes(message: str) -> int | None:
    """Return the length of time that a message names."""
    match = _DURATION.search(message)
    if not match:
        return None
    number = _NUMBERS.get(match[1].lower()) or float(match[1])
    return max(1, min(1440, int(number * (60 if match[2].lower().startswith("h") else 1))))


def _read_filters(intent: Intent, days: Days) -> dict[str, Any]:
    filters = read_list_filters(intent.message)
    lower = intent.message.lower()
    if DUE.search(lower) and "overdue" not in filters:
        day = days.parse_day(lower)
        if day and "next week" not in lower:
            filters |= {"due_after": day, "due_before": (date.fromisoformat(day) + timedelta(1)).isoformat()}
        elif times := days.parse_range(lower):
            filters |= {"due_after": times["time_min"], "due_before": times["time_max"]}
        filters.setdefault("sort_by", "due_at")
    return filters


def _describe_list(
    outcome: Outcome, kind: str, days: Days, *, project: Row | None = None, filters: dict[str, Any] | None = None
) -> str:
    rows = read_rows(outcome)
    total = outcome.result.get("total")
    count = max(total if isinstance(total, int) else 0, len(rows))
    where = f" in **{project.title}**" if project else ""
    adjective, priority = _describe_filters(filters or {})
    if not rows:
        return f"I found no {adjective}{kind}s{priority}{where}."
    nouns = kind if count == 1 else f"{kind}s"
    return f"{count} {adjective}{nouns}{priority}{where}:\n\n{describe_rows(rows, days, total=count)}"


def _describe_filters(filters: dict[str, Any]) -> tuple[str, str]:
    """Return filters in words, before and after the noun."""
    states = filters.get("state_key", [])
    state = "open " if len(states) == len(OPEN_STATES) else "".join(f"{name.replace('_', ' ')} " for name in states)
    priority = " or ".join(str(number) for number in filters.get("priority", ()))
    due = " due then" if "due_after" in filters else ""
    return (
        f"{'overdue ' if filters.get('overdue') else ''}{state}",
        f"{f' of priority {priority}' if priority else ''}{due}",
    )


def _remove_words(text: str, without: str) -> str:
    dropped = set(without.lower().split())
    return " ".join(word for word in text.split() if word.lower() not in dropped)
