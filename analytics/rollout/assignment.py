"""In-memory cache of the rollout, refreshed by the poller, so that calls need no query."""

from collections import defaultdict
from typing import Any

from django.db.models import QuerySet

from analytics.flags import FlagKey
from analytics.rollout.evaluation import Attribute, CohortDefinition, Operator, Rollout, TargetingRule
from analytics.rollout.models import Cohort as CohortRow
from analytics.rollout.models import CohortRule
from core.background.poller import PolledQuery, Row


def get_current_rollout() -> Rollout:
    """Return all flags, at most half a second old. Loads them on first use."""
    if _current is None:
        refresh_rollout()
    return _current or Rollout()


def refresh_rollout() -> None:
    """Swap in flags and cohorts if they changed. Two queries, and two more if they did."""
    global _current, _rows
    rows = _cohort_query.fetch_rows(), _rule_query.fetch_rows()
    if _current is None or rows != _rows:
        _rows, _current = (
            rows,
            load_rollout(),
        )  # read after `rows`: a change in between is loaded again at the next poll


def load_rollout() -> Rollout:
    """Return all flags from the database, with two queries."""
    return build_rollout(list(_query_cohorts()), list(_query_rules()))


def clear_rollout() -> None:
    """Clear the cache, for tests."""
    global _current, _rows
    _current, _rows = None, None


def build_rollout(cohorts: list[tuple[Any, ...]], rules: list[tuple[Any, ...]]) -> Rollout:
    """Build a rollout from tuples in the shape that `load` reads."""
    rules_by_cohort: dict[int, list[TargetingRule]] = defaultdict(list)
    for cohort, attribute, trait, operator, values in rules:
        rules_by_cohort[cohort].append(TargetingRule(Attribute(attribute), Operator(operator), tuple(values), trait))
    cohorts_by_flag: dict[FlagKey, list[CohortDefinition]] = defaultdict(list)
    for pk, flag, name, variant, salt, percentage, listed in cohorts:
        parts = int(percentage * 100)
        cohorts_by_flag[FlagKey(flag)].append(
            CohortDefinition(name, variant, salt, parts, tuple(rules_by_cohort[pk]), frozenset(listed))
        )
    return Rollout(dict(cohorts_by_flag))


def _query_cohorts() -> QuerySet[CohortRow, Row]:
    active = CohortRow.objects.filter(is_on=True, flag__is_on=True, flag__in=list(FlagKey))
    return active.values_list("pk", "flag_id", "name", "variant", "salt", "percentage", "listed")


def _query_rules() -> QuerySet[CohortRule, Row]:
    rules = CohortRule.objects.filter(cohort__is_on=True)
    return rules.values_list("cohort_id", "attribute", "trait", "operator", "values")


_current: Rollout | None = None
_rows: tuple[list[Row], list[Row]] | None = None  # as the database returned them, to see whether they changed
_cohort_query, _rule_query = PolledQuery(_query_cohorts), PolledQuery(_query_rules)
