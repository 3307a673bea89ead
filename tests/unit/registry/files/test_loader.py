"""Loading shipped copy over edited copy: shipped changes are applied, edits stay, and the report lists both."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import CommandError, call_command

from registry import vocabulary
from registry.files import export, loader
from registry.models import Connection, EvalCase, Example, Group, Op, OpAlias, PolicyRule, Release
from registry.releases import publishing, stored_releases
from registry.snapshot import snapshot
from tests.support.rows.op_entries import build_content, build_op_entry, build_schema
from tests.support.upstreams import any_upstream

pytestmark = pytest.mark.django_db

ADD = build_op_entry(
    "onto.task.add",
    kind="write",
    description="Adds one task.",
    connection=any_upstream.CONNECTION,
    parameters_schema=build_schema(("title",), title={"type": "string"}),
    policy={"do": ["Search first."], "dont": ["Never invent."]},
    examples=[{"title": "Minimal", "args": {"title": "Book venue"}}],
    aliases=["task.add"],
)
GET = build_op_entry("onto.task.get", connection=any_upstream.CONNECTION)
SHIPPED = build_content(ADD, GET)
GROUPS = len(SHIPPED["groups"])


def ship(**changes: Any) -> loader.MergeReport:
    """Load the catalog with these changes to onto.task.add in the files."""
    return loader.load_into_draft(build_content({**ADD, **changes}, GET))


def get_stored_entry(path: str = "onto.task.add") -> dict[str, Any]:
    return snapshot.op_to_entry(Op.objects.get(op=path))


def test_first_load_adds_everything() -> None:
    report = loader.load_into_draft(SHIPPED)

    assert report.added == ["onto", "onto.task", "root", "onto.task.add", "onto.task.get"]
    assert (report.updated, report.kept_edits, report.no_longer_shipped, report.unchanged) == ([], [], [], 0)
    assert get_stored_entry() == {"status": "active", "timeout_ms": 30_000} | ADD
    assert Connection.objects.get().name == any_upstream.CONNECTION
    assert str(report) == "5 added, 0 updated, 0 unchanged."


def test_second_load_changes_nothing() -> None:
    loader.load_into_draft(SHIPPED)
    version, ids = publishing.compute_draft_version(), set(Example.objects.values_list("pk", flat=True))
    times = list(Op.objects.values_list("op", "updated_at"))

    report = loader.load_into_draft(copy.deepcopy(SHIPPED))

    assert (report.added, report.updated, report.unchanged) == ([], [], GROUPS + 2)
    assert publishing.compute_draft_version() == version
    assert set(Example.objects.values_list("pk", flat=True)) == ids
    assert list(Op.objects.values_list("op", "updated_at")) == times


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "read", "timeout_ms": 5000},
        {"notes": "Now with notes", "keywords": ["new"]},
        {"description": ""},  # a field that is no longer in the file
        {"parameters_schema": build_schema(("title",), title={"type": "string"}, due={"type": "string"})},
        {"policy": {"do": ["Search first.", "Then add."]}},
        {"policy": {}},
        {"examples": [{"args": {"title": "Other"}}, {"args": {"title": "Third"}, "note": "n"}]},
        {"aliases": ["task.add", "task.new"]},
        {"connection": "elsewhere"},
        {"status": "retired", "successor": "onto.task.get"},
    ],
)
def test_load_applies_a_shipped_change(changes: dict[str, Any]) -> None:
    loader.load_into_draft(SHIPPED)

    report = ship(**changes)

    assert (report.updated, report.kept_edits, report.added) == (["onto.task.add"], [], [])
    expected = {"status": "active", "timeout_ms": 30_000} | ADD | changes
    assert get_stored_entry() == {name: value for name, value in expected.items() if value not in ("", {}, [])}
    assert ship(**changes).updated == []


EDITS: list[tuple[Any, str, Any]] = [
    (lambda op: Op.objects.filter(pk=op.pk).update(summary="Edited"), "summary", "Newly shipped"),
    (lambda op: PolicyRule.objects.filter(op=op, kind="do").update(text="Ask first."), "policy", {"do": ["New."]}),
    (lambda op: Example.objects.filter(op=op).update(args={"title": "Mine"}), "examples", [{"args": {"title": "New"}}]),
    (lambda op: OpAlias.objects.create(op=op, name="mine"), "aliases", ["task.newly"]),
    (lambda op: Op.objects.filter(pk=op.pk).update(connection=None), "connection", "elsewhere"),
]


@pytest.mark.parametrize(
    "edit", [*(edit for edit, _, _ in EDITS), lambda op: Op.objects.filter(pk=op.pk).update(status="retired")]
)
def test_load_keeps_an_edit_when_other_fields_change(edit: Any) -> None:
    loader.load_into_draft(SHIPPED)
    edit(Op.objects.get(op="onto.task.add"))
    edited = get_stored_entry()

    report = ship(notes="Newly shipped")

    assert (report.updated, report.kept_edits) == (["onto.task.add"], [])
    assert get_stored_entry() == edited | {"notes": "Newly shipped"}


@pytest.mark.parametrize(("edit", "field", "newer"), EDITS, ids=[field for _, field, _ in EDITS])
def test_load_keeps_an_edit_against_a_newer_text_and_reports_it(edit: Any, field: str, newer: Any) -> None:
    loader.load_into_draft(SHIPPED)
    edit(Op.objects.get(op="onto.task.add"))
    edited = get_stored_entry()

    report = ship(**{field: newer})

    assert report.kept_edits == [f"onto.task.add {field}"]
    assert get_stored_entry() == edited
    assert f"Kept your edit: onto.task.add {field}." in str(report)
    assert ship(**{field: newer}).kept_edits == []  # reported once: the newer text is now the baseline


def test_load_merges_changes_of_both_sides_by_field() -> None:
    loader.load_into_draft(SHIPPED)
    Op.objects.filter(op="onto.task.add").update(summary="Edited", notes="Edited")

    report = ship(summary="Shipped", description="Shipped", notes="Edited")

    assert (report.updated, report.kept_edits) == (["onto.task.add"], ["onto.task.add summary"])
    after = get_stored_entry()
    assert (after["summary"], after["description"], after["notes"]) == ("Edited", "Shipped", "Edited")


def test_load_updates_a_row_whose_edit_was_reverted() -> None:
    loader.load_into_draft(SHIPPED)
    Op.objects.filter(op="onto.task.add").update(summary="Edited")
    ship(summary="Second")
    Op.objects.filter(op="onto.task.add").update(summary="Second")

    report = ship(summary="Third")

    assert report.kept_edits == []
    assert get_stored_entry()["summary"] == "Third"


def test_load_never_overwrites_an_own_row() -> None:
    Group.objects.create(path="onto", summary="Mine")
    Op.objects.create(op="onto.task.add", tool_name="onto_task_add", kind="write", summary="Mine")

    report = loader.load_into_draft(SHIPPED)

    assert "onto summary" in report.kept_edits
    assert "onto.task.add summary" in report.kept_edits
    assert (get_stored_entry()["summary"], Group.objects.get(path="onto").summary) == ("Mine", "Mine")


def test_load_keeps_a_group_edit_and_applies_a_shipped_change() -> None:
    loader.load_into_draft(SHIPPED)
    Group.objects.filter(path="onto").update(summary="Edited")
    newer = copy.deepcopy(SHIPPED)
    for group in newer["groups"]:
        group["summary"] += ", newer"

    report = loader.load_into_draft(newer)

    assert report.kept_edits == ["onto summary"]
    assert dict(Group.objects.values_list("path", "summary")) == {
        "onto": "Edited",
        "onto.task": "Group onto.task, newer",
        "root": "Group root, newer",
    }


def test_load_keeps_and_reports_an_op_that_is_no_longer_shipped() -> None:
    loader.load_into_draft(SHIPPED)
    Op.objects.create(op="onto.mine", tool_name="mine", kind="read", summary="Never shipped")

    report = loader.load_into_draft(build_content(ADD))

    assert report.no_longer_shipped == ["onto.task.get"]
    assert "No longer shipped, left unchanged: onto.task.get." in str(report)
    assert Op.objects.filter(op="onto.task.get", status="active").exists()


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(loader, "OWN_FOLDER", tmp_path)
    monkeypatch.setattr(loader, "_app_folders", ())
    words_before = vocabulary._shipped_folders
    write(tmp_path, ADD, GET)
    yield tmp_path
    vocabulary.set_shipped_folders(words_before)


def write(folder: Path, *ops: dict[str, Any]) -> None:
    (folder / "groups.yaml").write_text(yaml.safe_dump({"groups": SHIPPED["groups"]}))
    (folder / "ops.yaml").write_text(export.dump_yaml({"ops": list(ops)}))
    (folder / "empty.yaml").write_text("# nothing\n")


def test_read_normalises_entries_as_rows_do(folder: Path) -> None:
    write(folder, build_op_entry("onto.task.ping", notes="", examples=[{"title": "No args"}], aliases=["b", "a"]))

    assert loader.read_shipped_catalog()["ops"] == [
        build_op_entry("onto.task.ping", examples=[{"title": "No args", "args": {}}], aliases=["a", "b"])
    ]


def test_catalog_has_the_copy_of_installed_apps_only(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    write(folder, ADD)
    app_folder = tmp_path_factory.mktemp("acme") / "copy"
    app_folder.mkdir()
    (app_folder / "groups.yaml").write_text(yaml.safe_dump({"groups": [{"path": "acme", "summary": "Acme"}]}))
    (app_folder / "ops.yaml").write_text(export.dump_yaml({"ops": [build_op_entry("acme.ping")]}))
    for place, word in ((folder, "todo"), (app_folder, "errand")):
        words = {"kind": "entity", "meaning": "task", "words": [word]}
        (place / "vocabulary.yaml").write_text(export.dump_yaml({"vocabulary": [words]}))

    without_app = loader.read_shipped_catalog()
    loader.set_app_folders([app_folder])
    with_app = loader.read_shipped_catalog()

    assert [op["op"] for op in without_app["ops"]] == [ADD["op"]]
    assert sorted(op["op"] for op in with_app["ops"]) == ["acme.ping", ADD["op"]]
    assert {"path": "acme", "summary": "Acme"} in with_app["groups"]
    assert [entry["words"] for entry in with_app["vocabulary"]] == [["todo", "errand"]]


def test_command_loads_no_eval_case_of_an_op_that_is_not_shipped(folder: Path) -> None:
    write(folder, ADD | {"op": "onto.task.create"})

    call_command("load_catalog")

    assert set(EvalCase.objects.values_list("op", flat=True)) == {"onto.task.create"}
    assert stored_releases.get_live_release() is None  # it publishes only on request


def test_invalid_files_load_nothing(folder: Path) -> None:
    write(folder, ADD | {"examples": [{"args": {}}]})

    with pytest.raises(CommandError, match=r"onto\.task\.add, examples/0"):
        call_command("load_catalog", publish=True)

    assert not Op.objects.exists()
    assert not Group.objects.exists()
    assert not Release.objects.exists()


def load_and_publish(capsys: pytest.CaptureFixture[str]) -> str:
    call_command("load_catalog", publish=True)
    return capsys.readouterr().out


def test_command_publishes_the_shipped_catalog(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = load_and_publish(capsys)
    live = stored_releases.get_live_release()
    again = load_and_publish(capsys)
    write(folder, ADD | {"summary": "Newer"}, GET)
    newer = load_and_publish(capsys)

    assert "5 added, 0 updated, 0 unchanged." in first
    assert live is not None
    assert f"Release {live.version[:12]} with 2 ops is live." in first
    assert "The live release is up to date." in again
    assert "0 added, 1 updated, 4 unchanged." in newer
    assert stored_releases.get_live_release() != live


def test_command_does_not_publish_edits(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    load_and_publish(capsys)
    live = stored_releases.get_live_release()
    Op.objects.filter(op="onto.task.get").update(summary="Not yet reviewed")
    write(folder, ADD | {"summary": "Newer"}, GET)

    result = load_and_publish(capsys)

    assert "Not published: the draft has unpublished edits." in result
    assert stored_releases.get_live_release() == live
    assert get_stored_entry()["summary"] == "Newer"


def test_command_does_not_publish_an_op_that_cannot_run(folder: Path) -> None:
    write(folder, ADD, build_op_entry("onto.task.get"))

    with pytest.raises(CommandError, match="connection: Cannot run: no connection is set") as failed:
        call_command("load_catalog", publish=True)

    assert failed.value.returncode == 1
    assert Op.objects.count() == 2
    assert stored_releases.get_live_release() is None
