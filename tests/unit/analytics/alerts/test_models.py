"""Rules that could never open an alert are refused, and an alert opens once."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from analytics.alerts.metrics import METRICS, AlertMetric
from analytics.alerts.models import Alert, AlertRule

AT = datetime(2026, 3, 2, 12, tzinfo=UTC)


def build_rule(**fields: Any) -> AlertRule:
    values = {"name": "An op fails often", "metric": "failed_calls", "scope": "op", "threshold": 50.0, "min_count": 5}
    return AlertRule(**values | fields)


def build_alert(rule: AlertRule, **fields: Any) -> Alert:
    figures = {"value": 100.0, "count": 5, "worst_value": 100.0, "worst_count": 5}
    return Alert(rule=rule, opened_at=AT, exceeded_at=AT, **figures | fields)


def test_every_metric_is_declared() -> None:
    assert set(METRICS) == set(AlertMetric)
    assert all(declared.scopes for declared in METRICS.values())


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("scope", {"metric": "lost_events", "scope": "op"}),  # no op has lost events
        ("pattern", {"scope": "overall", "pattern": "shop.*"}),  # everything has no name
        ("threshold", {"threshold": 100.0}),  # no share is above 100%
        ("threshold", {"threshold": -1.0}),
        ("minutes", {"minutes": 24 * 60}),  # the events of a day are too many to read each minute
        ("minutes", {"minutes": 0}),
        ("min_count", {"min_count": 0}),
    ],
)
def test_rule_that_could_not_be_checked_is_refused(db: None, field: str, values: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as refusal:
        build_rule(**values).full_clean()

    assert list(refusal.value.error_dict) == [field]


def test_rule_looks_at_names_that_match_its_pattern() -> None:
    assert [build_rule(pattern="shop.*").matches(op) for op in ("shop.order.get", "workshop.list")] == [True, False]
    assert build_rule().matches("anything")


@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("constraint", "values"),
    [
        ("alert_open_once", {}),
        ("alert_silence_has_reason", {"scope_value": "a.b", "silenced_until": AT}),
        ("alert_silence_has_reason", {"scope_value": "a.b", "silence_reason": "known"}),
    ],
)
def test_invalid_alert_violates_a_constraint(db: None, constraint: str, values: dict[str, Any]) -> None:
    rule = build_rule()
    rule.save()
    build_alert(rule).save()

    # SQLite names the columns of a unique index, not the index.
    with pytest.raises(IntegrityError, match=f"{constraint}|UNIQUE"), transaction.atomic():
        build_alert(rule, **values).save()


@pytest.mark.both_databases
def test_alert_opens_again_after_it_closed(db: None) -> None:
    rule = build_rule()
    rule.save()
    build_alert(rule, closed_at=AT).save()

    build_alert(rule).save()

    assert [str(each) for each in rule.alerts.all()] == ["An op fails often"] * 2
