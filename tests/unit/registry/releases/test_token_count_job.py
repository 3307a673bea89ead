"""The token counts in the list of ops: what the help of each draft op costs."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from registry.drafts import draft, history
from registry.help import token_counts
from registry.models import Connection, Op, PolicyRule
from registry.releases import publishing, unpublished
from registry.snapshot import snapshot
from registry.snapshot.diff import Kind
from tests.support.console.admin_pages import read_form
from tests.support.rows.copy_rows import make_op

pytestmark = pytest.mark.django_db

AT = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
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


@pytest.mark.both_databases
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


def test_ops_are_counted_in_batches(live: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpublished, "BATCH_SIZE", 1)
    Op.objects.update(is_counted=False)

    assert [unpublished.count_tokens(AT) for _ in range(3)] == [True, True, False]
    assert list_uncounted_ops() == []


def test_job_costs_one_query_when_nothing_changed(live: None, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(1):
        unpublished.count_batch()


@pytest.mark.both_databases
def test_deleting_a_rule_on_its_own_page_resets_its_op(live: None, admin_client: Client) -> None:
    rule = PolicyRule.objects.filter(op__op=ADD).first()
    assert rule is not None

    admin_client.post(reverse("admin:registry_policyrule_delete", args=[rule.pk]), {"post": "yes"})

    assert list_uncounted_ops() == [ADD]


@pytest.mark.both_databases
def test_renamed_connection_makes_its_ops_differ_from_live(live: None, admin_client: Client) -> None:
    connection = Connection.objects.get()
    page = reverse("admin:registry_connection_change", args=[connection.pk])
    form = read_form(admin_client.get(page))

    admin_client.post(page, form)
    assert unpublished.find_unpublished_names()[Kind.OP] == frozenset()
    admin_client.post(page, form | {"name": "sales"})

    assert unpublished.find_unpublished_names()[Kind.OP] == {ADD, GET}


@pytest.mark.both_databases
def test_last_editors_are_the_latest_per_op(live: None) -> None:
    for by in ("ana", "ben"):
        change(by=by, summary=f"Add a task as {by} says")

    assert history.get_last_editors(Kind.OP, [ADD, GET]) == {ADD: "ben"}
