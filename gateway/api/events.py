"""The events endpoint: a client lists its own operation events, newest first."""

from collections.abc import Mapping
from typing import Any

from analytics.events import event_log
from analytics.models import OperationEvent
from gateway.api import pagination
from gateway.api.pagination import ListQuery
from gateway.contracts.errors import ErrorCode
from gateway.request_context import Caller

_TEXT_SCHEMA = {"type": "string", "minLength": 1, "maxLength": 200}
QUERY: dict[str, Any] = {
    "type": "object",
    "properties": {
        **pagination.QUERY["properties"],
        "session": {**_TEXT_SCHEMA, "description": "Only this conversation"},
        "turn": {**_TEXT_SCHEMA, "description": "Only this turn"},
        "op": {**_TEXT_SCHEMA, "description": "Only this op"},
        "code": {"type": "string", "enum": list(ErrorCode.values), "description": "Only failed with this code"},
    },
    "additionalProperties": False,
}
FILTERS = ("session", "turn", "op", "code")

EVENT_FIELDS = (
    *("type", "op", "tool_name", "group", "entity", "action", "entity_id", "kind", "dry_run", "ok", "status", "code"),
    *("reason", "field_errors", "replayed", "result_count", "latency_ms", "release", "surface", "cohort", "model"),
    *("source", "subject", "session", "turn", "trace_id", "mends", "content"),
)


def list_events(list_query: ListQuery, caller: Caller) -> Mapping[str, Any]:
    """Return a page of the client's events: {results, next_cursor}. One query.

    A key that is bound to a subject reads only the events of that subject.
    """
    event_log.flush()  # so that the calls this process just answered are included
    page = list_query.page
    own_events = OperationEvent.objects.filter(client=caller.key.client).exclude(source=OperationEvent.Source.ADMIN)
    if caller.key.bound_subject:
        own_events = own_events.filter(subject=caller.key.bound_subject)
    rows = own_events.filter(
        page.build_filter("time", "id"),
        **{name: list_query.query[name] for name in FILTERS if name in list_query.query},
    )
    matches = list(rows.order_by("-time", "-id")[: page.limit + 1])
    shown, has_more = matches[: page.limit], len(matches) > page.limit
    return pagination.build_page(
        [_serialize_event(event) for event in shown], (shown[-1].time, str(shown[-1].pk)) if has_more else None
    )


def _serialize_event(event: OperationEvent) -> dict[str, Any]:
    return {"id": event.pk, "time": event.time.isoformat(), **{name: getattr(event, name) for name in EVENT_FIELDS}}
