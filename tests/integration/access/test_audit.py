"""The history of connections, flags, cohorts and switches that are changed in the console."""

from typing import Any

import pytest
from django.test import Client as HttpClient
from django.urls import reverse
from django.utils import timezone

from analytics.events.models import OperationEvent
from analytics.flags import FlagKey
from analytics.rollout.models import Cohort, Flag
from audit.models import AuditEntry
from registry.drafts import switch_service
from registry.models import Connection, Op, Release, Switch

pytestmark = pytest.mark.django_db

NO_RULES = {"rules-TOTAL_FORMS": "0", "rules-INITIAL_FORMS": "0"}
COHORT = {"name": "dev-team", "flag": FlagKey.SURFACE, "is_on": "on", "variant": "gateway"}
COHORT |= {"percentage": "5", "listed": "", "note": "", **NO_RULES}


def submit_form(http: HttpClient, page: str, *args: Any, **fields: Any) -> None:
    response = http.post(reverse(f"admin:{page}", args=args), fields)
    assert response.status_code == 302, response.context["errors"]


def read_entries() -> list[tuple[str, str, str, Any]]:
    rows = AuditEntry.objects.order_by("id").values_list("kind", "name", "action", "changes")
    return list(rows)


# The fields of a connection's form that need a value.
CONNECTION = {
    "kind": "http",
    "base_url": "https://billing.example.com",
    "transport": "http",
    "headers": "{}",
    "auth": "none",
    "key_in": "header",
    "subject_as": "none",
}
CONNECTION |= {
    "secrets-TOTAL_FORMS": "0",
    "secrets-INITIAL_FORMS": "0",
    "max_in_flight": "10",
    "max_response_kb": "1000",
    "check_every": "24",
}


def test_connection_changes_are_in_the_history(admin_client: HttpClient) -> None:
    submit_form(admin_client, "registry_connection_add", **CONNECTION | {"name": "billing"})
    row = Connection.objects.get(name="billing")
    submit_form(admin_client, "registry_connection_change", row.pk, **CONNECTION | {"name": "invoices"})
    submit_form(admin_client, "registry_connection_change", row.pk, **CONNECTION | {"name": "invoices"})
    change = reverse("admin:audit_auditentry_change", args=[AuditEntry.objects.latest("id").pk])
    page = admin_client.get(change).content.decode()
    assert "<dt>name</dt>" in page
    assert "<dd><del>billing</del><ins>invoices</ins></dd>" in page  # word by word
    submit_form(admin_client, "registry_connection_delete", row.pk, post="yes")

    added, changed, removed = read_entries()
    assert added[:3] == ("connection", "billing", "added")
    assert added[3].items() >= {"name": [None, "billing"], "kind": [None, "http"]}.items()
    assert changed == ("connection", "invoices", "changed", {"name": ["billing", "invoices"]})
    assert removed[:3] == ("connection", "invoices", "removed")
    assert removed[3].items() >= {"name": ["invoices", None], "kind": ["http", None]}.items()


def test_cohort_changes_are_in_the_history_with_their_rules(admin_client: HttpClient) -> None:
    submit_form(admin_client, "analytics_cohort_add", **COHORT)
    row = Cohort.objects.get()
    rule = {"rules-0-attribute": "environment", "rules-0-trait": "", "rules-0-operator": "in", "rules-0-cohort": row.pk}
    rule |= {"rules-0-values": "dev", "rules-TOTAL_FORMS": "1"}
    submit_form(admin_client, "analytics_cohort_change", row.pk, **{**COHORT, **rule, "percentage": "25"})

    assert read_entries()[1] == (
        "cohort",
        "dev-team",
        "changed",
        {"percentage": [5.0, 25.0], "rules": [[], ["environment is one of dev"]]},
    )
    assert AuditEntry.objects.filter(by="admin").count() == 2


