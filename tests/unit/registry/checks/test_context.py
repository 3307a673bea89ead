from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from registry import checks
from registry.models import Group, Op, OpAlias
from registry.snapshot import snapshot
from tests.support.rows.copy_rows import make_op

pytestmark = pytest.mark.django_db


def test_draft_outline_agrees_with_the_draft() -> None:
    make_op(), make_op("onto.task.old", status="retired", successor="onto.task.add", display_only=["why"])
    names = {*snapshot.OUTLINE_FIELDS, "aliases"}

    outlined, whole = snapshot.outline_draft(), snapshot.snapshot_draft()

    assert sorted(outlined["groups"], key=lambda group: group["path"]) == whole["groups"]
    assert [{name: snapshot.get_value(op, name) for name in names} for op in outlined["ops"]] == [
        {name: snapshot.get_value(op, name) for name in names} for op in whole["ops"]
    ]


def test_checks_find_the_same_with_the_outline_and_with_the_draft() -> None:
    make_op(), make_op("onto.task.list", kind="read", summary="Add onto.task.add")
    make_op(
        "onto.task.get", description="Send title from onto.task.add; see onto.task.lost.", without_id="onto.task.list"
    )
    whole = checks.CheckContext.from_content(snapshot.snapshot_draft())

    for path, entry in whole.ops.items():
        assert checks.check_entry(entry, checks.CheckContext.from_draft()) == checks.check_entry(entry, whole), path


@pytest.mark.parametrize(
    "change",
    [
        lambda _: make_op("onto.task.other"),
        lambda op: op.delete(),
        lambda op: (setattr(op, "summary", "Other"), op.save()),
        lambda _: Group.objects.create(path="util", summary="Utilities"),
        lambda op: OpAlias.objects.create(op=op, name="other"),
        lambda op: OpAlias.objects.get(op=op).delete(),
    ],
)
def test_current_context_is_cached_until_the_draft_changes(change: Any) -> None:
    op = make_op()
    before = checks.get_current_context()
    with CaptureQueriesContext(connection) as queries:
        assert checks.get_current_context() is before
    assert len(queries) == 4

    change(op)

    assert checks.get_current_context() is not before
    assert set(checks.get_current_context().ops) == set(Op.objects.values_list("op", flat=True))


def test_context_without_an_op_frees_its_names() -> None:
    make_op(), make_op("onto.task.other")

    context = checks.get_current_context().without_op("onto.task.add")

    assert set(context.ops) == {"onto.task.other"}
    assert set(context.names) == {"onto.task.other", "onto_task_other", "onto.task.other.alias"}
