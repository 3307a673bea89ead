"""Edits of many ops at once: retire, move to another group, ask for a confirmation, set a time-out."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from audit import audit_log
from registry import checks
from registry.drafts.draft import DraftChanged, DraftRefused, NothingToChange
from registry.drafts.history import ChangeTracker
from registry.models import Agent, EvalCase, Group, Op, OpAlias, Pin
from registry.snapshot import snapshot
from registry.snapshot.diff import CopyChange


@dataclass(frozen=True)
class OpChanges:
    """What to set on every chosen op. None: it stays as it is."""

    status: Op.Status | None = None
    confirm: bool | None = None
    timeout_ms: int | None = None
    group: str | None = None  # the path of the group to move to


def change_ops(ops: Collection[Op], changes: OpChanges, *, by: str, at: datetime) -> list[CopyChange]:
    """Change some ops of the draft, all or none, and return what changed.

    An op that moves keeps its old path as an alias, and what names it follows: other ops, pins, agents and eval cases.
    Raises NothingToChange, DraftRefused and DraftChanged.
    """
    with transaction.atomic():
        rows = list(Op.objects.select_for_update().filter(pk__in=[op.pk for op in ops]).order_by("op"))
        known = {str(problem) for problem in checks.find_errors(snapshot.snapshot_draft())}
        tracker = ChangeTracker()
        tracker.remember_rows(rows)
        paths = {} if changes.group is None else _choose_paths(rows, changes.group)
        moved = [row for row in rows if row.op in paths]
        OpAlias.objects.filter(op__in=moved, name__in=paths.values()).delete()  # of those that move back
        OpAlias.objects.bulk_create([OpAlias(op=row, name=row.op) for row in moved], ignore_conflicts=True)
        for row in rows:
            _set_fields(row, changes, paths, at)
        try:
            with transaction.atomic():
                Op.objects.bulk_update(rows, ["status", "successor", "confirm", "timeout_ms", "op", "updated_at"], 200)
        except IntegrityError:
            raise DraftChanged("An op has this path already, or someone else has just changed the draft.") from None
        _follow_references(paths, tracker, by=by, at=at)
        if new := [each for each in checks.find_errors(snapshot.snapshot_draft()) if str(each) not in known]:
            raise DraftRefused(new)
        recorded = tracker.record_changes(by=by, at=at, note=f"Changed with {len(rows) - 1} other ops")
    if not recorded:
        raise NothingToChange("These ops are like this already.")
    return recorded


def _set_fields(row: Op, changes: OpChanges, paths: Mapping[str, str], at: datetime) -> None:
    if changes.status is not None:
        row.status = changes.status
        row.successor = row.successor if changes.status == Op.Status.RETIRED else ""
    row.confirm = row.confirm if changes.confirm is None else changes.confirm
    row.timeout_ms = row.timeout_ms if changes.timeout_ms is None else changes.timeout_ms
    row.op = paths.get(row.op, row.op)
    row.updated_at = at


def _choose_paths(rows: Iterable[Op], group: str) -> dict[str, str]:
    """Return {path: path in the group} of the ops that are elsewhere."""
    if not Group.objects.filter(path=group).exists():
        raise DraftRefused([f"The group {group} does not exist. Add it first."])
    paths = {row.op: f"{group}.{row.op.rpartition('.')[2]}" for row in rows}
    if twice := [path for path, times in Counter(paths.values()).items() if times > 1]:
        raise DraftRefused([f"Several of these ops would become {twice[0]}. Move them one by one."])
    return {old: new for old, new in paths.items() if new != old}


def _follow_references(paths: Mapping[str, str], tracker: ChangeTracker, *, by: str, at: datetime) -> None:
    for field in ("without_id", "successor"):
        others = list(Op.objects.filter(**{f"{field}__in": list(paths)}))
        tracker.remember_rows(others)
        for other in others:
            Op.objects.filter(pk=other.pk).update(**{field: paths[getattr(other, field)], "updated_at": at})
    patterned: list[Any] = [*Pin.objects.all(), *Agent.objects.all()]
    named = [row for row in patterned if set(row.ops) & paths.keys()]
    tracker.remember_rows(named)
    for row in named:
        row.ops = [paths.get(path, path) for path in row.ops]
        row.save(update_fields=["ops", "updated_at"])
    for case in EvalCase.objects.filter(op__in=list(paths)):
        before = {"op": case.op, "also_accepted": case.also_accepted}
        case.op, case.also_accepted = paths[case.op], [*case.also_accepted, case.op]  # releases have the old path
        case.save(update_fields=["op", "also_accepted", "updated_at"])
        after = {"op": case.op, "also_accepted": case.also_accepted}
        audit_log.record_change("eval_case", str(case), before, after, by=by, at=at)
