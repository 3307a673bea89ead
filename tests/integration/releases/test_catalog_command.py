"""manage.py catalog: export, import, diff, publish and rollback."""

import csv
import getpass
import io
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from analytics.rollout.models import Cohort
from audit.models import AuditEntry
from registry.files import loader
from registry.models import Activation, Group, Op, PromptSection
from registry.releases import publishing, stored_releases
from registry.snapshot import snapshot
from tests.support.rows import catalog_fixture
from tests.support.upstreams import any_upstream

pytestmark = pytest.mark.django_db

PATH = "onto.task.update"


@pytest.fixture
def run_catalog(db: None, capsys: pytest.CaptureFixture[str]) -> Any:
    """Publish the shipped catalog. Return a function that runs the command and returns what it prints."""
    catalog_fixture.publish_shipped_catalog()

    def run(*args: str) -> str:
        call_command("catalog", *args)
        return capsys.readouterr().out

    return run


def read_files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def edit_file(folder: Path, before: str, after: str) -> None:
    file = folder / "onto.task.yaml"
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after, 1))


def test_export_is_the_same_after_import_into_an_empty_database(run_catalog: Any, tmp_path: Path) -> None:
    Op.objects.filter(op=PATH).update(summary="Ünder — an admin's edit", notes="Two\nlines")
    assert "Wrote" in run_catalog("export", str(tmp_path / "one"))
    version = publishing.compute_draft_version()
    for model in (Op, Group, PromptSection):
        model.objects.all().delete()

    output = run_catalog("import", str(tmp_path / "one"), "--yes")
    run_catalog("export", str(tmp_path / "other"))

    assert "Imported into the draft" in output
    assert publishing.compute_draft_version() == version
    assert read_files(tmp_path / "one") == read_files(tmp_path / "other")
    assert "already has this content" in run_catalog("import", str(tmp_path / "one"))


def test_export_of_a_release_has_the_published_content(run_catalog: Any, tmp_path: Path) -> None:
    release = stored_releases.get_live_release()
    run_catalog("export", str(tmp_path / "draft"))
    Op.objects.filter(op=PATH).update(summary="Later")

    run_catalog("export", str(tmp_path / "release"), "--release", release.version[:12])

    assert read_files(tmp_path / "draft") == read_files(tmp_path / "release")


def test_diff_lists_changed_fields_and_changes_nothing(run_catalog: Any, tmp_path: Path) -> None:
    run_catalog("export", str(tmp_path))
    before = snapshot.snapshot_draft()
    edit_file(tmp_path, f"summary: {Op.objects.get(op=PATH).summary}", 'summary: "Other \\e[31m words"')

    output = run_catalog("diff", str(tmp_path))

    assert output.splitlines() == [
        f"op {PATH} changed",
        "  summary",
        f"    -{Op.objects.get(op=PATH).summary}",
        "    +Other \\u001b[31m words",  # control characters are escaped
        "0 added, 1 changed, 0 removed.",
    ]
    assert snapshot.snapshot_draft() == before


def test_import_merges_the_files_into_the_draft(run_catalog: Any, tmp_path: Path) -> None:
    run_catalog("export", str(tmp_path))
    for path in tmp_path.iterdir():
        if path.name != "onto.task.yaml":
            path.unlink()  # the rest of the draft stays
    edit_file(tmp_path, f"summary: {Op.objects.get(op=PATH).summary}", "summary: Other words")
    count = Op.objects.count()

    output = run_catalog("import", str(tmp_path), "--yes", "--by", "ann")

    assert f"op {PATH} changed" in output
    assert Op.objects.get(op=PATH).summary == "Other words"
    assert Op.objects.count() == count
    entry = AuditEntry.objects.get(kind="op")
    assert AuditEntry.objects.filter(kind="copy", action="imported", by=entry.by).count() == 1
    assert (entry.by, entry.name, entry.action, list(entry.changes)) == ("ann", PATH, "changed", ["summary"])
    assert entry.note == f"Import of {tmp_path.name}"


@pytest.mark.parametrize(("answer", "imported"), [("y", True), ("yes", True), ("", False), ("n", False)])
def test_import_asks_for_confirmation_on_a_terminal(
    run_catalog: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    answer: str,
    imported: bool,
) -> None:
    run_catalog("export", str(tmp_path))
    edit_file(tmp_path, "timeout_ms: 30000", "timeout_ms: 500")
    terminal = io.StringIO(f"{answer}\n")
    monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stdin", terminal)

    run_catalog("import", str(tmp_path))

    assert Op.objects.filter(timeout_ms=500).exists() is imported


