"""In-memory cache of the rollout, refreshed by the poller, so that calls need no query."""

from collections import defaultdict
from typing import Any

from analytics.rollout.evaluation import Attribute, Cohort, Operator, Rollout, Rule
from analytics.rollout.flags import FlagKey
from analytics.rollout.models import Cohort as CohortRow
from analytics.rollout.models import CohortRule


def current() -> Rollout:
    """Return all flags, at most half a second old. Loads them on first use."""
    if _current is None:
        follow()
    return _current or Rollout()


def follow() -> None:
    """Load flags and cohorts with two queries, and swap them in if they changed."""
    global _current, _rows
    rows = _read()
    if _current is None or rows != _rows:
        _rows, _current = rows, made(*rows)


def read() -> Rollout:
    """Return all flags from the database, with two queries."""
    return made(*_read())


def forget() -> None:
    """Clear the cache, for tests."""
    global _current, _rows
    _current, _rows = None, None


def made(cohorts: list[tuple[Any, ...]], rules: list[tuple[Any, ...]]) -> Rollout:
    """Build a rollout from tuples in the shape that `_load_rows` returns."""
    held: dict[int, list[Rule]] = defaultdict(list)
    for cohort, attribute, trait, operator, values in rules:
        held[cohort].append(Rule(Attribute(attribute), Operator(operator), tuple(values), trait))
    found: dict[FlagKey, list[Cohort]] = defaultdict(list)
    for pk, flag, name, variant, salt, percentage, listed in cohorts:
        parts = int(percentage * 100)
        found[FlagKey(flag)].append(Cohort(name, variant, salt, parts, tuple(held[pk]), frozenset(listed)))
    return Rollout(dict(found))


def _read() -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    on = CohortRow.objects.filter(is_on=True, flag__is_on=True, flag__in=list(FlagKey))
    cohorts = on.values_list("pk", "flag_id", "name", "variant", "salt", "percentage", "listed")
    rules = CohortRule.objects.filter(cohort__is_on=True)
    return list(cohorts), list(rules.values_list("cohort_id", "attribute", "trait", "operator", "values"))


_current: Rollout | None = None
_rows: tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]] | None = None
