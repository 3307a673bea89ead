"""The page of alerts says what happened and what to do, and silences an alert with a reason."""

from collections import Counter
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client as HttpClient
from django.urls import reverse
from django.utils import timezone

from analytics.alerts.metrics import AlertMetric
from analytics.alerts.models import Alert, AlertRule
from audit.models import AuditEntry
from console.home import alert_rules, alerts
from registry.models import Connection
from tests.support.console.admin_pages import read, read_text
from tests.support.console.staff import sign_in

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


def open_alert(scope_value: str = "shop.order.get", *, rule: str = "An op fails", **fields: Any) -> Alert:
    at = timezone.now()
    figures = {"value": 62.5, "count": 8, "worst_value": 100.0, "worst_count": 5}
    times = {"opened_at": at - HOUR, "exceeded_at": at}
    rule_row = AlertRule.objects.get(name=rule)
    return Alert.objects.create(rule=rule_row, scope_value=scope_value, **times, **figures | fields)


def test_page_says_what_happened_and_what_to_do(admin_client: HttpClient) -> None:
    AlertRule.objects.filter(name="An op fails").update(note="Call the shop team.")
    open_alert()

    text = read_text(admin_client.get(reverse("admin:alerts")))

    assert "An op fails: shop." in text
    assert "62.5% of 8 calls failed in the last 60 minutes. At worst: 100% of 5 calls failed in 60 minutes." in text
    assert "</strong> Look at the failed calls." in text
    assert "Call the shop team." in text


def test_page_says_once_what_is_as_bad_as_at_worst(admin_client: HttpClient) -> None:
    open_alert(value=100.0, count=70)

    assert "At worst: " not in read_text(admin_client.get(reverse("admin:alerts")))


def test_home_shows_open_alerts_first_and_none_in_a_line(admin_client: HttpClient) -> None:
    assert "No open alerts." in read_text(admin_client.get(reverse("admin:index")))

    alert = open_alert()

    page = read(admin_client.get(reverse("admin:index")))
    assert f"{reverse('admin:alerts')}#alert-{alert.pk}" in page
    assert page.index("An op fails: shop") < page.index("Unpublished changes")


def test_alert_links_to_the_rows_behind_it(admin_client: HttpClient) -> None:
    """Each metric and scope has a list that exists and accepts the filters."""
    Connection.objects.create(name="pets", kind="http", base_url="https://pets.example.com")
    values = {"client": "chat", "cohort": "dev-team", "op": "shop.order.get", "connection": "pets", "release": "a" * 64}
    for rule in AlertRule.objects.all():
        alert = open_alert(values.get(rule.scope, ""), rule=rule.name)
        [shown] = alerts.describe_alerts([alert], timezone.now())
        assert shown.link, rule
        response = admin_client.get(shown.link)
        assert response.status_code == 200, (rule, shown.link)
    assert {rule.metric for rule in AlertRule.objects.all()} == set(AlertMetric)


def test_link_covers_the_calls_that_opened_the_alert() -> None:
    alert = open_alert()

    [shown] = alerts.describe_alerts([alert], timezone.now())

    query = parse_qs(urlsplit(shown.link).query)
    assert query["op__exact"] == ["shop.order.get"]
    assert query["counted_as"] == ["failed"]
    assert query["time__gte"] == [(alert.opened_at - HOUR).isoformat()]


def test_alert_is_silenced_with_a_reason_until_a_time(admin_client: HttpClient) -> None:
    alert = open_alert()
    address = reverse("admin:alert_silence", args=[alert.pk])

    admin_client.post(address, {"minutes": "60", "reason": ""})
    alert.refresh_from_db()
    assert not alert.is_silenced

    page = read_text(admin_client.post(address, {"minutes": "60", "reason": "The shop is repaired."}, follow=True))

    alert.refresh_from_db()
    assert alert.silenced_until is not None
    assert timedelta(minutes=59) < alert.silenced_until - timezone.now() <= HOUR
    assert (alert.silence_reason, alert.silenced_by) == ("The shop is repaired.", "admin")
    assert "Nothing needs attention: 1 open alert is silenced." in page
    assert "No open alerts, except for 1 silenced." in read_text(admin_client.get(reverse("admin:index")))
    entry = AuditEntry.objects.get(kind="alert")
    assert (entry.name, entry.by, entry.note) == ("An op fails: shop.order.get", "admin", "The shop is repaired.")

    admin_client.post(address, {"end": "1"})
    alert.refresh_from_db()
    assert not alert.is_silenced