def test_import_without_a_terminal_needs_yes(run_catalog: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_catalog("export", str(tmp_path))
    edit_file(tmp_path, "timeout_ms: 30000", "timeout_ms: 500")
    monkeypatch.setattr(sys, "stdin", io.StringIO())

    with pytest.raises(CommandError, match="--yes"):
        run_catalog("import", str(tmp_path))

    assert not Op.objects.filter(timeout_ms=500).exists()


def test_import_refuses_a_folder_without_a_catalog(run_catalog: Any, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="has no YAML files"):
        run_catalog("import", str(tmp_path), "--yes")


def test_csv_export_has_a_line_per_op_with_token_counts(run_catalog: Any, tmp_path: Path) -> None:
    Op.objects.filter(op=PATH).update(summary="=HYPERLINK(1)")
    run_catalog("export", str(tmp_path / "ops.csv"), "--csv")

    rows = {row["op"]: row for row in csv.DictReader(io.StringIO((tmp_path / "ops.csv").read_text()))}

    assert len(rows) == Op.objects.count()
    assert rows[PATH]["summary"] == "'=HYPERLINK(1)"
    live = stored_releases.get_live_release()
    assert rows["onto.task.get"]["tokens_full"] == str(live.tokens["onto.task.get"][1])
    assert run_catalog("export", "-", "--csv") == (tmp_path / "ops.csv").read_bytes().decode()


def test_publish_and_rollback_print_the_live_release(run_catalog: Any) -> None:
    first = stored_releases.get_live_release()
    Op.objects.filter(op=PATH).update(summary="Other words")

    publish_output = run_catalog("publish", "--note", "Say it better", "--by", "ann")
    second = stored_releases.get_live_release()
    rollback_output = run_catalog("rollback")

    assert f"Release {second} with {second.op_count} ops is live." in publish_output
    assert f"Release {first} with" in rollback_output
    assert f"The draft still has 1 change of {second}" in rollback_output
    assert stored_releases.get_live_release() == first
    newest, before = Activation.objects.all()[:2]
    assert (newest.note, newest.activated_by) == ("Rolled back", getpass.getuser())
    assert (before.note, before.activated_by) == ("Say it better", "ann")
    run_catalog("rollback", second.version[:10])
    assert stored_releases.get_live_release() == second
    assert "Nothing to publish" in run_catalog("publish", "--note", "Again")


def test_publish_only_some_entries_says_what_else_they_need(run_catalog: Any) -> None:
    Op.objects.filter(op=PATH).update(summary="Other words")
    Group.objects.create(path="crm", summary="Customers")
    op = Op.objects.get(op="onto.task.get")
    op.pk, op.op, op.tool_name = None, "crm.read", "crm_read"
    op.connection = any_upstream.get_or_create_connection()
    op.save()

    with pytest.raises(CommandError, match=r"The group crm is missing.*\nSelect as well: crm$"):
        run_catalog("publish", "--note", "CRM", "--only", "crm.*")
    with pytest.raises(CommandError, match=r"No unpublished change matches shop\.\*\."):
        run_catalog("publish", "--note", "CRM", "--only", "shop.*", "crm")
    with pytest.raises(CommandError, match="Leave it out with --everyone"):
        run_catalog("release", "--cohort", "a", "--everyone", "--note", "CRM", "--only", "crm")
    output = run_catalog("publish", "--note", "CRM", "--only", "crm.*", "crm")

    live = stored_releases.get_live_release()
    assert f"Release {live} with {live.op_count} ops is live. 1 change stays in the draft." in output
    assert live.selected_entries == [["group", "crm"], ["op", "crm.read"]]
    run_catalog("release", "--cohort", "first", "--note", "Words", "--only", PATH)
    assert Cohort.objects.get().variant == publishing.compute_draft_version()


def test_rollback_refuses_invalid_versions(run_catalog: Any) -> None:
    with pytest.raises(CommandError, match="There is no earlier live release"):
        run_catalog("rollback")
    with pytest.raises(CommandError, match="No release has the version ffffff"):
        run_catalog("rollback", "ffffff")
    with pytest.raises(CommandError, match="at least 6 characters"):
        run_catalog("rollback", "f")
    with pytest.raises(CommandError, match="is already live"):
        run_catalog("rollback", stored_releases.get_live_release().version)


def test_load_catalog_records_history_once(db: None, tmp_path: Path) -> None:
    call_command("load_catalog", verbosity=0)
    count = AuditEntry.objects.count()
    call_command("load_catalog", verbosity=0)

    content = loader.read_shipped_catalog()
    assert count == sum(len(entries) for entries in content.values() if isinstance(entries, list))
    assert AuditEntry.objects.count() == count
    assert set(AuditEntry.objects.values_list("by", "action")) == {("load_catalog", "added")}
