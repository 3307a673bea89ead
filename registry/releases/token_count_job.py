"""Store the help tokens of each draft op in its row, so that a list of thousands of ops only reads columns.

Every change clears the counts (see registry.drafts.history). `count_batch` counts the cleared ops: when a user opens a
list, and from time to time for the rest, such as after an import.
"""

import logging
from datetime import datetime

from django.db import transaction

from core import logs
from core.text import json_text
from registry import checks
from registry.help import token_counts
from registry.models import Op, Release
from registry.releases import unpublished
from registry.snapshot import snapshot
from registry.snapshot.diff import Kind

log = logging.getLogger(__name__)

BATCH_SIZE = 200  # ops, about 0.1 s


def count_tokens(_at: datetime) -> bool:
    """Count a batch of cleared ops, as a periodic job. Returns whether more are left."""
    return count_batch()


def count_batch() -> bool:
    """Count a batch of cleared ops. Returns whether more are left."""
    if not Op.objects.filter(is_counted=False).exists():
        return False
    with transaction.atomic():
        # Locked until they are written: an edit in the meantime waits, and then clears the count again.
        locked = Op.objects.select_for_update(skip_locked=True, of=("self",)).filter(is_counted=False).order_by("pk")
        ops = list(locked.select_related("connection").prefetch_related("rules", "examples", "aliases")[:BATCH_SIZE])
        changed_names = unpublished.find_unpublished_names()[Kind.OP]
        live = Release.objects.filter(activations__is_live=True).values_list("tokens", flat=True).first() or {}
        for op in ops:
            short, full = _count_op_or_log(op) if op.op in changed_names else live.get(op.op, (None, None))
            # bulk_update takes three times as long.
            Op.objects.filter(pk=op.pk).update(is_counted=True, short_tokens=short, full_tokens=full)
    return len(ops) == BATCH_SIZE


def _count_op_or_log(op: Op) -> tuple[int | None, int | None]:
    """Count an op. One that fails has no counts and does not stop the job for the others."""
    try:
        return _count_op(op)
    except Exception as error:
        log.error("op.not_counted op=%s\n%s", op.op, logs.format_safely(error))
        return None, None


def _count_op(op: Op) -> tuple[int | None, int | None]:
    """Return the tokens of an op's short and full help; None if it has no help or would break serving."""
    entry = snapshot.op_to_entry(op)
    if checks.find_op_errors(entry):
        return None, None
    # Canonical JSON, because a release is served with its keys in that order.
    counts = token_counts.count_entry_tokens(json_text.load(json_text.canonicalize(entry)))
    short, full = counts.get(op.op, (None, None))
    return short, full
