"""Many added ops are shown by service and group; the ops of a group are another page."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from console import diff_view
from console.releases import added_ops
from registry.models import Release
from tests.support.console.admin_pages import read
from tests.support.console.staff import sign_in
from tests.support.rows.copy_rows import make_op

pytestmark = pytest.mark.django_db
EVALS_OF_A_NEW_DRAFT = 3  # queries, whatever it adds


@pytest.fixture
def many(published: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    """A draft that adds three ops of two services, which are more than are shown one by one."""
    monkeypatch.setattr(added_ops, "MAX_SHOWN", 2)
    make_op("crm.deal.get", kind="read")
    make_op("crm.person.add")
    make_op("pay.bill.add")


def open_review(client: Client) -> Any:
    return client.get(reverse("admin:registry_release_review"))


def test_added_ops_are_counted_by_service_and_group(admin_client: Client, many: None) -> None:
    page = open_review(admin_client)

    services = page.context["added_services"]
    assert [(each.path, each.figures.partition(" · ")[0]) for each in services] == [
        ("crm", "2 ops: 1 read, 1 write"),
        ("pay", "1 op: 1 write"),
    ]
    assert [(each.path, each.op_count) for each in services[0].groups] == [
        ("crm", 0),
        ("crm.deal", 1),
        ("crm.person", 1),
    ]
    assert [sum(each.tokens[form] for each in services[0].groups) for form in (0, 1)] == list(services[0].tokens)
    assert services[0].tokens[1] > services[0].tokens[0] > 0
    assert "3 new ops and 5 new groups" in read(page)
    assert f"{services[0].tokens[0]} tokens short" in read(page)
    assert list(page.context["differences"]) == []


def test_ops_of_a_group_are_shown_on_demand(admin_client: Client, many: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diff_view, "PAGE_SIZE", 1)
    make_op("crm.deal.list", summary="List the deals")
    group = open_review(admin_client).context["added_services"][0].groups[1]

    itself, first, second = (read(admin_client.get(f"{group.url}&p={number}")) for number in (1, 2, 3))

    assert "crm.deal.get</strong> read · Add crm.deal.get" in first
    assert "?group=crm.deal&amp;p=3" in first
    assert "List the deals" in second
    assert "crm.deal</strong> group · Group crm.deal" in itself
    assert "crm.person.add" not in itself + first + second
    assert "This group has no new ops." in read(admin_client.get(reverse("admin:registry_release_added_ops")))
    assert sign_in("nobody", permissions=["view_op"]).get(group.url).status_code == 403


def test_queries_do_not_grow_with_the_added_ops(
    admin_client: Client, many: None, django_assert_max_num_queries: Any
) -> None:
    open_review(admin_client)  # fills caches
    with CaptureQueriesContext(connection) as few:
        open_review(admin_client)
    for number in range(20):
        make_op(f"crm.deal.n{number}")

    with django_assert_max_num_queries(len(few) + EVALS_OF_A_NEW_DRAFT):
        open_review(admin_client)
