"""Undo the caller's last writes."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from core.handler_contract import NotFound, OpOutcome, OpRequest
from workspace.models import WriteRecord
from workspace.services.time import times
from workspace.services.undo import undoing
from workspace.services.undo.recording import KEPT


def undo_writes(request: OpRequest) -> OpOutcome:
    """Undo the last writes of the subject, or those of `write_ids`, newest first, all or none.

    Raises NotFound, Forbidden, and StateConflict if a row has changed since.
    """
    records = _lock_records(request)
    changed_ids = [id for record in records for id in undoing.undo_write(record, at=request.at)]
    writes: list[dict[str, Any]] = [
        {"id": record.pk, "at": times.format_time(_to_seconds(record.at)), "undone": record.summary}
        for record in records
    ]
    count = "1 write" if len(writes) == 1 else f"{len(writes)} writes, newest first"
    return OpOutcome(
        result={"writes": writes, "message": f"Undid {count}; an undo itself cannot be undone."},
        changed_ids=tuple(dict.fromkeys(changed_ids)),
        entity_id=records[0].entity_id or None,
    )


def _to_seconds(moment: datetime) -> datetime:
    return moment.replace(microsecond=0)


def _lock_records(request: OpRequest) -> Sequence[WriteRecord]:
    """Return the writes to undo, newest first, locked until the transaction ends."""
    queryset = WriteRecord.objects.filter(subject=request.subject, undone_at=None, at__gte=request.at - KEPT)
    locked = queryset.order_by("-pk").select_for_update()
    ids = request.args.get("write_ids")
    records = list(locked.filter(pk__in=ids) if ids else locked[: request.args.get("count", 1)])
    if ids and len(records) < len(set(ids)):
        message = "Some of write_ids are no writes of yours from the last 7 days; a dry run with count lists those."
        raise NotFound(message)
    if not records:
        raise NotFound("You have made no write in the last 7 days that can be undone.", reason="nothing_to_undo")
    return records
