"""Reopen a batch that is sent again with the end user's confirmation."""

from datetime import timedelta

import orjson
from django.db import transaction

from gateway.batches import answers, store
from gateway.callers import Caller
from gateway.models import Batch, BatchEntry

State, Outcome = BatchEntry.State, BatchEntry.Outcome

ASKED = "confirmation_required"
FOLLOWED = ("skipped", "dependency_failed")  # reasons of entries that may run after an earlier one has succeeded


def reopen(batch: Batch, caller: Caller, *, runs_for: timedelta) -> int:
    """Reset entries that required confirmation, and those that depend on them. Return how many required it.

    Entries that succeeded stay as they are. The caller's token confirms one entry; any other one requires confirmation
    again, with its own token. Entries that the caller's key may not run are not reset.
    """
    with transaction.atomic():
        locked = Batch.objects.select_for_update().get(pk=batch.pk)  # a second request with the same token waits
        ended = locked.entries.filter(state=State.DONE).exclude(outcome=Outcome.SUCCEEDED)
        asked = [row for row in ended if _reason(row) == ASKED and answers.may_read(row.type, row.name, caller).allowed]
        if not asked or locked.cancelled_at:
            return 0
        again = [*asked, *(row for row in ended if _reason(row) in FOLLOWED)]
        locked.entries.filter(pk__in=[row.pk for row in again]).update(
            state=State.PENDING, outcome="", answer="", finished_at=None, attempts=0
        )
        at = store.now()
        Batch.objects.filter(pk=batch.pk).update(
            api_key=caller.key.id, caller=store.told_by(caller), runs_until=at + runs_for, woken_at=at
        )
    return len(asked)


def _reason(row: BatchEntry) -> str:
    error = orjson.loads(row.answer)["error"]
    reason: str = error["details"]["reason"]
    return reason
