"""The shipped rules. `migrate` adds those that are missing; admins can edit them and switch them off."""

from functools import partial

from analytics.alerts.metrics import DAY, HOUR, AlertMetric, AlertScope
from analytics.alerts.models import AlertRule


def build_default_rules() -> list[AlertRule]:
    """Return the shipped rules, unsaved."""
    fails = partial(AlertRule, metric=AlertMetric.FAILED_CALLS, threshold=40.0, min_count=20)
    of_clients = partial(AlertRule, scope=AlertScope.CLIENT, threshold=20.0, min_count=20)
    searches = {"metric": AlertMetric.EMPTY_SEARCHES, "threshold": 30.0, "min_count": 20}
    tools = {"metric": AlertMetric.MISSED_TOOLS, "minutes": DAY, "threshold": 5.0, "min_count": 100}
    spending = {"metric": AlertMetric.SPENDING, "minutes": DAY, "threshold": 100.0}
    slow = {"metric": AlertMetric.SLOW_CALLS, "threshold": 5_000.0, "min_count": 20}
    return [
        # Few calls are enough: an op that fails five times of five would hide in an average.
        fails(key="op_fails", name="An op fails", scope=AlertScope.OP, threshold=60.0, min_count=5),
        fails(key="connection_fails", name="A connection fails", scope=AlertScope.CONNECTION, minutes=HOUR // 2),
        fails(key="client_fails", name="Calls of a client fail", scope=AlertScope.CLIENT),
        fails(key="cohort_fails", name="Calls of a cohort fail", scope=AlertScope.COHORT),
        fails(key="release_fails", name="Calls of a release fail", scope=AlertScope.RELEASE),
        AlertRule(key="op_slow", name="An op is slow", scope=AlertScope.OP, **slow),
        of_clients(key="unknown_names", name="A client calls unknown names", metric=AlertMetric.UNKNOWN_NAMES),
        of_clients(key="loops", name="Turns of a client loop", metric=AlertMetric.LOOPS, minutes=6 * HOUR),
        AlertRule(key="empty_searches", name="Searches find nothing", **searches),
        AlertRule(key="missed_tools", name="Turns miss a tool", **tools),
        AlertRule(key="lost_events", name="Events are lost", metric=AlertMetric.LOST_EVENTS, threshold=0.0),
        AlertRule(
            key="changed_upstream",
            name="A service changed",
            metric=AlertMetric.CHANGED_UPSTREAM,
            scope=AlertScope.CONNECTION,
            threshold=0.0,
        ),
        AlertRule(key="locked_sign_ins", name="Sign-in is locked", metric=AlertMetric.LOCKED_SIGN_INS, threshold=0.0),
        # Off: only a team knows its budget.
        AlertRule(key="spending", name="Tokens exceed the budget of a day", is_on=False, **spending),
    ]


def add_missing_rules(using: str) -> None:
    """Add the shipped rules that a database lacks."""
    AlertRule.objects.using(using).bulk_create(build_default_rules(), ignore_conflicts=True)
