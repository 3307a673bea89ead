"""Comparison of two states of the copy: what changes for a model, and its token cost."""

from typing import Any

import pytest

from registry.drafts import draft, history
from registry.models import Group, Op
from registry.releases import help_diff, publishing, restore
from registry.snapshot import snapshot
from registry.snapshot.diff import Kind
from registry.text.word_diff import LEFT_OUT, DiffPiece
from tests.support.rows.copy_rows import AT, make_op
from tests.support.rows.op_entries import build_op_entry, build_schema


def content(*ops: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"format": 1, "groups": [{"path": "a", "summary": "Group"}], "ops": list(ops), **more}


def test_json_is_compared_line_by_line() -> None:
    before = {"type": "object", "properties": {name: {"type": "string"} for name in "abcdefgh"}}
    after = {"properties": {**before["properties"], "d": {"type": "integer"}}, "type": "object"}  # type: ignore[dict-item]

    (passage,) = help_diff.diff_fields({"parameters_schema": (before, after)})

    assert passage.is_json
    assert passage.words == (
        LEFT_OUT,
        DiffPiece("both", '    },\n    "d": {\n'),
        DiffPiece("before", '      "type": "string"\n'),
        DiffPiece("after", '      "type": "integer"\n'),
        DiffPiece("both", '    },\n    "e": {\n'),
        LEFT_OUT,
    )


@pytest.mark.parametrize(
    ("before", "after", "pieces"),
    [
        (None, [1], (DiffPiece("after", "[\n  1\n]\n"),)),
        (None, ["a"], (DiffPiece("after", "a\n"),)),  # a list of texts is shown as lines
        ({"a": 1}, {}, (DiffPiece("before", '{\n  "a": 1\n}\n'),)),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, ()),  # the order of members means nothing
    ],
)
def test_json_that_is_added_removed_or_the_same(before: Any, after: Any, pieces: tuple[DiffPiece, ...]) -> None:
    assert help_diff.diff_fields({"request": (before, after)})[0].words == pieces


def test_policy_is_compared_rule_by_rule() -> None:
    before = {"do": ["Search first."], "dont": ["Guess."]}

    (passage,) = help_diff.diff_fields({"policy": (before, {**before, "do": ["Search first.", "Send one id."]})})

    assert passage.label == "policy, do"
    assert passage.words == (DiffPiece("both", "Search first.\n"), DiffPiece("after", "Send one id.\n"))


def test_op_is_compared_as_a_model_reads_it() -> None:
    before = build_op_entry(
        "a.b", summary="Add a task", parameters_schema=build_schema(("title",), title={"type": "string"})
    )
    after = build_op_entry(
        "a.b",
        summary="Add one task",
        keywords=["unseen"],
        policy={"do": ["Ask first."]},
        parameters_schema=build_schema(("title",), title={"type": "string", "description": "Short"}),
        examples=[{"args": {"title": "x"}}],
    )

    (difference,) = help_diff.compare_snapshots(content(before), content(after), editors={("op", "a.b"): ["ann"]})

    read = {passage.label: passage.words for passage in difference.passages}
    assert list(read) == ["summary", "argument title", "do", "example 1"]
    assert read["summary"] == (
        DiffPiece("both", "Add "),
        DiffPiece("before", "a"),
        DiffPiece("after", "one"),
        DiffPiece("both", " task"),
    )
    assert "".join(each.text for each in read["argument title"] if each.side == "after").strip() == "Short"
    assert "keywords" in difference.change.fields
    assert difference.editors == ("ann",)
    assert difference.before is not None
    assert difference.after is not None
    assert difference.tokens == (difference.after[0] - difference.before[0], difference.after[1] - difference.before[1])
    assert difference.tokens[1] > 0


def test_added_and_removed_entries_have_one_side_and_equal_ones_no_difference() -> None:
    gone, came = help_diff.compare_snapshots(
        content(build_op_entry("a.b", summary="Gone")), content(build_op_entry("a.c", summary="Came"))
    )

    assert (gone.change.action, gone.after, came.change.action, came.before) == ("removed", None, "added", None)
    assert gone.tokens[1] < 0 < came.tokens[1]
    same = build_op_entry("a.b")
    assert help_diff.compare_snapshots(content(same), content(same | {"keywords": []})) == []
    assert {each.side for passage in gone.passages for each in passage.words} == {"before"}
    (retired,) = help_diff.compare_snapshots(content(same), content({**same, "status": "retired"}))
    broken = build_op_entry("a.b", parameters_schema={"type": "array"})
    (invalid,) = help_diff.compare_snapshots(content(same), content(broken))
    assert retired.after is invalid.after is None  # it has no tokens
    assert "parameters_schema" in invalid.change.fields


def test_groups_and_sections_are_compared() -> None:
    section = {"prompt": "guide", "name": "ids", "position": 1, "title": "Ids", "text": "Whole.", "status": "active"}
    after = content(sections=[{**section, "text": "Whole ids."}]) | {"groups": [{"path": "a", "summary": "Others"}]}

    differences = help_diff.compare_snapshots(content(sections=[section]), after)

    assert [(each.change.kind, [passage.label for passage in each.passages]) for each in differences] == [
        ("group", ["summary"]),
        ("section", ["text"]),
    ]


# --- with database rows -----------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_restore_of_one_op_restores_its_missing_groups() -> None:
    make_op()
    make_op("onto.task.other")
    release = publishing.publish_draft(note="Test", by="tests", at=AT)
    Op.objects.update(summary="Other")
    Op.objects.filter(op="onto.task.add").delete()
    Op.objects.filter(op="onto.task.other").update(op="other")
    Group.objects.filter(path="onto.task").delete()

    changes = restore.restore_op(release, "onto.task.add", by="ann", at=AT)

    assert [change.name for change in changes] == ["onto.task", "onto.task.add"]
    assert draft.read_entry(Kind.OP, "onto.task.add") in snapshot.snapshot_draft()["ops"]
    assert Op.objects.get(op="onto.task.add").summary == "Add onto.task.add"
    assert Op.objects.get(op="other").summary == "Other"
    assert history.list_changes(Kind.OP, "onto.task.add")[0].note == f"Restored from release {release}"
    with pytest.raises(restore.OpNotInRelease, match=r"has no op onto\.no"):
        restore.restore_op(release, "onto.no", by="ann", at=AT)
