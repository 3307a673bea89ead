"""What the help of each op of the draft costs in tokens, kept beside the op: a list of thousands reads columns.

Every change voids it (registry.history). `fill` counts what was voided: for a list that is looked at, and now and then
for the rest, as after an import.
"""

from datetime import datetime

import orjson
from django.db import transaction

from core import canonical
from registry import checks, pending, sizes, snapshot
from registry.changes import Kind
from registry.models import Op, Release

AT_ONCE = 200  # ops; a tenth of a second


def count(_at: datetime) -> bool:
    """Count some of what was voided, as a periodic job. Returns whether more is left."""
    return fill()


def fill() -> bool:
    """Count the ops that were voided, some at once. Returns whether more are left."""
    if not Op.objects.filter(is_counted=False).exists():
        return False
    with transaction.atomic():
        # Held until they are written: whoever changes one voids it last, and so after this.
        held = Op.objects.select_for_update(skip_locked=True, of=("self",)).filter(is_counted=False).order_by("pk")
        ops = list(held.select_related("connection").prefetch_related("rules", "examples", "aliases")[:AT_ONCE])
        changed = pending.names()[Kind.OP]
        live = Release.objects.filter(activations__is_live=True).values_list("tokens", flat=True).first() or {}
        for op in ops:
            short, full = _counted(op) if op.op in changed else live.get(op.op, (None, None))
            # One by one: bulk_update takes three times as long.
            Op.objects.filter(pk=op.pk).update(is_counted=True, short_tokens=short, full_tokens=full)
    return len(ops) == AT_ONCE


def _counted(op: Op) -> tuple[int | None, int | None]:
    """Return the tokens of an op's short and full help; None where it has none, or would break serving."""
    entry = snapshot.entry(op)
    if checks.op_problems(entry):
        return None, None
    # In the order of names in which it would be served.
    counts = sizes.of_entry(orjson.loads(canonical.dumps(entry)))
    short, full = counts.get(op.op, (None, None))
    return short, full
