"""An alert opens above its threshold, closes clearly below it, and does not flap in between."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.alerts.decisions import (
    CLEAR_AFTER,
    CLEAR_SHARE,
    FORGOTTEN_AFTER,
    AlertStep,
    Measurement,
    choose_step,
)
from analytics.alerts.models import AlertRule

AT = datetime(2026, 3, 2, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
OPEN, EXCEED, STAY, CLOSE = AlertStep.OPEN, AlertStep.EXCEED, AlertStep.STAY, AlertStep.CLOSE


def build_rule(**fields: Any) -> AlertRule:
    return AlertRule(**{"metric": "failed_calls", "scope": "op", "threshold": 50.0, "min_count": 5} | fields)


@pytest.mark.parametrize(
    ("value", "count", "step"),
    [
        (100.0, 5, OPEN),  # 5 of 5
        (50.0, 10, STAY),  # not more than the threshold
        (50.1, 1_000, OPEN),
        (100.0, 4, STAY),  # too few to say
        (0.0, 0, STAY),
    ],
)
def test_alert_opens_above_the_threshold(value: float, count: int, step: AlertStep) -> None:
    assert choose_step(build_rule(), Measurement(value, count), exceeded_at=None, at=AT) == step


@pytest.mark.parametrize(
    ("value", "count", "since", "step"),
    [
        (60.0, 5, MINUTE, EXCEED),
        (45.0, 20, 30 * MINUTE, STAY),  # below, but not clearly
        (40.0, 20, 9 * MINUTE, STAY),  # clearly below, but not for long
        (40.0, 20, CLEAR_AFTER, CLOSE),
        (0.0, 4, 60 * MINUTE, STAY),  # too few calls to say that it is over
        (0.0, 0, FORGOTTEN_AFTER, CLOSE),  # nobody calls it any more
        (45.0, 20, FORGOTTEN_AFTER, CLOSE),
    ],
)
def test_open_alert_closes_when_it_is_clearly_over(value: float, count: int, since: timedelta, step: AlertStep) -> None:
    assert choose_step(build_rule(), Measurement(value, count), exceeded_at=AT - since, at=AT) == step


def test_count_needs_no_minimum() -> None:
    rule = build_rule(metric="lost_events", scope="overall", threshold=0.0)

    assert choose_step(rule, Measurement(1.0, 1), exceeded_at=None, at=AT) == OPEN
    assert choose_step(rule, Measurement(0.0, 0), exceeded_at=AT - CLEAR_AFTER, at=AT) == CLOSE


def test_slow_calls_are_compared_with_a_share_of_them() -> None:
    rule = build_rule(metric="slow_calls", threshold=2_000.0)

    assert choose_step(rule, Measurement(5.1, 100), exceeded_at=None, at=AT) == OPEN
    assert choose_step(rule, Measurement(5.0, 100), exceeded_at=None, at=AT) == STAY


measurements = st.builds(Measurement, st.floats(0, 100), st.integers(0, 40))


@given(st.lists(measurements, max_size=200))
def test_alert_does_not_flap(series: list[Measurement]) -> None:
    """Whatever is measured each minute, an alert stays open for ten minutes, and closes only when it is over."""
    rule, exceeded_at, opened_at = build_rule(), None, None
    for minute, measurement in enumerate(series):
        at = AT + minute * MINUTE
        step = choose_step(rule, measurement, exceeded_at=exceeded_at, at=at)
        if step == OPEN:
            assert exceeded_at is None
            assert measurement.value > rule.threshold
            opened_at = at
        if step in (OPEN, EXCEED):
            exceeded_at = at
        if step == CLOSE:
            assert opened_at is not None
            assert at - opened_at >= CLEAR_AFTER
            assert measurement.value <= rule.threshold * CLEAR_SHARE
            exceeded_at = None


@given(st.lists(st.sampled_from([41.0, 49.0, 51.0, 60.0]), min_size=1, max_size=200))
def test_value_near_the_threshold_opens_an_alert_once(values: list[float]) -> None:
    rule, exceeded_at, steps = build_rule(), None, []
    for minute, value in enumerate(values):
        at = AT + minute * MINUTE
        steps.append(choose_step(rule, Measurement(value, 20), exceeded_at=exceeded_at, at=at))
        exceeded_at = at if steps[-1] in (OPEN, EXCEED) else exceeded_at

    assert steps.count(OPEN) <= 1
    assert CLOSE not in steps
