"""onto.entity.history: who changed a row and when, from the operation events."""

from operator import itemgetter
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import TextField
from django.db.models.functions import Cast

from analytics.events.models import OperationEvent
from gateway.contracts.errors import ArgsCorrection, FieldError, InvalidRequestError, NotFoundError
from gateway.executors import embedded
from gateway.executors.base import UpstreamCall, UpstreamResponse

_NOT_A_CHANGE = (OperationEvent.Source.ADMIN,)  # tried in the admin, and undone


def list_changes(work: UpstreamCall, _: Any) -> UpstreamResponse:
    """Return the calls that changed one row, newest first. Raises NotFoundError if the subject cannot see the row."""
    kind, id, limit = work.args["entity_kind"], str(UUID(work.args["entity_id"])), work.args["limit"]
    title = embedded.find_title(kind, id, work.subject)
    if title is None:
        if other_kind := embedded.find_kind(id, work.subject):
            raise _build_kind_error(other_kind)
        raise NotFoundError(
            f"No {kind} that you can see has this entity_id; find its id with onto.search.", reason="not_found"
        )
    newest = _list_events(kind, id, limit=limit + 1)
    changes = [
        {
            "at": event["time"].isoformat(timespec="seconds").replace("+00:00", "Z"),
            "by": event["subject"],
            "op": event["op"],
            **_get_stored_message(event["content"]),
        }
        for event in newest[:limit]
    ]
    has_more = len(newest) > limit
    result = {"changes": changes, "has_more": has_more, "message": _build_message(len(changes), has_more=has_more)}
    return UpstreamResponse(result, entity_id=id, entity_name=title)


def _build_kind_error(kind: str) -> InvalidRequestError:
    error = FieldError("/entity_kind", "kind_mismatch", f"entity_id is the id of a {kind}.", expected=kind)
    return InvalidRequestError(
        error.message,
        reason="invalid_args",
        field_errors=[error],
        correction=ArgsCorrection(args={"entity_kind": kind}),
    )


def _list_events(kind: str, id: str, *, limit: int) -> list[dict[str, Any]]:
    """Return the newest events of calls that changed a row, alone or with others."""
    writes = OperationEvent.objects.filter(
        entity=kind, kind="write", ok=True, dry_run=False, replayed=False, unchanged=False
    ).exclude(source__in=_NOT_A_CHANGE)
    writes_of_many = writes.filter(changed_ids__isnull=False).annotate(ids=Cast("changed_ids", TextField()))
    # Two queries, because each has an index of its own. SQLite cannot search in JSON lists, so both search in the text.
    events: list[dict[str, Any]] = [
        dict(event)
        for queryset in (writes.filter(entity_id=id, changed_ids__isnull=True), writes_of_many.filter(ids__contains=id))
        for event in queryset.order_by("-time", "-id").values("id", "time", "subject", "op", "content")[:limit]
    ]
    return sorted(events, key=itemgetter("time", "id"), reverse=True)[:limit]


def _get_stored_message(content: Any) -> dict[str, str]:
    """Return what the answer to the call said about the changes, if the event stores it (GATEWAY_CONTENT_DAYS)."""
    result = content.get("result") if isinstance(content, dict) else None
    message = result.get("message") if isinstance(result, dict) else None
    return {"change": message} if isinstance(message, str) else {}


def _build_message(count: int, *, has_more: bool) -> str:
    days = f"the last {settings.GATEWAY_EVENT_DAYS} days"
    if not count:
        return f"No call changed this row in {days}; created_at and updated_at of the row may be older."
    shown = f"The newest {count} changes" if has_more else "1 change" if count == 1 else f"{count} changes"
    return f"{shown} in {days}, newest first."