def test_alert_that_closed_cannot_be_silenced(admin_client: HttpClient) -> None:
    alert = open_alert(closed_at=timezone.now())
    address = reverse("admin:alert_silence", args=[alert.pk])

    page = read_text(admin_client.post(address, {"minutes": "60", "reason": "Known"}, follow=True))

    assert "has closed in the meantime" in page
    assert "Closed in the last 7 days" in page


def test_editor_sees_alerts_but_cannot_silence_them() -> None:
    alert = open_alert()
    editor = sign_in("ed", role="Editor")

    assert "Silence" not in read(editor.get(reverse("admin:alerts")))
    address = reverse("admin:alert_silence", args=[alert.pk])
    assert editor.post(address, {"minutes": "60", "reason": "Known"}).status_code == 403


# --- rules ------------------------------------------------------------------------------------------------------------

NEW_RULE = {"name": "Shop fails", "metric": "failed_calls", "scope": "op", "pattern": "shop.*", "threshold": "20"}
NEW_RULE |= {"minutes": "30", "min_count": "5", "is_on": "on", "notify": "on", "note": ""}


def test_rule_is_added_changed_and_audited(admin_client: HttpClient) -> None:
    admin_client.post(reverse("admin:analytics_alertrule_add"), NEW_RULE)
    rule = AlertRule.objects.get(name="Shop fails")
    admin_client.post(reverse("admin:analytics_alertrule_change", args=[rule.pk]), NEW_RULE | {"threshold": "30"})

    entries = AuditEntry.objects.filter(kind="alert_rule").order_by("id")
    assert [entry.action for entry in entries] == ["added", "changed"]
    assert entries[1].changes == {"threshold": [20.0, 30.0]}
    page = read_text(admin_client.get(reverse("admin:analytics_alertrule_changelist")))
    assert "More than 30% of at least 5 calls failed in 30 minutes, for each op like shop.*." in page


def test_rule_that_can_never_open_is_refused_with_a_sentence(admin_client: HttpClient) -> None:
    page = read(admin_client.post(reverse("admin:analytics_alertrule_add"), NEW_RULE | {"metric": "lost_events"}))

    assert "Lost events can be watched for everything together." in page


def test_shipped_rule_cannot_be_deleted(admin_client: HttpClient) -> None:
    shipped = AlertRule.objects.get(name="An op fails")
    own = AlertRule.objects.create(name="Shop fails", metric="failed_calls", threshold=20)

    responses = [
        admin_client.post(reverse("admin:analytics_alertrule_delete", args=[each.pk]), {"post": "yes"})
        for each in (shipped, own)
    ]

    assert [response.status_code for response in responses] == [403, 302]
    assert AlertRule.objects.filter(pk=shipped.pk).exists()


def test_form_has_only_what_matters_for_the_metric(admin_client: HttpClient) -> None:
    pages = {
        name: read(
            admin_client.get(reverse("admin:analytics_alertrule_change", args=[AlertRule.objects.get(key=name).pk]))
        )
        for name in ("op_fails", "locked_sign_ins")
    }

    assert "Percent of them." in pages["op_fails"]
    assert 'value="60"' in pages["op_fails"]
    fields = ("pattern", "minutes", "min_count")
    assert all(f'name="{field}"' in pages["op_fails"] for field in fields)
    assert not any(f'name="{field}"' in pages["locked_sign_ins"] for field in fields)


def test_form_shows_how_often_a_rule_would_have_opened(
    admin_client: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    openings = Counter({"shop.order.get": 3, "shop.cart.add": 1})
    since = timezone.now() - timedelta(days=7)
    result = alert_rules.RulePreview(since, openings)
    monkeypatch.setattr(alert_rules.preview, "preview_rule", lambda _, **__: result)
    address = reverse("admin:analytics_alertrule_add_openings")

    text = read_text(admin_client.post(address, NEW_RULE))

    assert "More than 20% of at least 5 calls failed in 30 minutes, for each op like shop.*." in text
    assert "Would have opened 4 alerts in the last 7 days." in text
    assert "shop.order.get: 3" in text
    assert "Fill in the form" in read_text(admin_client.post(address, NEW_RULE | {"threshold": ""}))
