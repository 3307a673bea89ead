"""Writing whole entries into the draft stores exactly what is given, refuses new errors and records changes."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.models import AuditEntry
from registry.drafts import draft, edits, history
from registry.drafts.history import FreezeTimes
from registry.files import loader
from registry.models import Agent, Group, Op, OpAlias, Pin, PromptSection
from registry.snapshot import diff, snapshot
from registry.snapshot.diff import Action, Kind
from tests.support.loops import for_each
from tests.support.rows.copy_rows import AT, make_op

pytestmark = pytest.mark.django_db

BY: dict[str, Any] = {"by": "ann", "at": AT, "note": "Test"}
PATH = "onto.task.add"


def content(**fields: Any) -> dict[str, Any]:
    draft_content = snapshot.snapshot_draft()
    draft_content["ops"] = [entry | (fields if entry["op"] == PATH else {}) for entry in draft_content["ops"]]
    return draft_content


def entry(**fields: Any) -> dict[str, Any]:
    now = draft.read_entry(Kind.OP, PATH)
    assert now is not None
    return now | fields


def list_changes() -> list[tuple[str, str, str, str]]:
    return [(each.by, each.kind, each.name, each.action) for each in AuditEntry.objects.order_by("id")]


def test_write_replaces_given_entries_and_keeps_the_rest() -> None:
    make_op(shipped={"op": PATH, "summary": "As shipped"})
    make_op("onto.task.other")
    new_content = content(
        summary="New",
        keywords=["book"],
        policy={"do": ["One", "Two"]},
        examples=[{"args": {"title": "x"}, "note": "Short"}],
        aliases=["added", "plus"],
        connection="elsewhere",
    )
    new_content["ops"] = [op for op in new_content["ops"] if op["op"] == PATH]
    new_content["sections"] = [
        {"prompt": "guide", "name": "ids", "position": 1, "title": "Ids", "text": "Whole.", "status": "active"}
    ]

    changes = draft.write_snapshot(new_content, **BY)

    assert [(change.name, change.action) for change in changes] == [(PATH, "changed"), ("guide/ids", "added")]
    assert draft.read_entry(Kind.OP, PATH) == new_content["ops"][0]
    assert draft.read_entry(Kind.SECTION, "guide/ids") == new_content["sections"][0]
    assert Op.objects.get(op=PATH).shipped == {"op": PATH, "summary": "As shipped"}
    assert Op.objects.filter(op="onto.task.other").exists()
    assert list_changes() == [("ann", "op", PATH, "changed"), ("ann", "section", "guide/ids", "added")]
    summary = AuditEntry.objects.get(kind="op").changes["summary"]
    assert summary == [f"Add {PATH}", "New"]
    with pytest.raises(draft.NothingToChange):
        draft.write_snapshot(new_content, **BY)


@pytest.mark.both_databases
def test_write_whole_leaves_exactly_the_given_entries() -> None:
    make_op()
    before = snapshot.snapshot_draft()
    make_op("onto.task.other")
    Group.objects.create(path="util", summary="Utilities")
    PromptSection.objects.create(prompt="guide", name="ids", title="Ids", text="Whole.")
    Agent.objects.create(name="explorer", summary="Finds", system_prompt="You find.")
    Pin.objects.create(surface="hybrid", ops=[])
    Op.objects.filter(op=PATH).update(summary="Other", timeout_ms=500)

    draft.write_snapshot(before, whole=True, **BY)

    assert snapshot.compute_version(snapshot.snapshot_draft()) == snapshot.compute_version(before)
    removed = AuditEntry.objects.get(name="onto.task.other")
    assert removed.changes["summary"] == ["Add onto.task.other", None]


@pytest.mark.both_databases
def test_write_fills_an_empty_draft_with_the_shipped_catalog() -> None:
    shipped = loader.read_shipped_catalog()

    draft.write_snapshot(shipped, **BY)

    assert not diff.diff_snapshots(shipped, snapshot.snapshot_draft())
    assert len(list_changes()) == sum(len(entries) for entries in shipped.values() if isinstance(entries, list))


@for_each(
    "fields, problem",
    [
        ({"aliases": ["onto.task.other.alias"]}, "is already a name of"),
        ({"examples": [{"args": {}}]}, "examples/0"),
    ],
    undone=True,
)
def test_write_refuses_new_errors(fields: dict[str, Any], problem: str) -> None:
    make_op()
    make_op("onto.task.other")
    before = snapshot.snapshot_draft()

    with pytest.raises(draft.DraftRefused, match=problem):
        draft.write_snapshot(content(**fields), **BY)

    assert snapshot.snapshot_draft() == before
    assert not list_changes()


def test_write_accepts_errors_that_were_there_before() -> None:
    make_op()
    make_op("lost.in.space")  # its group is missing

    assert draft.write_snapshot(content(summary="New"), **BY)


@pytest.mark.both_databases
def test_write_refuses_a_draft_that_changed_since_the_review() -> None:
    op = make_op()
    new_content, version = content(notes="New"), snapshot.compute_version(snapshot.snapshot_draft())
    Op.objects.filter(pk=op.pk).update(summary="Somebody else's")

    with pytest.raises(draft.DraftChanged):
        draft.write_snapshot(new_content, seen=version, **BY)

    assert not list_changes()


def test_write_refuses_an_entry_twice_and_two_ops_that_swap_names() -> None:
    make_op()
    make_op("onto.task.other")
    twice, new_content = content(summary="New"), snapshot.snapshot_draft()
    twice["ops"] *= 2
    new_content["ops"][0]["tool_name"], new_content["ops"][1]["tool_name"] = "onto_task_other", "onto_task_add"

    with pytest.raises(draft.DraftRefused, match="more than once"):
        draft.write_snapshot(twice, **BY)
    with pytest.raises(draft.DraftChanged, match="swap names"):
        draft.write_snapshot(new_content, **BY)

    assert not list_changes()


def test_changing_one_to_true_is_a_change() -> None:
    one, true = ({"op": "a.b", "parameters_schema": {"default": value}} for value in (1, True))

    assert diff.diff_entries(Kind.OP, one, true) is not None
    assert diff.diff_entries(Kind.OP, one, {"op": "a.b", "parameters_schema": {"default": 1.0}}) is None
    assert diff.diff_entries(Kind.OP, one, {**one, "timeout_ms": 30_000, "keywords": []}) is None


# --- reverting --------------------------------------------------------------------------------------------------------


def get_last_change() -> AuditEntry:
    return AuditEntry.objects.latest("id")


@pytest.mark.both_databases
@for_each(
    "fields",
    [
        {"summary": "New", "notes": "More"},
        {"op": "onto.task.plus", "tool_name": "plus"},
        {"policy": {}, "examples": [], "aliases": []},
        {"connection": "", "confirm": True, "timeout_ms": 500},
    ],
    undone=True,
)
def test_revert_undoes_a_whole_change(fields: dict[str, Any]) -> None:
    make_op()
    before = snapshot.snapshot_draft()
    draft.write_entry(Kind.OP, PATH, entry(**fields), **BY)
    assert snapshot.snapshot_draft() != before

    change = edits.revert_change(get_last_change(), by="bob", at=AT)

    assert snapshot.snapshot_draft() == before
    assert change.action == Action.CHANGED
    assert (get_last_change().by, get_last_change().note) == ("bob", "Reverted what ann changed at 2026-03-01 09:00")


def test_revert_removes_added_entries_and_restores_removed_ones() -> None:
    make_op()
    before = snapshot.snapshot_draft()
    draft.write_entry(Kind.OP, PATH, None, **BY)
    assert not Op.objects.exists()
    assert not OpAlias.objects.exists()

    edits.revert_change(get_last_change(), by="bob", at=AT)
    assert snapshot.snapshot_draft() == before
    edits.revert_change(get_last_change(), by="bob", at=AT)
    assert not Op.objects.exists()


def test_revert_keeps_later_changes_of_other_fields_and_refuses_to_undo_others() -> None:
    make_op()
    draft.write_entry(Kind.OP, PATH, entry(summary="New"), **BY)
    first = get_last_change()
    draft.write_entry(Kind.OP, PATH, entry(notes="Later"), **BY)

    edits.revert_change(first, by="bob", at=AT)

    assert draft.read_entry(Kind.OP, PATH) == entry(summary=f"Add {PATH}", notes="Later")
    draft.write_entry(Kind.OP, PATH, entry(summary="Newer"), **BY)
    with pytest.raises(edits.NotRevertible, match="changed again later: summary"):
        edits.revert_change(first, by="bob", at=AT)


def test_revert_refuses_changes_of_other_models_and_missing_rows() -> None:
    make_op()
    draft.write_entry(Kind.OP, PATH, entry(summary="New"), **BY)
    first = get_last_change()
    draft.write_entry(Kind.OP, PATH, None, **BY)

    with pytest.raises(edits.NotRevertible, match="no longer exists"):
        edits.revert_change(first, by="bob", at=AT)
    switch = AuditEntry.objects.create(time=AT, by="ann", kind="switch", name="x", action="changed")
    with pytest.raises(edits.NotRevertible, match="switch"):
        edits.revert_change(switch, by="bob", at=AT)


@for_each(
    "fields, problem",
    [
        ({"tool_name": "onto_task_other"}, "is already a name of"),
        ({"without_id": "nowhere"}, "There is no op nowhere"),
    ],
    undone=True,
)
def test_put_refuses_new_errors_and_to_remove_a_group_with_ops(fields: dict[str, Any], problem: str) -> None:
    make_op()
    make_op("onto.task.other")

    with pytest.raises(draft.DraftRefused, match=problem):
        draft.write_entry(Kind.OP, PATH, entry(**fields), **BY)
    with pytest.raises(draft.DraftRefused, match=r"onto\.task is missing"):
        draft.write_entry(Kind.GROUP, "onto.task", None, **BY)

    assert not list_changes()


def test_put_of_one_op_reads_no_other_op() -> None:
    make_op()
    for number in range(20):
        make_op(f"onto.task.other{number}")
    new_entry = entry(summary="New")

    with CaptureQueriesContext(connection) as queries:
        draft.write_entry(Kind.OP, PATH, new_entry, **BY)

    assert draft.read_entry(Kind.OP, PATH) == new_entry
    assert not any('FROM "registry_op"' in each["sql"] and "WHERE" not in each["sql"] for each in queries)


@pytest.mark.both_databases
def test_editors_are_listed_last_first() -> None:
    make_op()
    for by in ("ann", "bob", "ann"):
        draft.write_entry(Kind.OP, PATH, entry(summary=f"By {by} {len(list_changes())}"), by=by, at=AT, note="")

    assert history.list_editors(since=FreezeTimes()) == {("op", PATH): ["ann", "bob"]}
    assert history.list_editors(since=FreezeTimes(AT)) == {}
    assert [each.by for each in history.list_changes(Kind.OP, PATH)] == ["ann", "bob", "ann"]
