"""Reopen a batch that is sent again with the end user's confirmation."""

from datetime import timedelta

from django.db import transaction

from core.text import json_text
from gateway.batches import responses, store
from gateway.models import Batch, BatchEntry
from gateway.request_context import Caller

State, Outcome = BatchEntry.State, BatchEntry.Outcome

CONFIRMATION_REQUIRED = "confirmation_required"
DEPENDENT_REASONS = (
    "skipped",
    "dependency_failed",
)  # reasons of entries that may run after an earlier one has succeeded


def reopen_entries(batch: Batch, caller: Caller, *, runs_for: timedelta) -> int:
    """Reset entries that required confirmation, and those that depend on them. Return how many required it.

    Entries that succeeded stay as they are. The caller's token confirms one entry; any other one requires confirmation
    again, with its own token. Entries that the caller's key may not run are not reset.
    """
    with transaction.atomic():
        locked = Batch.objects.select_for_update().get(pk=batch.pk)  # a second request with the same token waits
        unsuccessful = locked.entries.filter(state=State.DONE).exclude(outcome=Outcome.SUCCEEDED)
        unconfirmed = [
            row
            for row in unsuccessful
            if _get_reason(row) == CONFIRMATION_REQUIRED and responses.may_read(row.type, row.name, caller).allowed
        ]
        if not unconfirmed or locked.cancelled_at:
            return 0
        to_reopen = [*unconfirmed, *(row for row in unsuccessful if _get_reason(row) in DEPENDENT_REASONS)]
        locked.entries.filter(pk__in=[row.pk for row in to_reopen]).update(
            state=State.PENDING, outcome="", answer="", finished_at=None, attempts=0
        )
        at = store.get_database_time()
        Batch.objects.filter(pk=batch.pk).update(
            api_key=caller.key.id, caller=store.serialize_headers(caller), runs_until=at + runs_for, woken_at=at
        )
    return len(unconfirmed)


def _get_reason(row: BatchEntry) -> str:
    error = json_text.load(row.answer)["error"]
    reason: str = error["details"]["reason"]
    return reason
