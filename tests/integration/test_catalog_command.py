"""manage.py catalog: copy out as files and in again, published and rolled back, each with its sentence."""

import csv
import getpass
import io
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from analytics.models import AuditEntry
from registry.files import loader
from registry.models import Activation, Group, Op, PromptSection
from registry.releases import publishing
from registry.snapshot import snapshot
from tests.support import catalog_fixture

pytestmark = pytest.mark.django_db

PATH = "onto.task.update"


@pytest.fixture
def published(db: None) -> None:
    catalog_fixture.publish()


@pytest.fixture
def catalog(capsys: pytest.CaptureFixture[str]) -> Any:
    """Run the command and return what it prints."""

    def run(*args: str) -> str:
        call_command("catalog", *args)
        return capsys.readouterr().out

    return run


def written(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def edit(folder: Path, before: str, after: str) -> None:
    file = folder / "onto.task.yaml"
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after, 1))


def test_copy_goes_out_and_into_an_empty_database_and_out_the_same(
    published: None, catalog: Any, tmp_path: Path
) -> None:
    Op.objects.filter(op=PATH).update(summary="Ünder — an admin's hand", notes="Two\nlines")
    assert "Wrote" in catalog("export", str(tmp_path / "one"))
    version = publishing.compute_draft_version()
    for model in (Op, Group, PromptSection):
        model.objects.all().delete()

    told = catalog("import", str(tmp_path / "one"), "--yes")
    catalog("export", str(tmp_path / "other"))

    assert "Imported into the draft" in told
    assert publishing.compute_draft_version() == version
    assert written(tmp_path / "one") == written(tmp_path / "other")
    assert "has this content already" in catalog("import", str(tmp_path / "one"))


def test_export_of_a_release_is_what_was_published(published: None, catalog: Any, tmp_path: Path) -> None:
    release = publishing.get_live_release()
    catalog("export", str(tmp_path / "draft"))
    Op.objects.filter(op=PATH).update(summary="Later")

    catalog("export", str(tmp_path / "release"), "--release", release.version[:12])

    assert written(tmp_path / "draft") == written(tmp_path / "release")


def test_diff_shows_field_by_field_and_changes_nothing(published: None, catalog: Any, tmp_path: Path) -> None:
    catalog("export", str(tmp_path))
    before = snapshot.snapshot_draft()
    edit(tmp_path, f"summary: {Op.objects.get(op=PATH).summary}", 'summary: "Other \\e[31m words"')

    told = catalog("diff", str(tmp_path))

    assert told.splitlines() == [
        f"op {PATH} changed",
        "  summary",
        f"    -{Op.objects.get(op=PATH).summary}",
        "    +Other \\u001b[31m words",  # what a terminal would obey is shown
        "0 added, 1 changed, 0 removed.",
    ]
    assert snapshot.snapshot_draft() == before


def test_import_is_a_merge_of_what_the_files_say(published: None, catalog: Any, tmp_path: Path) -> None:
    catalog("export", str(tmp_path))
    for path in tmp_path.iterdir():
        if path.name != "onto.task.yaml":
            path.unlink()  # the rest of the draft stays
    edit(tmp_path, f"summary: {Op.objects.get(op=PATH).summary}", "summary: Other words")
    count = Op.objects.count()

    told = catalog("import", str(tmp_path), "--yes", "--by", "ann")

    assert f"op {PATH} changed" in told
    assert Op.objects.get(op=PATH).summary == "Other words"
    assert Op.objects.count() == count
    entry = AuditEntry.objects.get()
    assert (entry.by, entry.name, entry.action, list(entry.changes)) == ("ann", PATH, "changed", ["summary"])
    assert entry.note == f"Import of {tmp_path.name}"


@pytest.mark.parametrize(("answer", "imported"), [("y", True), ("yes", True), ("", False), ("n", False)])
def test_import_asks_on_a_terminal(
    published: None, catalog: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, imported: bool
) -> None:
    catalog("export", str(tmp_path))
    edit(tmp_path, "timeout_ms: 30000", "timeout_ms: 500")
    terminal = io.StringIO(f"{answer}\n")
    monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stdin", terminal)

    catalog("import", str(tmp_path))

    assert Op.objects.filter(timeout_ms=500).exists() is imported


