"""A batch that is sent again with the end user's agreement: what asked for it runs, and what waits for that."""

from datetime import timedelta

import orjson
from django.db import transaction

from gateway.batches import answers, store
from gateway.callers import Caller
from gateway.models import Batch, BatchEntry

State, Outcome = BatchEntry.State, BatchEntry.Outcome

ASKED = "confirmation_required"
FOLLOWED = ("skipped", "dependency_failed")  # why entries were closed that may run once an earlier one has


def reopen(batch: Batch, caller: Caller, *, runs_for: timedelta) -> int:
    """Have the entries that asked for agreement run again, with the token that the caller brings; return how many.

    What has run stays as it is. A token holds for one of them; another asks again, with a token of its own. Nothing
    runs of what the caller's key may not run.
    """
    with transaction.atomic():
        locked = Batch.objects.select_for_update().get(pk=batch.pk)  # a twin that brings the same token waits
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
