"""Unpublished changes: exactly those that a complete comparison finds, in few queries."""

from datetime import timedelta
from time import sleep
from typing import Any

import pytest
from django.utils import timezone

from registry.drafts import draft, edits, history
from registry.models import Group, Op, PolicyRule, PromptSection
from registry.releases import lifecycle, publishing, stored_releases, unpublished
from registry.snapshot import diff, snapshot
from registry.snapshot.copy_kinds import COPY_KINDS, Kind
from tests.support.concurrency import run_at_once
from tests.support.rows.copy_rows import make_op

pytestmark = pytest.mark.django_db

NOTHING: dict[Kind, frozenset[str]] = {kind: frozenset() for kind in COPY_KINDS}


def publish(**more: Any) -> str:
    return publishing.publish_draft(note="Test", by="tests", at=timezone.now(), **more).version


def compare_completely() -> dict[Kind, frozenset[str]]:
    """Return what pending.names must return, by a complete comparison."""
    live = stored_releases.get_live_release()
    assert live is not None
    changes = diff.diff_snapshots(stored_releases.load_content(live), snapshot.snapshot_draft())
    return {kind: frozenset(change.name for change in changes if change.kind == kind) for kind in COPY_KINDS}


@pytest.fixture
def published() -> None:
    for name in "abc":
        make_op(f"onto.task.{name}", tool_name=f"{name}_task")
    PromptSection.objects.create(prompt="guide", name="ids", title="Ids", text="Whole.")
    publish()


def test_everything_is_pending_before_the_first_release() -> None:
    make_op()

    assert unpublished.find_unpublished_names()[Kind.OP] == {"onto.task.add"}
    assert "onto" in unpublished.find_unpublished_names()[Kind.GROUP]


@pytest.mark.both_databases
def test_every_kind_of_change_is_pending(published: None) -> None:
    ops = {op.op: op for op in Op.objects.all()}
    ops["onto.task.a"].summary = "Other"
    ops["onto.task.a"].save()
    with history.track_changes([ops["onto.task.b"]], by="ann", at=timezone.now()):
        PolicyRule.objects.filter(op=ops["onto.task.b"]).update(text="Another rule.")
    with history.track_changes([ops["onto.task.c"]], by="ann", at=timezone.now()):
        ops["onto.task.c"].delete()
    make_op("onto.task.d", tool_name="d_task")
    Group.objects.create(path="util", summary="Utilities")
    section = PromptSection.objects.get()
    section.name = "names"
    section.save()

    names = unpublished.find_unpublished_names()

    assert names == compare_completely()
    assert names[Kind.OP] == {"onto.task.a", "onto.task.b", "onto.task.c", "onto.task.d"}
    assert names[Kind.SECTION] == {"guide/ids", "guide/names"}


def test_pending_finds_more_rows_than_one_batch(published: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpublished, "ROWS_PER_BATCH", 2)
    for op in Op.objects.all():
        op.summary = "Other"
        op.save()

    assert (
        unpublished.find_unpublished_names()[Kind.OP]
        == compare_completely()[Kind.OP]
        == {"onto.task.a", "onto.task.b", "onto.task.c"}
    )


def test_published_and_reverted_changes_are_not_pending(published: None) -> None:
    assert unpublished.find_unpublished_names() == NOTHING == compare_completely()
    op = Op.objects.get(op="onto.task.a")
    with history.track_changes([op], by="ann", at=timezone.now()):
        Op.objects.filter(pk=op.pk).update(summary="Other")
    assert unpublished.find_unpublished_names()[Kind.OP] == {"onto.task.a"}

    edits.revert_change(history.AuditEntry.objects.get(kind="op"), by="ann", at=timezone.now())

    assert unpublished.find_unpublished_names() == NOTHING == compare_completely()


@pytest.mark.both_databases
def test_changes_since_an_older_live_release_are_pending(published: None) -> None:
    first = stored_releases.get_live_release()
    assert first is not None
    later = timezone.now() + timedelta(hours=1)
    draft.write_entry(Kind.GROUP, "onto", {"path": "onto", "summary": "Other"}, by="ann", at=later, note="")
    publish()
    assert unpublished.find_unpublished_names() == NOTHING

    lifecycle.activate_release(version=first.version, note="", by="ann", at=later)

    assert unpublished.find_unpublished_names()[Kind.GROUP] == {"onto"} == compare_completely()[Kind.GROUP]


def test_pending_query_count_does_not_depend_on_ops(published: None, django_assert_num_queries: Any) -> None:
    unpublished.find_unpublished_names()
    for number in range(30):
        make_op(f"onto.task.n{number}", tool_name=f"n{number}_task")
    with django_assert_num_queries(14):
        first = unpublished.find_unpublished_names()
    with django_assert_num_queries(8):
        again = unpublished.find_unpublished_names()

    assert first == again
    assert len(again[Kind.OP]) == 30


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_draft_is_compared_once_for_requests_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    make_op()
    publish()
    compared, find_differing = [], unpublished._find_differing

    def find_slowly(*args: Any) -> dict[Kind, frozenset[str]]:
        compared.append(args)
        sleep(0.1)  # long enough for the others to come
        return find_differing(*args)

    monkeypatch.setattr(unpublished, "_cached", None)
    monkeypatch.setattr(unpublished, "_find_differing", find_slowly)

    names = run_at_once([unpublished.find_unpublished_names] * 4)

    assert names == [NOTHING] * 4
    assert len(compared) == 1