def test_import_without_anybody_to_ask_imports_nothing(
    published: None, catalog: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog("export", str(tmp_path))
    edit(tmp_path, "timeout_ms: 30000", "timeout_ms: 500")
    monkeypatch.setattr(sys, "stdin", io.StringIO())

    with pytest.raises(CommandError, match="--yes"):
        catalog("import", str(tmp_path))

    assert not Op.objects.filter(timeout_ms=500).exists()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "has no YAML files"),
        ("ops: [", "YAML"),
        ("ops: [{op: a.b}]", "required"),
        ("things: []", "lists named groups, ops and sections"),
        ("ops: [{op: a.b, tool_name: x, kind: read, summary: S, parameters_schema: {type: object}}]", "a is missing"),
    ],
)
def test_import_of_what_is_no_catalog_is_refused_with_a_sentence(
    published: None, catalog: Any, tmp_path: Path, text: str | None, told: str
) -> None:
    if text is not None:
        (tmp_path / "x.yaml").write_text(text)
    before = snapshot.snapshot_draft()

    with pytest.raises(CommandError, match=told):
        catalog("import", str(tmp_path), "--yes")

    assert snapshot.snapshot_draft() == before


def test_table_has_a_line_for_each_op_with_its_tokens(published: None, catalog: Any, tmp_path: Path) -> None:
    Op.objects.filter(op=PATH).update(summary="=HYPERLINK(1)")
    catalog("export", str(tmp_path / "ops.csv"), "--csv")

    rows = {row["op"]: row for row in csv.DictReader(io.StringIO((tmp_path / "ops.csv").read_text()))}

    assert len(rows) == Op.objects.count()
    assert rows[PATH]["summary"] == "'=HYPERLINK(1)"
    live = publishing.get_live_release()
    assert rows["onto.task.get"]["tokens_full"] == str(live.tokens["onto.task.get"][1])
    assert catalog("export", "-", "--csv") == (tmp_path / "ops.csv").read_bytes().decode()


def test_publish_and_rollback_say_what_is_live(published: None, catalog: Any) -> None:
    first = publishing.get_live_release()
    Op.objects.filter(op=PATH).update(summary="Other words")

    published_now = catalog("publish", "--note", "Say it better", "--by", "ann")
    second = publishing.get_live_release()
    back = catalog("rollback")

    assert f"Release {second} with {second.op_count} ops is live." in published_now
    assert f"Release {first} with" in back
    assert publishing.get_live_release() == first
    newest, before = Activation.objects.all()[:2]
    assert (newest.note, newest.activated_by) == ("Rolled back", getpass.getuser())
    assert (before.note, before.activated_by) == ("Say it better", "ann")
    catalog("rollback", second.version[:10])
    assert publishing.get_live_release() == second
    assert "Nothing to publish" in catalog("publish", "--note", "Again")


def test_rollback_refuses_what_it_cannot_do(published: None, catalog: Any) -> None:
    with pytest.raises(CommandError, match="There is no earlier live release"):
        catalog("rollback")
    with pytest.raises(CommandError, match="No release has the version ffffff"):
        catalog("rollback", "ffffff")
    with pytest.raises(CommandError, match="at least 6 characters"):
        catalog("rollback", "f")
    with pytest.raises(CommandError, match="is already live"):
        catalog("rollback", publishing.get_live_release().version)


def test_publish_names_what_would_break_serving(published: None, catalog: Any) -> None:
    Op.objects.filter(op=PATH).update(parameters_schema={"type": "array"})

    with pytest.raises(CommandError, match=f"{PATH}, parameters_schema"):
        catalog("publish", "--note", "Broken")


def test_loading_and_importing_leave_their_history(db: None, tmp_path: Path) -> None:
    call_command("load_catalog", verbosity=0)
    count = AuditEntry.objects.count()
    call_command("load_catalog", verbosity=0)

    content = loader.read_shipped_catalog()
    assert count == len(content["ops"]) + len(content["groups"]) + len(content["sections"])
    assert AuditEntry.objects.count() == count
    assert set(AuditEntry.objects.values_list("by", "action")) == {("load_catalog", "added")}
