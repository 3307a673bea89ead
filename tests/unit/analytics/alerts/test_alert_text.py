"""Rules and measurements in words."""

import pytest

from analytics.alerts import alert_text
from analytics.alerts.decisions import Measurement
from analytics.alerts.default_rules import build_default_rules
from analytics.alerts.models import AlertRule

RULES = {rule.key: rule for rule in build_default_rules()}


@pytest.mark.parametrize(
    ("key", "condition", "measurement", "sentence"),
    [
        (
            "op_fails",
            "More than 60% of at least 5 calls failed in 60 minutes, for each op.",
            Measurement(99.97, 10_000),
            "99.9% of 10,000 calls failed in the last 60 minutes.",
        ),
        (
            "op_slow",
            "More than 5% of at least 20 calls took longer than 5,000 ms in 60 minutes, for each op.",
            Measurement(12.5, 40),
            "12.5% of 40 calls took longer than 5,000 ms in the last 60 minutes.",
        ),
        (
            "spending",
            "More than $100.00 were spent on the tokens of all reported turns in 24 hours.",
            Measurement(120.5, 900),
            "$120.50 were spent on the tokens of 900 reported turns in the last 24 hours.",
        ),
        (
            "lost_events",
            "At least 1 operation event could not be written in 60 minutes.",
            Measurement(7, 7),
            "7 operation events could not be written in the last 60 minutes.",
        ),
        (
            "locked_sign_ins",
            "At least 1 account or address is locked after wrong passwords.",
            Measurement(1, 0),
            "1 account or address is locked after wrong passwords.",
        ),
    ],
)
def test_rule_says_its_condition_and_what_was_measured(
    key: str, condition: str, measurement: Measurement, sentence: str
) -> None:
    assert alert_text.describe_rule(RULES[key]) == condition
    assert alert_text.describe_measurement(RULES[key], measurement) == sentence


def test_shipped_rules_are_valid(db: None) -> None:
    AlertRule.objects.all().delete()
    for rule in RULES.values():
        rule.full_clean()
