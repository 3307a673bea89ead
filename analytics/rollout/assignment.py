"""Which surface and release a subject gets, decided from memory: the poller refreshes the rollout of each process."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from threading import Lock
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from analytics.flags import LIVE, FlagKey, Surface
from analytics.rollout import evaluation, exposures
from analytics.rollout.evaluation import (
    Attribute,
    CohortDefinition,
    EvaluationContext,
    EvaluationDetails,
    Operator,
    Reason,
    Rollout,
    TargetingRule,
)
from analytics.rollout.models import Cohort as CohortRow
from analytics.rollout.models import CohortRule
from core.background.poller import PolledQuery, Row


def set_release_check(check: Callable[[str], bool]) -> None:
    """Set the function that says whether a release can be served. Releases are above this app."""
    global _is_servable
    _is_servable = check


def is_servable(version: str) -> bool:
    """Return whether a release can be served: it exists, and was not withdrawn."""
    return _is_servable(version)


def evaluate_flag(flag: FlagKey, facts: EvaluationContext) -> EvaluationDetails:
    """Evaluate a flag. Falls back to the live release if the pinned one was withdrawn.

    Queries only for a release that is not in memory yet.
    """
    is_on = flag != FlagKey.SURFACE or settings.AGENTIC_CHAT_TOOL_GATEWAY
    outcome = get_current_rollout().evaluate(flag, facts, is_on=is_on)
    if flag == FlagKey.RELEASE and outcome.variant != LIVE and not _is_servable(outcome.variant):
        return EvaluationDetails(flag, LIVE, "", Reason.DEFAULT)
    return outcome


@dataclass(frozen=True, slots=True)
class Routing:
    """The surface and release that serve a caller, and the cohorts that decided."""

    surface: str = Surface.LEGACY
    release: str = ""  # version; empty: the live release
    cohort: str = ""  # the cohorts that decided, in the form of operation events
    native_format: str = ""  # on the native surface: the format of the tools that a search loads
    own_tools: tuple[
        str, ...
    ] = ()  # on the hybrid surface: paths of the ops that a toolset showed as tools of their own


DEFAULT_ROUTING = Routing()


def evaluate_flags(evaluation_context: EvaluationContext) -> tuple[Routing, list[EvaluationDetails]]:
    """Evaluate the surface and release flags. Queries only for a release that is not in memory.

    Returns the result and the outcome of each flag.
    """
    exposures.record_context(evaluation_context, timezone.now())
    outcomes = [evaluate_flag(flag, evaluation_context) for flag in (FlagKey.SURFACE, FlagKey.RELEASE)]
    surface, release = outcomes
    version = "" if release.variant == LIVE else release.variant
    return Routing(surface.variant, version, evaluation.join_cohort_names(outcomes)), outcomes


def route_by_flags(
    subject: str, get_evaluation_context: Callable[[], EvaluationContext], *, source: str, at: datetime
) -> Routing:
    """Return the surface and release of a call without a toolset, and record an exposure if a cohort chose the release.

    `source` names the key that names the subject.

    The evaluation context is built only if needed. Most calls need none: there is no cohort, and the subject was seen
    recently.
    """
    if not get_current_rollout().cohorts:
        if exposures.is_due(subject, at):
            exposures.record_context(get_evaluation_context(), at)
        return DEFAULT_ROUTING
    routing, (_, release) = evaluate_flags(get_evaluation_context())
    if release.cohort:
        exposures.record_exposures([release], subject=subject, source=source, at=at)
    return routing


def get_current_rollout() -> Rollout:
    """Return all flags, at most half a second old. Loads them on first use."""
    if _current is None:
        refresh_rollout()
    return _current or Rollout()


def refresh_rollout() -> None:
    """Reload flags and cohorts if they changed. Two queries, and two more if they did."""
    global _current, _rows
    with _refreshing:
        rows = _cohort_query.fetch_rows(), _rule_query.fetch_rows()
        if _current is None or rows != _rows:
            # Read after `rows`: a change in between changes the state version as well, and is loaded at the next poll.
            _rows, _current = rows, load_rollout()


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
    for pk, flag, name, variant, salt, percentage, listed, first_bucket in cohorts:
        parts = int(percentage * 100)
        cohorts_by_flag[FlagKey(flag)].append(
            CohortDefinition(name, variant, salt, parts, tuple(rules_by_cohort[pk]), frozenset(listed), first_bucket)
        )
    return Rollout(dict(cohorts_by_flag))


def _query_cohorts() -> QuerySet[CohortRow, Row]:
    active = CohortRow.objects.filter(is_on=True, flag__is_on=True, flag__in=list(FlagKey))
    return active.values_list("pk", "flag_id", "name", "variant", "salt", "percentage", "listed", "first_bucket")


def _query_rules() -> QuerySet[CohortRule, Row]:
    rules = CohortRule.objects.filter(cohort__is_on=True)
    return rules.values_list("cohort_id", "attribute", "trait", "operator", "values")


_is_servable: Callable[[str], bool]
_refreshing = Lock()
_current: Rollout | None = None
_rows: tuple[list[Row], list[Row]] | None = None  # as the database returned them, to see whether they changed
_cohort_query, _rule_query = PolledQuery(_query_cohorts), PolledQuery(_query_rules)
