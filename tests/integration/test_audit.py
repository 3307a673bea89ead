"""The history of what is no copy: connections, flags and cohorts, as the admin changes them."""

from typing import Any

import pytest
from django.test import Client as HttpClient
from django.urls import reverse

from analytics.models import AuditEntry, Cohort, Flag
from analytics.rollout.flags import FlagKey
from registry.models import Connection

pytestmark = pytest.mark.django_db

NO_RULES = {"rules-TOTAL_FORMS": "0", "rules-INITIAL_FORMS": "0"}
COHORT = {"name": "dev-team", "flag": FlagKey.SURFACE, "position": 0, "is_on": "on", "variant": "gateway"}
COHORT |= {"percentage": "5", "listed": "[]", "note": "", **NO_RULES}


def send(http: HttpClient, page: str, *args: Any, **fields: Any) -> None:
    answer = http.post(reverse(f"admin:{page}", args=args), fields)
    assert answer.status_code == 302, answer.content.decode()


def entries() -> list[tuple[str, str, str, Any]]:
    found = AuditEntry.objects.order_by("id").values_list("kind", "name", "action", "changes")
    return list(found)


def test_connections_are_in_the_history(admin_client: HttpClient) -> None:
    send(admin_client, "registry_connection_add", name="billing", kind="embedded")
    made = Connection.objects.get(name="billing")
    send(admin_client, "registry_connection_change", made.pk, name="invoices", kind="embedded")
    send(admin_client, "registry_connection_change", made.pk, name="invoices", kind="embedded")
    send(admin_client, "registry_connection_delete", made.pk, post="yes")

    assert entries() == [
        ("connection", "billing", "added", {"name": [None, "billing"], "kind": [None, "embedded"]}),
        ("connection", "invoices", "changed", {"name": ["billing", "invoices"]}),
        ("connection", "invoices", "removed", {"name": ["invoices", None], "kind": ["embedded", None]}),
    ]


def test_cohorts_are_in_the_history_with_their_rules(admin_client: HttpClient) -> None:
    send(admin_client, "analytics_cohort_add", **COHORT)
    made = Cohort.objects.get()
    rule = {
        "rules-0-attribute": "environment",
        "rules-0-trait": "",
        "rules-0-operator": "in",
        "rules-0-cohort": made.pk,
    }
    rule |= {"rules-0-values": '["dev"]', "rules-TOTAL_FORMS": "1"}
    send(admin_client, "analytics_cohort_change", made.pk, **{**COHORT, **rule, "percentage": "25"})

    assert entries()[1] == (
        *("cohort", "dev-team", "changed"),
        {"percentage": [5.0, 25.0], "rules": [[], ["environment is one of dev"]]},
    )
    assert AuditEntry.objects.filter(by="admin").count() == 2


def test_flags_are_in_the_history(admin_client: HttpClient) -> None:
    flag = Flag.objects.get(key=FlagKey.SURFACE)
    send(admin_client, "analytics_flag_change", flag.pk)

    assert entries() == [("flag", "Surface", "changed", {"is_on": [True, False]})]
