"""Rules, alerts and what closed them, in words."""

import math
from collections.abc import Iterable

from analytics.alerts.decisions import FORGOTTEN_AFTER, Measurement
from analytics.alerts.metrics import HOUR, SLOW_SHARE, AlertMetric, AlertScope, Unit
from analytics.alerts.models import Alert, AlertRule
from analytics.alerts.registry_readers import get_readers

MAX_TITLE_LENGTH = 200  # of an entry of the audit log
SWITCHED_OFF = "The rule was switched off, or no longer looks at this."


def describe_rule(rule: AlertRule) -> str:
    """Return when a rule opens an alert: "More than 50% of at least 5 calls failed in 60 minutes, for each op."."""
    declared, threshold = rule.declaration, format_value(rule, rule.threshold)
    least = f"at least {rule.min_count:,}" if declared.is_share else "all"
    if rule.metric == AlertMetric.SLOW_CALLS:
        sentence = _fill_in(rule, f"more than {SLOW_SHARE:g}%", least)
    elif declared.unit == Unit.COUNT:
        sentence = _fill_in(rule, f"at least {math.floor(rule.threshold) + 1:,}", least, is_one=rule.threshold < 1)
    else:
        sentence = _fill_in(rule, f"more than {threshold}", least)
    names = f" like {rule.pattern}" if rule.pattern else ""
    scope = "" if rule.scope == AlertScope.OVERALL else f", for {AlertScope(rule.scope).label}{names}"
    period = f" in {_format_minutes(rule.minutes)}" if declared.max_minutes else ""
    return f"{sentence[0].upper()}{sentence[1:]}{period}{scope}."


def describe_measurement(rule: AlertRule, measurement: Measurement, *, within: str = "the last ") -> str:
    """Return what was measured: "100% of 5 calls failed in the last 60 minutes."."""
    is_slow = rule.metric == AlertMetric.SLOW_CALLS
    value = _format_share(measurement.value) if is_slow else format_value(rule, measurement.value)
    sentence = _fill_in(rule, value, f"{measurement.count:,}", is_one=measurement.value == 1)
    period = f" in {within}{_format_minutes(rule.minutes)}" if rule.declaration.max_minutes else ""
    return f"{sentence}{period}."


def _fill_in(rule: AlertRule, value: str, count: str, *, is_one: bool = False) -> str:
    """Return the sentence of the metric. `is_one`: the value is a count of one."""
    plural = {"s": "", "es": "", "are": "is"} if is_one else {"s": "s", "es": "es", "are": "are"}
    threshold = format_value(rule, rule.threshold)
    return rule.declaration.sentence.format(value=value, count=count, threshold=threshold, **plural)


def describe_worst(alert: Alert) -> str:
    """Return the worst measurement of an alert, which may be long ago: "100% of 5 calls failed in 60 minutes."."""
    return describe_measurement(alert.rule, Measurement(alert.worst_value, alert.worst_count), within="")


def describe_latest(alert: Alert) -> str:
    """Return the latest measurement of an alert."""
    return describe_measurement(alert.rule, Measurement(alert.value, alert.count))


def describe_closing(rule: AlertRule, measurement: Measurement) -> str:
    """Return why an alert closed."""
    if rule.declaration.is_share and measurement.count < rule.min_count:
        counted = rule.declaration.counted
        return f"For {_format_minutes(int(FORGOTTEN_AFTER.total_seconds()) // 60)} there were too few {counted} to say."
    return describe_measurement(rule, measurement)


def name_alerts(alerts: Iterable[Alert]) -> dict[Alert, str]:
    """Return the title of each alert: its rule, and what it is about. Releases have the names that people read."""
    alerts = list(alerts)
    versions = [alert.scope_value for alert in alerts if alert.rule.scope == AlertScope.RELEASE]
    names = get_readers().name_releases(versions) if versions else {}
    titles = {alert: ": ".join(filter(None, [alert.rule.name, alert.scope_value])) for alert in alerts}
    for alert in alerts:
        if name := names.get(alert.scope_value):
            titles[alert] = f"{alert.rule.name}: {name}"
    return {alert: title[:MAX_TITLE_LENGTH] for alert, title in titles.items()}


def name_alert(alert: Alert) -> str:
    """Return the title of one alert."""
    return name_alerts([alert])[alert]


def format_value(rule: AlertRule, value: float) -> str:
    """Return a value of the rule's metric with its unit."""
    match rule.declaration.unit:
        case Unit.PERCENT:
            return _format_share(value)
        case Unit.MILLISECONDS:
            return f"{value:,.0f} ms"
        case Unit.DOLLARS:
            return f"${value:,.2f}"
        case Unit.COUNT:
            return f"{value:,.0f}"


def _format_share(percent: float) -> str:
    """Return a share with three digits. Only all of them are 100%."""
    return f"{percent if percent >= 100 else min(percent, 99.9):.3g}%"


def _format_minutes(minutes: int) -> str:
    if minutes > HOUR and minutes % HOUR == 0:
        return f"{minutes // HOUR} hours"
    return "minute" if minutes == 1 else f"{minutes:,} minutes"
