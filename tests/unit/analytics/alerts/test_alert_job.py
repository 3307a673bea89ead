"""The job opens an alert once, follows it, closes it by itself, and sends one message for each."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User

from analytics.alerts import alert_job, registry_readers
from analytics.alerts.models import Alert, AlertRule
from analytics.alerts.registry_readers import RegistryReaders
from analytics.events.models import EventLoss
from analytics.turns.models import ToolSelection, Turn
from analytics.turns.prices import ModelPrice
from audit.models import AuditEntry
from notifications.models import Notification
from tests.support.rows.analytics_rows import WriteEvent

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db]

AT = datetime(2026, 3, 2, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def _channels(settings: Any) -> None:
    settings.GATEWAY_SENDS_EMAIL, settings.GATEWAY_NOTIFY_URL = True, "https://hooks.example"
    for role in ("Product manager", "Auditor"):
        person = User.objects.create_user(role, email=f"{role[0]}@example.com".lower(), is_staff=True)
        person.groups.set(Group.objects.filter(name=role))


@pytest.fixture(autouse=True)
def changed_upstream(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    changed: dict[str, int] = {}
    readers = RegistryReaders(
        map_connections=lambda ops: {op: op.partition(".")[0] for op in ops},
        count_changed=lambda: changed,
        name_releases=lambda versions: dict.fromkeys(versions, "r7 Plainer"),
    )
    monkeypatch.setattr(registry_readers, "_readers", readers)
    return changed


def make_rule(**fields: Any) -> AlertRule:
    """Return the only rule that is on."""
    AlertRule.objects.update(is_on=False)
    values = {"name": "Calls fail", "metric": "failed_calls", "scope": "op", "threshold": 50.0, "min_count": 5}
    return AlertRule.objects.create(**values | fields)


def list_open() -> list[tuple[str, float, int]]:
    return list(
        Alert.objects.filter(closed_at=None).order_by("scope_value").values_list("scope_value", "value", "count")
    )


def list_events() -> list[tuple[str, str]]:
    """Return the (event, subject) of each webhook."""
    rows = Notification.objects.filter(channel="webhook").order_by("created_at", "event")
    return list(rows.values_list("event", "subject"))


def test_op_that_fails_five_of_five_does_not_hide_in_an_average(write_event: WriteEvent) -> None:
    make_rule()
    write_event(AT - MINUTE, times=1_000)
    write_event(AT - MINUTE, times=5, op="shop.order.get", code="INTERNAL")

    alert_job.check_alerts(AT)

    assert list_open() == [("shop.order.get", 100.0, 5)]
    assert list_events() == [("alert.opened", "Calls fail: shop.order.get")]
    email = Notification.objects.get(channel="email")
    assert email.recipient == "p@example.com"  # who can silence it
    first, second = email.text.splitlines()
    assert first == "Calls fail: shop.order.get. 100% of 5 calls failed in the last 60 minutes."
    assert second.startswith("What to do: Look at the failed calls.")
    webhook = Notification.objects.get(channel="webhook")
    assert [(each["name"], each["value"]) for each in webhook.details["alerts"]] == [("shop.order.get", 100.0)]


def test_alert_opens_once_follows_its_value_and_closes_by_itself(write_event: WriteEvent) -> None:
    make_rule()
    write_event(AT - 5 * MINUTE, times=5, code="INTERNAL")
    for minute in range(5):
        alert_job.check_alerts(AT + minute * MINUTE)
    assert len(list_events()) == 1

    write_event(AT + 4 * MINUTE, times=2, code="CONFLICT")  # the worst so far is the same share of more calls
    write_event(AT + 5 * MINUTE, times=13)
    for minute in range(5, 16):
        alert_job.check_alerts(AT + minute * MINUTE)

    alert = Alert.objects.get()
    assert (alert.value, alert.count, alert.worst_value, alert.worst_count) == (35.0, 20, 100.0, 5)
    assert (alert.opened_at, alert.closed_at) == (AT, AT + 14 * MINUTE)
    assert list_events() == [
        ("alert.opened", "Calls fail: onto.task.update"),
        ("alert.closed", "Closed: Calls fail: onto.task.update"),
    ]
    assert Notification.objects.filter(channel="email").count() == 1  # closing needs nobody
    entries = AuditEntry.objects.filter(kind="alert").order_by("id").values_list("name", "changes", "note")
    name = "Calls fail: onto.task.update"
    assert list(entries) == [
        (name, {"is_open": [False, True]}, "100% of 5 calls failed in the last 60 minutes."),
        (name, {"is_open": [True, False]}, "35% of 20 calls failed in the last 60 minutes."),
    ]


def test_alert_closes_a_day_after_the_last_call(write_event: WriteEvent) -> None:
    make_rule()
    write_event(AT, times=5, code="INTERNAL")
    for hours in (0, 1, 23):
        alert_job.check_alerts(AT + hours * HOUR)
    assert Alert.objects.get().closed_at is None

    alert_job.check_alerts(AT + 24 * HOUR)

    assert AuditEntry.objects.latest("id").note == "For 24 hours there were too few calls to say."
    assert Alert.objects.get().closed_at == AT + 24 * HOUR


def test_alert_closes_when_its_rule_is_switched_off_or_no_longer_looks_at_it(write_event: WriteEvent) -> None:
    rule = make_rule()
    write_event(AT, times=5, code="INTERNAL")
    write_event(AT, times=5, op="shop.order.get", code="INTERNAL")
    alert_job.check_alerts(AT)
    assert len(list_open()) == 2

    AlertRule.objects.filter(pk=rule.pk).update(pattern="shop.*")
    alert_job.check_alerts(AT + MINUTE)
    assert [name for name, *_ in list_open()] == ["shop.order.get"]

    AlertRule.objects.filter(pk=rule.pk).update(is_on=False)
    alert_job.check_alerts(AT + 2 * MINUTE)
    assert list_open() == []


def test_many_alerts_of_a_rule_make_one_message_and_are_limited(
    write_event: WriteEvent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alert_job, "MAX_OPEN", 30)
    make_rule()
    for number in range(40):
        write_event(AT, times=5 + number % 2, op=f"shop.{number:02}", code="INTERNAL")

    for minute in range(2):
        alert_job.check_alerts(AT + minute * MINUTE)

    assert Alert.objects.count() == 30
    assert list_events() == [("alert.opened", "30 alerts")]
    assert "And 10 more." in Notification.objects.get(channel="webhook").text


def test_alerts_of_several_rules_make_one_message(write_event: WriteEvent) -> None:
    make_rule()
    of_release = AlertRule.objects.create(name="Release fails", metric="failed_calls", scope="release", threshold=50)
    write_event(AT, times=5, code="INTERNAL", release="a" * 64)

    alert_job.check_alerts(AT)

    [message] = Notification.objects.filter(channel="webhook")
    assert message.subject == "2 alerts"
    assert message.text.splitlines()[1] == "Release fails: r7 Plainer. 100% of 5 calls failed in the last 60 minutes."
    assert message.text.count("What to do:") == 1
    assert AuditEntry.objects.filter(name="Release fails: r7 Plainer").exists()
    alert_job.close_alerts(of_release, at=AT + MINUTE)
    assert list_events()[1:] == [("alert.closed", "Closed: Release fails: r7 Plainer")]


def test_rule_without_messages_sends_none(write_event: WriteEvent) -> None:
    make_rule(notify=False)
    write_event(AT, times=5, code="INTERNAL")

    alert_job.check_alerts(AT)

    assert len(list_open()) == 1
    assert not Notification.objects.exists()


def silence(until: datetime) -> None:
    Alert.objects.filter(closed_at=None).update(
        silenced_until=until, silence_reason="The service is being repaired.", silenced_by="ana"
    )


def test_alert_that_nobody_was_told_of_closes_without_a_message(write_event: WriteEvent) -> None:
    make_rule()
    write_event(AT, times=5, code="INTERNAL")
    alert_job.check_alerts(AT)
    silence(AT + 6 * HOUR)
    Alert.objects.update(closed_at=AT + HOUR)
    Notification.objects.all().delete()
    write_event(AT + 2 * HOUR, times=5, code="INTERNAL")

    alert_job.check_alerts(AT + 2 * HOUR)
    assert len(list_open()) == 1
    AlertRule.objects.update(is_on=False)
    alert_job.check_alerts(AT + 2 * HOUR + MINUTE)

    assert not list_open()
    assert list_events() == []


def test_alert_that_opened_silently_is_announced_when_its_silence_is_ended(write_event: WriteEvent) -> None:
    make_rule()
    write_event(AT, times=5, code="INTERNAL")
    alert_job.check_alerts(AT)
    Alert.objects.update(is_announced=False)  # it opened during a silence, which a person has ended
    Notification.objects.all().delete()

    alert_job.check_alerts(AT + MINUTE)
    alert_job.check_alerts(AT + 2 * MINUTE)

    assert [event for event, _ in list_events()] == ["alert.still_open"]


def test_silence_lasts_when_the_alert_opens_again(write_event: WriteEvent) -> None:
    make_rule(minutes=5)
    write_event(AT, times=5, code="INTERNAL")
    alert_job.check_alerts(AT)
    silence(AT + 6 * HOUR)
    write_event(AT + HOUR, times=5)
    alert_job.check_alerts(AT + HOUR)
    assert list_open() == []
    write_event(AT + 2 * HOUR, times=5, code="INTERNAL")

    alert_job.check_alerts(AT + 2 * HOUR)

    assert Alert.objects.get(closed_at=None).silence_reason == "The service is being repaired."
    assert [event for event, _ in list_events()] == ["alert.opened", "alert.closed"]


def test_alert_that_is_open_after_its_silence_sends_a_reminder(write_event: WriteEvent) -> None:
    make_rule()
    write_event(AT, times=5, code="INTERNAL")
    alert_job.check_alerts(AT)
    silence(AT + 30 * MINUTE)

    for minute in (29, 30, 31):
        alert_job.check_alerts(AT + minute * MINUTE)

    assert list_events()[1:] == [("alert.still_open", "Still open: Calls fail: onto.task.update")]
    assert not Alert.objects.get().is_silenced


# --- what is measured -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scope", "names"),
    [
        ("overall", [""]),
        ("op", ["onto.task.update", "shop.order.get"]),
        ("connection", ["onto", "shop"]),
        ("client", ["chat", "mcp"]),
        ("cohort", ["copy-b", "dev"]),
        ("release", ["r1"]),
    ],
)
def test_calls_are_measured_by_scope(write_event: WriteEvent, scope: str, names: list[str]) -> None:
    make_rule(scope=scope, min_count=2, threshold=40.0)
    write_event(AT, times=2, client="chat", cohort="dev copy-b", code="INTERNAL")
    write_event(AT, client="chat", cohort="copy-b", code="INTERNAL")
    write_event(AT, times=2, client="mcp", op="shop.order.get", code="INTERNAL")
    write_event(AT, client="mcp", cohort="dev", op="shop.order.get")

    alert_job.check_alerts(AT)

    assert [name for name, *_ in list_open()] == names


def test_only_calls_of_models_in_the_period_count(write_event: WriteEvent) -> None:
    make_rule(min_count=1, minutes=60)
    write_event(AT - HOUR, code="INTERNAL", op="a.too_old")
    write_event(AT, code="INTERNAL", op="a.tried", source="admin")
    write_event(AT, code="INTERNAL", op="a.loaded", purpose="context")
    write_event(AT, code="INTERNAL", op="a.deferred", reason="confirmation_required")
    write_event(AT, code="NOT_FOUND", op="a.made_up", tool_name="", reason="unknown_op")

    alert_job.check_alerts(AT)

    assert list_open() == []


def test_slow_unknown_and_empty_calls_are_measured(write_event: WriteEvent) -> None:
    slow = make_rule(metric="slow_calls", threshold=1_000.0)
    common = {"threshold": 30.0, "min_count": 5, "scope": "client"}
    unknown = AlertRule.objects.create(name="Unknown", metric="unknown_names", **common)
    empty = AlertRule.objects.create(name="Empty", metric="empty_searches", **common)
    write_event(AT, times=9, client="chat")
    write_event(AT, times=1, client="chat", latency_ms=1_000.1)
    write_event(AT, times=5, client="mcp", code="NOT_FOUND", tool_name="", reason="unknown_op")
    write_event(AT, times=2, client="mcp", type="search", op="", tool_name="", result_count=0)
    write_event(AT, times=3, client="mcp", type="search", op="", tool_name="", result_count=4)

    alert_job.check_alerts(AT)

    alerts = Alert.objects.values_list("rule", "scope_value", "value", "count")
    assert set(alerts) == {
        (slow.pk, "onto.task.update", 10.0, 10),
        (unknown.pk, "mcp", 100.0, 5),
        (empty.pk, "mcp", 40.0, 5),
    }


def test_turns_tokens_and_lost_events_are_measured(settings: Any) -> None:
    settings.GATEWAY_DOLLARS_PER_MILLION_TOKENS = 2
    missed = make_rule(metric="missed_tools", scope="overall", threshold=5.0, min_count=10)
    spending = AlertRule.objects.create(name="Budget", metric="spending", scope="client", threshold=1.0)
    loops = AlertRule.objects.create(name="Loops", metric="loops", scope="client", threshold=5.0)
    lost = AlertRule.objects.create(name="Lost", metric="lost_events", threshold=0.0)
    ToolSelection.objects.bulk_create(
        ToolSelection(time=AT, client="chat", turn=str(number), tokens=100_000, missed=["a"] if number < 2 else [])
        for number in range(10)
    )
    Turn.objects.create(client="chat", turn="1", time=AT, repeats=2, calls=4)
    EventLoss.objects.create(time=AT, count=7)

    alert_job.check_alerts(AT)

    alerts = Alert.objects.values_list("rule", "scope_value", "value", "count")
    assert {(rule, name, round(value, 9), count) for rule, name, value, count in alerts} == {
        (missed.pk, "", 20.0, 10),
        (spending.pk, "chat", 2.0, 10),
        (loops.pk, "chat", 100.0, 1),
        (lost.pk, "", 7.0, 7),
    }


def test_spending_uses_the_price_of_each_model_family(settings: Any) -> None:
    settings.GATEWAY_DOLLARS_PER_MILLION_TOKENS = 2
    ModelPrice.objects.create(family="large", dollars_per_million=30)
    AlertRule.objects.create(name="Budget", metric="spending", threshold=1.0)
    for model, tokens in (("large", 100_000), ("small", 500_000), ("small", None)):
        ToolSelection.objects.create(time=AT, client="chat", turn=f"{model}{tokens}", model=model, tokens=tokens)

    alert_job.check_alerts(AT)

    assert [(each.value, each.count) for each in Alert.objects.all()] == [(4.0, 3)]


def test_changed_upstream_is_open_until_it_is_approved(changed_upstream: dict[str, int]) -> None:
    make_rule(metric="changed_upstream", scope="connection", threshold=0.0)
    changed_upstream["pets"] = 3
    alert_job.check_alerts(AT)
    assert list_open() == [("pets", 3.0, 3)]

    changed_upstream.clear()
    alert_job.check_alerts(AT + 10 * MINUTE)

    assert list_open() == []


def test_check_takes_few_statements(write_event: WriteEvent, django_assert_max_num_queries: Any) -> None:
    AlertRule.objects.update(is_on=True)
    write_event(AT, times=3)

    # Rules, open alerts, a transaction, three of locks, and one a table and period.
    with django_assert_max_num_queries(16):
        alert_job.check_alerts(AT)
