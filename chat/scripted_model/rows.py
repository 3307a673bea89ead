"""Rows in earlier answers, and searches for them."""

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any

from chat.scripted_model.dates import Days
from chat.scripted_model.outcomes import KINDS, ScriptedOutcome
from chat.scripted_model.plans import ScriptedCall, run

ROWS_SHOWN = 8
MAX_TEXT = 400  # characters of a description in an answer
_KIND_BY_KEY = {
    **{key: kind for kind in (*KINDS, "event") for key in (kind, f"{kind}s")},
}
DATE_LABELS = {"due_at": "due", "start_at": "starts", "target_date": "target", "start_date": "from", "end_date": "to"}
_DETAIL_FIELDS = ("description", "executive_summary", "details", "content", "text", "plan", "measurement_criteria")
MAX_PROJECTS = 8
NOT_IN_PROJECTS = ("onto.project.search", "cal.event.list")  # ops that have no project, or that search none
Outcomes = Generator[list[ScriptedCall], list[ScriptedOutcome], list[ScriptedOutcome]]


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a result: its kind, its id, its title or name, and all its fields."""

    kind: str
    id: str
    title: str
    fields: dict[str, Any]


def read_rows(outcome: ScriptedOutcome) -> list[Row]:
    """Return the rows of a result, in order: of a list, a search, a get or a write.

    In an old result, the chat may have left only the id and the title of the row, or only the ids of the rows.
    """
    result = outcome.result
    if isinstance(result.get("id"), str):
        kind = outcome.op.split(".")[1] if "." in outcome.op else ""
        return [Row(kind, result["id"], str(result.get("title") or result.get("name") or ""), result)]
    return list(_iterate_rows(result))


def _iterate_rows(result: dict[str, Any]) -> Iterator[Row]:
    shared: dict[str, Any] = {name: result[name] for name in ("project_id", "project_name") if name in result}
    for key, value in result.items():
        if key != "results" and key not in _KIND_BY_KEY:
            continue
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, str) and isinstance(value, list):
                yield Row(_KIND_BY_KEY.get(key, ""), item, "", {})
            elif isinstance(item, dict) and isinstance(item.get("id"), str):
                kind = str(item.get("type", "")) if key == "results" else _KIND_BY_KEY[key]
                title = item.get("title") or item.get("name") or item.get("text") or ""
                yield Row(kind, item["id"], str(title), shared | item)


def describe_rows(rows: list[Row], days: Days, *, total: int | None = None) -> str:
    """Return rows as a list of at most eight, and how many more there are."""
    shown = rows[:ROWS_SHOWN]
    lines = [f"- {describe_row(row, days)}" for row in shown]
    total = max(total or 0, len(rows))
    if total > len(shown):
        lines.append(f"- … and {total - len(shown)} more")
    return "\n".join(lines)


def describe_row(row: Row, days: Days) -> str:
    """Return a row as one line: title in bold, key facts, its project."""
    fields = row.fields
    facts = [row.kind] if "type" in fields else []  # a search of all kinds
    facts += [str(fields["state_key"]).replace("_", " ")] if fields.get("state_key") else []
    facts += [f"{label} {fields[label]}" for label in ("priority", "impact") if fields.get(label)]
    if row.kind == "event":
        facts.append(days.format_span(fields.get("start_at"), fields.get("end_at")))
    else:
        facts += [f"{label} {days.format_day(fields[name])}" for name, label in DATE_LABELS.items() if fields.get(name)]
    if fields.get("is_overdue"):
        facts.append("overdue")
    if "task_count" in fields:
        facts.append(f"{fields.get('active_task_count', 0)} of {fields['task_count']} tasks open")
    project = fields.get("project_name")
    return f"**{row.title}**{' — ' if facts else ''}{', '.join(facts)}{f' ({project})' if project else ''}"


def describe_details(row: Row, days: Days) -> str:
    """Return everything that an answer says about one row: its line, its texts, its links."""
    texts = [str(row.fields[name]).strip() for name in _DETAIL_FIELDS if row.fields.get(name)]
    texts = [text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT].rstrip()}…" for text in texts]
    links = [
        str(link.get("title") or link.get("name"))
        for link in row.fields.get("links") or ()
        if isinstance(link, dict) and (link.get("title") or link.get("name"))
    ]
    linked = [f"Linked with: {', '.join(links)}."] if links else []
    return "\n\n".join([describe_row(row, days), *texts, *linked])


def describe_slots(result: dict[str, Any], days: Days, *, limit: int = 3) -> str:
    """Return the first free slots of a result as a list."""
    slots = [slot for slot in result.get("slots") or () if isinstance(slot, dict)]
    return "\n".join(f"- {days.format_span(slot.get('start'), slot.get('end'))}" for slot in slots[:limit])


def search_other_projects(op: str, query: str, project: Row) -> Outcomes:
    """Search each of the user's other projects, in one round.

    A search without a project is of the one that the user looks at: the gateway takes it from the place. Where that
    finds nothing, the row may be in another one. An outcome that the chat shortened says that the row may be in it.
    """
    projects = yield from run("onto.project.list", limit=MAX_PROJECTS)
    others = [row for row in read_rows(projects) if row.id != project.id]
    if not others:
        # If the chat shortened the list, these searches were made in an earlier round of this turn.
        return [ScriptedOutcome(op, ok=True, is_cut=True)] if projects.is_cut else []
    return (yield [ScriptedCall(op, {"query": query, "project_id": row.id, "limit": 5}) for row in others])
