"""Rules, alerts and what closed them, in words."""

from analytics.alerts.decisions import FORGOTTEN_AFTER, Measurement
from analytics.alerts.metrics import HOUR, AlertMetric, AlertScope, Unit
from analytics.alerts.models import Alert, AlertRule

SWITCHED_OFF = "The rule was switched off, or no longer looks at this."


def describe_rule(rule: AlertRule) -> str:
    """Return when a rule opens an alert: "50% of at least 5 calls failed in 60 minutes, for each op"."""
    declared, threshold = rule.declaration, format_value(rule, rule.threshold)
    value = "more than 5%" if rule.metric == AlertMetric.SLOW_CALLS else f"more than {threshold}"
    count = f"at least {rule.min_count:,}" if declared.is_share else "all"
    condition = declared.sentence.format(value=value, count=count, threshold=threshold)
    period = f" in {_format_minutes(rule.minutes)}" if declared.max_minutes else ""
    names = f" like {rule.pattern}" if rule.pattern else ""
    scope = "" if rule.scope == AlertScope.OVERALL else f", for {AlertScope(rule.scope).label}{names}"
    return f"{condition[0].upper()}{condition[1:]}{period}{scope}."


def describe_measurement(rule: AlertRule, measurement: Measurement) -> str:
    """Return what was measured: "100% of 5 calls failed in the last 60 minutes."."""
    is_slow = rule.metric == AlertMetric.SLOW_CALLS
    sentence = rule.declaration.sentence.format(
        value=f"{measurement.value:.3g}%" if is_slow else format_value(rule, measurement.value),
        count=f"{measurement.count:,}",
        threshold=format_value(rule, rule.threshold),
    )
    period = f" in the last {_format_minutes(rule.minutes)}" if rule.declaration.max_minutes else ""
    return f"{sentence}{period}."


def describe_worst(alert: Alert) -> str:
    """Return the worst measurement of an alert."""
    return describe_measurement(alert.rule, Measurement(alert.worst_value, alert.worst_count))


def describe_latest(alert: Alert) -> str:
    """Return the latest measurement of an alert."""
    return describe_measurement(alert.rule, Measurement(alert.value, alert.count))


def describe_closing(rule: AlertRule, measurement: Measurement) -> str:
    """Return why an alert closed."""
    if rule.declaration.is_share and measurement.count < rule.min_count:
        counted = rule.declaration.counted
        return f"For {_format_minutes(int(FORGOTTEN_AFTER.total_seconds()) // 60)} there were too few {counted} to say."
    return describe_measurement(rule, measurement)


def format_value(rule: AlertRule, value: float) -> str:
    """Return a value of the rule's metric with its unit."""
    match rule.declaration.unit:
        case Unit.PERCENT:
            return f"{value:.3g}%"
        case Unit.MILLISECONDS:
            return f"{value:,.0f} ms"
        case Unit.DOLLARS:
            return f"${value:,.2f}"
        case Unit.COUNT:
            return f"{value:,.0f}"


def _format_minutes(minutes: int) -> str:
    if minutes > HOUR and minutes % HOUR == 0:
        return f"{minutes // HOUR} hours"
    return "minute" if minutes == 1 else f"{minutes:,} minutes"