def test_flag_changes_are_in_the_history(admin_client: HttpClient) -> None:
    flag = Flag.objects.get(key=FlagKey.SURFACE)
    submit_form(admin_client, "analytics_flag_change", flag.pk)

    assert read_entries() == [("flag", "Surface", "changed", {"is_on": [True, False]})]


def test_cohorts_are_ordered_on_the_page_of_their_flag(admin_client: HttpClient) -> None:
    cohorts = [Cohort.objects.create(name=name, flag_id=FlagKey.SURFACE, variant="gateway") for name in ("a", "b")]
    address = reverse("admin:analytics_flag_change", args=[FlagKey.SURFACE])

    page = admin_client.get(address).content.decode()
    assert page.index(">a</a>") < page.index(">b</a>")
    ids = [str(cohort.pk) for cohort in reversed(cohorts)]
    assert admin_client.post(address, {"is_on": "on", "cohort": ids}).status_code == 302

    assert [cohort.name for cohort in Cohort.objects.all()] == ["b", "a"]
    assert read_entries() == [("flag", "Surface", "changed", {"cohorts": [["a", "b"], ["b", "a"]]})]
    for wrong in (["x"], ids[:1]):
        assert admin_client.post(address, {"is_on": "on", "cohort": wrong}).status_code == 200
    assert [cohort.name for cohort in Cohort.objects.all()] == ["b", "a"]


@pytest.mark.parametrize("kind", ["cohort", "flag"])
def test_history_of_a_row_lists_only_its_own_changes(admin_client: HttpClient, kind: str) -> None:
    flag, cohort = Flag.objects.get(key=FlagKey.SURFACE), Cohort(name="dev-team", flag_id=FlagKey.SURFACE)
    cohort.variant = "gateway"
    cohort.save()
    submit_form(admin_client, "analytics_cohort_change", cohort.pk, **COHORT | {"percentage": "25"})
    submit_form(admin_client, "analytics_flag_change", flag.pk)
    row = cohort if kind == "cohort" else flag

    response = admin_client.get(reverse(f"admin:analytics_{kind}_history", args=[row.pk]), follow=True)

    assert [(entry.kind, entry.name) for entry in response.context["cl"].result_list] == [(kind, str(row))]


def test_history_of_a_switch_lists_only_its_own_changes(live_catalog: Any, admin_client: HttpClient) -> None:
    for name, is_off in (("onto.task.get", True), ("onto.task.get", False), ("onto.task.list", True)):
        switch_service.set_switch(kind="op", name=name, is_off=is_off, reason="Repair", by="ann", at=timezone.now())
    switch = Switch.objects.get(name="onto.task.get")

    response = admin_client.get(reverse("admin:registry_switch_history", args=[switch.pk]), follow=True)

    assert [entry.name for entry in response.context["cl"].result_list] == ["op onto.task.get"] * 2


def test_rows_of_services_link_to_no_history_except_releases(live_catalog: Any, admin_client: HttpClient) -> None:
    event = OperationEvent.objects.create(time=timezone.now(), type="exec", ok=True, status=200, latency_ms=1)
    rows = [event, Release.objects.get(), Op.objects.first(), Connection.objects.first()]

    has_history_link = {}
    for row in rows:
        address = reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_change", args=[row.pk])
        has_history_link[row._meta.model_name] = (
            f"{address.removesuffix('change/')}history/" in admin_client.get(address).content.decode()
        )

    # This op has no changes yet; its page lists them in a tab of its own.
    assert has_history_link == {"operationevent": False, "release": True, "op": False, "connection": True}


def test_flag_pages_show_master_switch_default_and_cohorts(admin_client: HttpClient) -> None:
    Cohort.objects.create(name="dev-team", flag_id=FlagKey.SURFACE, variant="gateway")

    pages = [reverse("admin:analytics_flag_changelist"), reverse("admin:analytics_flag_change", args=[FlagKey.SURFACE])]

    for page in pages:
        html = admin_client.get(page).content.decode()
        assert [text in html for text in ("AGENTIC_CHAT_TOOL_GATEWAY", "legacy", "1 of 1 on")] == [True] * 3
