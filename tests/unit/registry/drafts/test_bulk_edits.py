"""Many ops are changed together or not at all; what names a moved op follows it."""

from typing import Any

import pytest

from audit.models import AuditEntry
from registry.drafts import bulk_edits, draft
from registry.drafts.bulk_edits import OpChanges
from registry.models import Agent, EvalCase, Group, Op, OpAlias, Pin
from tests.support.rows.copy_rows import AT, make_op

pytestmark = pytest.mark.django_db


def change(*ops: Op, **changes: Any) -> None:
    bulk_edits.change_ops(ops, OpChanges(**changes), by="ann", at=AT)


def test_fields_are_set_on_all_and_recorded_for_each() -> None:
    one, other = make_op("onto.task.add"), make_op("onto.task.undo", status="retired", successor="onto.task.add")

    change(one, other, status=Op.Status.RETIRED, confirm=True, timeout_ms=5_000)

    values = Op.objects.order_by("op").values_list("status", "confirm", "timeout_ms", "successor")
    assert list(values) == [("retired", True, 5_000, ""), ("retired", True, 5_000, "onto.task.add")]
    entries = AuditEntry.objects.filter(kind="op").order_by("name")
    assert [(entry.name, sorted(entry.changes)) for entry in entries] == [
        ("onto.task.add", ["confirm", "status", "timeout_ms"]),
        ("onto.task.undo", ["confirm", "timeout_ms"]),
    ]

    change(other, status=Op.Status.ACTIVE)
    assert Op.objects.get(pk=other.pk).successor == ""  # only a retired op has one
    with pytest.raises(draft.NothingToChange):
        change(other, status=Op.Status.ACTIVE)


def test_a_moved_op_keeps_its_old_path_as_an_alias_and_what_names_it_follows() -> None:
    moved, other = make_op("onto.task.list", kind="read"), make_op("onto.task.get", without_id="onto.task.list")
    moved.parameters_schema = {"type": "object", "properties": {}}
    moved.argument_aliases = {}
    moved.save()
    Group.objects.create(path="work", summary="Work")
    Pin.objects.create(surface="hybrid", context="", model_family="", ops=["onto.task.list"])
    Agent.objects.create(name="a", summary="A", ops=["onto.task.*", "onto.task.list"], system_prompt="A")
    EvalCase.objects.create(request="all", op="onto.task.list")

    change(moved, group="work")

    assert Op.objects.get(pk=moved.pk).op == "work.list"
    assert set(OpAlias.objects.filter(op=moved).values_list("name", flat=True)) == {
        "onto.task.list.alias",
        "onto.task.list",
    }
    assert Op.objects.get(pk=other.pk).without_id == "work.list"
    assert Pin.objects.get().ops == ["work.list"]
    assert Agent.objects.get().ops == ["onto.task.*", "work.list"]
    assert EvalCase.objects.get().accepted_ops == ("work.list", "onto.task.list")
    assert {entry.name for entry in AuditEntry.objects.filter(kind="op")} == {"work.list", "onto.task.get"}

    change(Op.objects.get(pk=moved.pk), group="onto.task")  # and back
    assert "onto.task.list" not in OpAlias.objects.filter(op=moved).values_list("name", flat=True)


@pytest.mark.parametrize(
    ("group", "message"),
    [
        ("nowhere", "The group nowhere does not exist."),
        ("work", "Several of these ops would become work.add."),
        ("onto", "Several of these ops would become onto.add."),
    ],
)
def test_a_move_that_meets_other_names_changes_nothing(group: str, message: str) -> None:
    ops = make_op("onto.task.add"), make_op("onto.goal.add")
    Group.objects.create(path="work", summary="Work")

    with pytest.raises(draft.DraftRefused, match=message):
        change(*ops, group=group)

    assert not AuditEntry.objects.exists()


def test_a_path_that_another_op_has_is_refused() -> None:
    op, _ = make_op("onto.task.add"), make_op("onto.goal.add")

    with pytest.raises(draft.DraftChanged):
        change(op, group="onto.goal")

    assert Op.objects.get(pk=op.pk).op == "onto.task.add"
    assert not OpAlias.objects.filter(name="onto.task.add").exists()
