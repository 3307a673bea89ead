"""Warnings are accepted and fixed by check and service; hints need nothing."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from audit.models import AuditEntry
from registry.models import Op
from registry.releases import stored_releases
from tests.support.console.admin_pages import read, read_text
from tests.support.console.staff import sign_in
from tests.support.rows.copy_rows import make_op
from tests.support.rows.op_entries import build_schema

pytestmark = pytest.mark.django_db
UNCLEAR = build_schema(("title",), title={"type": "string"}, amount={"type": "number"})


@pytest.fixture
def warned(db: None) -> None:
    """Ops of two services with too long summaries, one of them with another warning."""
    for name in ("crm.deal.get", "crm.deal.add", "pay.bill.get"):
        schema: Any = {"parameters_schema": UNCLEAR} if name == "crm.deal.add" else {}
        make_op(name, summary=f"Reads all of the {name}, {'very ' * 12}slowly", **schema)


def open_review(client: Client, **query: Any) -> Any:
    return client.get(reverse("admin:registry_release_review"), query)


def test_each_check_of_a_service_needs_its_own_tick(admin_client: Client, warned: None) -> None:
    page = open_review(admin_client)
    groups = {group.key: group.total for check in page.context["warning_checks"] for group in check.groups}
    form = {"seen": page.context["review"].seen, "note": "All", "because": "Known"}

    refused = admin_client.post(reverse("admin:registry_release_review"), form | {"accepted": list(groups)[:1]})
    published = admin_client.post(reverse("admin:registry_release_review"), form | {"accepted": list(groups)})

    assert groups == {"number_without_unit:crm": 1, "summary_too_long:crm": 2, "summary_too_long:pay": 1}
    assert "3 warnings are neither accepted nor fixed." in read(refused)
    assert refused.context["accepted_groups"] == ["number_without_unit:crm"]
    assert published.status_code == 302
    assert len(stored_releases.get_live_release().accepted_warnings) == 4  # type: ignore[union-attr]


def test_one_button_fixes_a_group_and_keeps_the_ticks(admin_client: Client, warned: None) -> None:
    form = {"fix": "summary_too_long:crm", "accepted": ["summary_too_long:pay"]}

    page = admin_client.post(reverse("admin:registry_release_fix"), form, follow=True)

    assert "Fixed 2 ops. The audit log has what changed." in read(page)
    assert list(Op.objects.filter(op__startswith="crm").order_by("op").values_list("summary", flat=True)) == [
        "Reads all of the crm.deal.add",
        "Reads all of the crm.deal.get",
    ]
    assert [group.key for check in page.context["warning_checks"] for group in check.groups] == [
        "number_without_unit:crm",
        "summary_too_long:pay",
    ]
    assert page.context["accepted_groups"] == ["summary_too_long:pay"]
    assert {(entry.by, entry.note) for entry in AuditEntry.objects.filter(kind="op")} == {
        ("admin", "Fixed warnings: Shorten the summaries")
    }
    again = admin_client.post(reverse("admin:registry_release_fix"), form, follow=True)
    assert "Nothing was fixed. The draft already has this content." in read(again)


def test_only_checks_with_a_fix_can_be_fixed_by_those_who_edit(admin_client: Client, warned: None) -> None:
    url = reverse("admin:registry_release_fix")

    assert admin_client.get(url).status_code == 405
    assert admin_client.post(url, {"fix": "number_without_unit:crm"}).status_code == 404

    client = sign_in("reader", permissions=["view_op", "view_group", "view_promptsection"])
    assert client.post(url, {"fix": "summary_too_long:crm"}).status_code == 403
    assert "Shorten the summaries" not in read_text(open_review(client))


def test_hints_are_counted_and_need_no_reason(admin_client: Client) -> None:
    make_op("crm.deal.add", source="crm", parameters_schema=UNCLEAR)

    page = open_review(admin_client)
    form = {"seen": page.context["review"].seen, "note": "All"}
    published = admin_client.post(reverse("admin:registry_release_review"), form)

    assert "1 hint about imported texts." in read(page)
    assert "All checks passed. No new warnings." in read(page)
    assert published.status_code == 302
