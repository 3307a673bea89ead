import pytest
from pytest_django import DjangoAssertNumQueries

from registry.models import Example, PolicyRule
from registry.snapshot import snapshot
from tests.support.rows.copy_rows import TITLE_SCHEMA, make_op
from tests.support.upstreams import any_upstream

pytestmark = pytest.mark.django_db


def test_entry_has_all_fields_of_a_release_except_empty_ones() -> None:
    op = make_op(notes="Note", keywords=["new"], display_only=["t"])
    Example.objects.create(op=op, args={}, note="Bare", position=1)
    PolicyRule.objects.create(op=op, kind="do", text="First", position=0)
    PolicyRule.objects.filter(text="Rule do").update(position=1)

    assert snapshot.op_to_entry(op) == {
        "op": "onto.task.add",
        "tool_name": "onto_task_add",
        "kind": "write",
        "entity": "task",
        "action": "create",
        "summary": "Add onto.task.add",
        "notes": "Note",
        "keywords": ["new"],
        "parameters_schema": TITLE_SCHEMA,
        "argument_aliases": {"name": "title"},
        "display_only": ["t"],
        "needs_subject": True,
        "timeout_ms": 30_000,
        "status": "active",
        "connection": any_upstream.CONNECTION,
        "policy": {"do": ["First", "Rule do"], "dont": ["Rule dont"], "edge_cases": ["Rule edge_case"]},
        "examples": [{"title": "Minimal", "args": {"title": "Book venue"}}, {"args": {}, "note": "Bare"}],
        "aliases": ["onto.task.add.alias"],
    }


def test_draft_is_sorted_by_path() -> None:
    for path in ("onto.task.b", "onto.task.c", "onto.task.a"):
        make_op(path)

    draft = snapshot.snapshot_draft()

    assert list(draft) == ["format", "groups", "ops"]
    assert [group["path"] for group in draft["groups"]] == ["onto", "onto.task", "root"]
    assert [op["op"] for op in draft["ops"]] == ["onto.task.a", "onto.task.b", "onto.task.c"]


@pytest.mark.parametrize("count", [1, 20])
def test_snapshot_query_count_does_not_depend_on_ops(
    count: int, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(count):
        make_op(f"onto.task.op{number}")

    with django_assert_max_num_queries(9):
        snapshot.snapshot_draft()
