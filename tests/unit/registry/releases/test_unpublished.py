"""Unpublished changes and the token counts of the draft: those of a complete comparison, in few queries."""

from datetime import timedelta
from time import sleep
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from registry.drafts import draft, edits, history
from registry.help import token_counts
from registry.models import Activation, Connection, Group, Op, PolicyRule, PromptSection
from registry.releases import lifecycle, publishing, stored_releases, unpublished
from registry.snapshot import diff, snapshot
from registry.snapshot.copy_kinds import COPY_KINDS, Kind
from tests.support.concurrency import run_at_once
from tests.support.console.admin_pages import read_form
from tests.support.rows.copy_rows import AT, make_op

pytestmark = pytest.mark.django_db

NOTHING: dict[Kind, frozenset[str]] = {kind: frozenset() for kind in COPY_KINDS}


def publish(**more: Any) -> str:
    return publishing.publish_draft(note="Test", by="tests", at=timezone.now(), **more).version


def compare_completely() -> dict[Kind, frozenset[str]]:
    """Return what pending.names must return, by a complete comparison."""
    live = Activation.objects.get(is_live=True).release
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
    first = Activation.objects.get(is_live=True).release
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


ADD, GET = "onto.task.add", "onto.task.get"


@pytest.fixture
def live() -> None:
    make_op(ADD)
    make_op(GET, kind="read", summary="Get one task with all its fields")
    publishing.publish_draft(note="Test", by="tests", at=AT, accepted="Tested")
    count_all()


def count_all() -> None:
    while unpublished.count_batch():
        pass


def change(path: str = ADD, *, by: str = "tests", **fields: Any) -> None:
    """Change an op as every service does: write its entry, with a line in the history."""
    entry = draft.read_entry(Kind.OP, path)
    assert entry is not None
    draft.write_entry(Kind.OP, path, entry | fields, by=by, at=AT, note="")


def list_uncounted_ops() -> list[str]:
    return list(Op.objects.filter(is_counted=False).values_list("op", flat=True))


def get_token_counts() -> dict[str, list[int | None]]:
    return {op.op: [op.short_tokens, op.full_tokens] for op in Op.objects.all()}


def test_token_counts_equal_those_of_publishing(live: None) -> None:
    before = get_token_counts()

    change(summary="Add something else, which is longer", description="And a description.")
    count_all()

    assert get_token_counts() == publishing.count_tokens(snapshot.snapshot_draft())
    assert get_token_counts()[ADD] != before[ADD]


def test_unchanged_ops_reuse_the_counts_of_the_live_release(live: None, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[str] = []
    of_entry = token_counts.count_entry_tokens
    monkeypatch.setattr(
        token_counts, "count_entry_tokens", lambda entry: counted.append(entry["op"]) or of_entry(entry)
    )
    Op.objects.update(is_counted=False, short_tokens=None)
    change(GET, summary="Get another thing entirely")

    count_all()

    assert counted == [GET]
    assert get_token_counts() == publishing.count_tokens(snapshot.snapshot_draft())


@pytest.mark.parametrize("schema", [{"type": "array"}, {"type": "object", "maxProperties": 2**60}])
def test_retired_invalid_and_unstorable_ops_have_no_tokens(live: None, schema: dict[str, Any]) -> None:
    change(status="retired")
    op = Op.objects.get(op=GET)
    op.parameters_schema, op.is_counted = schema, False
    op.save()

    count_all()

    assert get_token_counts() == {ADD: [None, None], GET: [None, None]}


def test_ops_are_counted_in_batches_with_one_query_when_nothing_changed(
    live: None, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(1):
        unpublished.count_batch()
    monkeypatch.setattr(unpublished, "BATCH_SIZE", 1)
    Op.objects.update(is_counted=False)

    assert [unpublished.count_tokens(AT) for _ in range(3)] == [True, True, False]
    assert list_uncounted_ops() == []


def test_deleting_a_rule_on_its_own_page_resets_its_op(live: None, admin_client: Client) -> None:
    rule = PolicyRule.objects.filter(op__op=ADD).first()
    assert rule is not None

    admin_client.post(reverse("admin:registry_policyrule_delete", args=[rule.pk]), {"post": "yes"})

    assert list_uncounted_ops() == [ADD]


def test_renamed_connection_makes_its_ops_differ_from_live(live: None, admin_client: Client) -> None:
    connection = Connection.objects.get()
    page = reverse("admin:registry_connection_change", args=[connection.pk])
    form = read_form(admin_client.get(page))

    admin_client.post(page, form)
    assert unpublished.find_unpublished_names()[Kind.OP] == frozenset()
    admin_client.post(page, form | {"name": "sales"})

    assert unpublished.find_unpublished_names()[Kind.OP] == {ADD, GET}


def test_last_editors_are_the_latest_per_op(live: None) -> None:
    for by in ("ana", "ben"):
        change(by=by, summary=f"Add a task as {by} says")

    assert history.get_last_editors(Kind.OP, [ADD, GET]) == {ADD: "ben"}
