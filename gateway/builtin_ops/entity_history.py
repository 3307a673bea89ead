"""onto.entity.history: who changed a row and when, from the operation events."""

from typing import Any

from django.conf import settings

from analytics.events.models import OperationEvent
from gateway.contracts.errors import NotFoundError
from gateway.executors import embedded
from gateway.executors.base import UpstreamCall, UpstreamResponse

_NOT_A_CHANGE = (OperationEvent.Source.ADMIN,)  # tried in the admin, and undone


def list_changes(work: UpstreamCall, _: Any) -> UpstreamResponse:
    """Return the calls that changed one row, newest first. Raises NotFoundError if the subject cannot see the row."""
    kind, id, limit = work.args["entity_kind"], work.args["entity_id"], work.args["limit"]
    if not embedded.is_visible(kind, id, work.subject):
        raise NotFoundError(
            f"No {kind} that you can see has this entity_id; find its id with onto.search.", reason="not_found"
        )
    events = OperationEvent.objects.filter(
        entity_id=id, entity=kind, kind="write", ok=True, dry_run=False, replayed=False
    ).exclude(source__in=_NOT_A_CHANGE)
    newest = list(events.order_by("-time", "-id").values("time", "subject", "op")[: limit + 1])
    changes = [
        {
            "at": event["time"].isoformat(timespec="seconds").replace("+00:00", "Z"),
            "by": event["subject"],
            "op": event["op"],
        }
        for event in newest[:limit]
    ]
    has_more = len(newest) > limit
    result = {"changes": changes, "has_more": has_more, "message": _build_message(len(changes), has_more=has_more)}
    return UpstreamResponse(result, entity_id=id)


def _build_message(count: int, *, has_more: bool) -> str:
    days = f"the last {settings.GATEWAY_EVENT_DAYS} days"
    if not count:
        return f"No call changed this row in {days}; created_at and updated_at of the row may be older."
    shown = f"The newest {count} changes" if has_more else "1 change" if count == 1 else f"{count} changes"
    return f"{shown} in {days}, newest first."
