"""The rollout as this process knows it: followed in memory, so that no call asks the database for it."""

from collections import defaultdict
from typing import Any

from analytics.rollout.evaluation import Attribute, Cohort, Operator, Rollout, Rule
from analytics.rollout.flags import FlagKey
from analytics.rollout.models import Cohort as CohortRow
from analytics.rollout.models import CohortRule


def current() -> Rollout:
    """Return all flags, at most half a second old; a process that never asked asks now."""
    if _current is None:
        follow()
    return _current or Rollout()


def follow() -> None:
    """Read flags and cohorts, and swap them in where they are others than before. Two queries."""
    global _current, _rows
    rows = _read()
    if _current is None or rows != _rows:
        _rows, _current = rows, made(*rows)


def read() -> Rollout:
    """Return all flags as their rows say them at this moment. Two queries."""
    return made(*_read())


def forget() -> None:
    """Drop what is in memory, as a new process would begin."""
    global _current, _rows
    _current, _rows = None, None


def made(cohorts: list[tuple[Any, ...]], rules: list[tuple[Any, ...]]) -> Rollout:
    """Return the rollout of rows, as `_read` has them."""
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
