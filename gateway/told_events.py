"""The events endpoint: a client lists its own operation events, newest first."""

from collections.abc import Mapping
from typing import Any

from analytics import events
from analytics.models import OperationEvent
from gateway import pages
from gateway.callers import Caller
from gateway.errors import Code
from gateway.pages import Asked

_TEXT = {"type": "string", "minLength": 1, "maxLength": 200}
QUERY: dict[str, Any] = {
    "type": "object",
    "properties": {
        **pages.QUERY["properties"],
        "session": {**_TEXT, "description": "Only this conversation"},
        "turn": {**_TEXT, "description": "Only this turn"},
        "op": {**_TEXT, "description": "Only this op"},
        "code": {"type": "string", "enum": list(Code.values), "description": "Only failed with this code"},
    },
    "additionalProperties": False,
}
FILTERS = ("session", "turn", "op", "code")

FIELDS = (
    *("type", "op", "tool_name", "group", "entity", "action", "entity_id", "kind", "dry_run", "ok", "status", "code"),
    *("reason", "field_errors", "replayed", "result_count", "latency_ms", "release", "surface", "cohort", "model"),
    *("source", "subject", "session", "turn", "trace_id", "mends", "content"),
)


def listed(asked: Asked, caller: Caller) -> Mapping[str, Any]:
    """Return a page of the client's events: {results, next_cursor}. One query.

    A key that is bound to a subject reads only the events of that subject.
    """
    events.flush()  # so that the calls this process just answered are included
    page = asked.page
    own = OperationEvent.objects.filter(client=caller.key.client).exclude(source=OperationEvent.Source.ADMIN)
    if caller.key.bound_subject:
        own = own.filter(subject=caller.key.bound_subject)
    rows = own.filter(
        page.condition("time", "id"), **{name: asked.query[name] for name in FILTERS if name in asked.query}
    )
    found = list(rows.order_by("-time", "-id")[: page.limit + 1])
    shown, more = found[: page.limit], len(found) > page.limit
    return pages.told([_told(event) for event in shown], (shown[-1].time, str(shown[-1].pk)) if more else None)


def _told(event: OperationEvent) -> dict[str, Any]:
    return {"id": event.pk, "time": event.time.isoformat(), **{name: getattr(event, name) for name in FIELDS}}
