"""Preview of a rollout change: how many of the recently seen subjects get another variant, or a new release."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from analytics.flags import LIVE, FlagKey
from analytics.rollout import assignment, exposures
from analytics.rollout.evaluation import EvaluationContext, Rollout
from analytics.rollout.models import Cohort, CohortRule, Flag


@dataclass(frozen=True, slots=True)
class VariantChange:
    """The number of subjects who would move from one variant to another, and their contexts."""

    before: str
    after: str
    count: int
    contexts: tuple[str, ...]  # types of Gateway-Context, most frequent first


@dataclass(frozen=True, slots=True)
class RolloutImpact:
    """The impact of a change on one flag, for `seen` recently seen subjects."""

    flag: FlagKey
    seen: int
    moves: tuple[VariantChange, ...]  # the largest first
    taken: Mapping[str, int]  # how many subjects a cohort that stays on loses to another one

    @property
    def moved_count(self) -> int:
        return sum(move.count for move in self.moves)


@dataclass(frozen=True, slots=True)
class ReleaseReach:
    """How many of the recently seen subjects read a release once it is live, and the cohorts that are on another."""

    seen: int
    following: int
    pinned_cohorts: tuple[Cohort, ...]

    @property
    def is_everyone(self) -> bool:
        return not self.pinned_cohorts


def measure_reach(at: datetime, *, version: str = LIVE) -> ReleaseReach:
    """Return which users a release reaches once it is live: a new one, or one that cohorts may read already.

    Ignores the master switch, which may differ per server.
    """
    rollout, subjects, reached = assignment.load_rollout(), exposures.list_recent(at), {LIVE, version}
    following = sum(rollout.evaluate(FlagKey.RELEASE, subject).variant in reached for subject in subjects)
    pinned = (
        each for each in _load_active_cohorts() if each.flag_id == FlagKey.RELEASE and each.variant not in reached
    )
    return ReleaseReach(len(subjects), following, tuple(pinned))


def measure_shares(at: datetime) -> dict[str, float]:
    """Return the share of the recently seen subjects that each active cohort decides for; {} if none were seen."""
    rollout, subjects = assignment.load_rollout(), exposures.list_recent(at)
    counts = Counter(
        outcome.cohort for flag in rollout.cohorts for outcome in (rollout.evaluate(flag, each) for each in subjects)
    )
    names = [cohort.name for cohorts in rollout.cohorts.values() for cohort in cohorts]
    return {name: counts[name] / len(subjects) for name in names} if subjects else {}


def measure_impact(
    flag: FlagKey, before: Rollout, after: Rollout, subjects: Iterable[EvaluationContext]
) -> RolloutImpact:
    """Return how many people get another variant of a flag. Ignores the master switch, which may differ per server."""
    seen, counts, contexts = 0, Counter[tuple[str, str]](), dict[tuple[str, str], Counter[str]]()
    taken, staying = Counter[str](), {cohort.name for cohort in after.cohorts.get(flag, ())}
    for subject in subjects:
        seen += 1
        was, becomes = before.evaluate(flag, subject), after.evaluate(flag, subject)
        if was.cohort in staying and becomes.cohort not in ("", was.cohort):
            taken[was.cohort] += 1
        change = was.variant, becomes.variant
        if change[0] != change[1]:
            counts[change] += 1
            contexts.setdefault(change, Counter())[subject.context] += 1
    moves = (
        VariantChange(*change, count, tuple(context for context, _ in contexts[change].most_common()))
        for change, count in counts.most_common()
    )
    return RolloutImpact(flag, seen, tuple(moves), taken)


def apply_cohort(cohort: Cohort, rules: Iterable[CohortRule]) -> Rollout:
    """Return the rollout with a new cohort, or with the unsaved changes of an existing one."""
    return apply_cohorts([cohort], rules)


def apply_cohorts(changed: Sequence[Cohort], rules: Iterable[CohortRule]) -> Rollout:
    """Return the rollout with cohorts that are new or changed, and unsaved. All of them have these rules."""
    keys, own = {each.pk for each in changed}, list(rules)
    cohorts = [each for each in _load_active_cohorts() if each.pk not in keys]
    cohorts += [each for each in changed if each.is_on and each.flag.is_on]
    ordered = sorted(cohorts, key=lambda each: float("inf") if each.position is None else each.position)  # new: last
    other_rules = [(each.cohort_id, *_rule_to_row(each)) for each in CohortRule.objects.exclude(cohort__in=keys)]
    own_rules = [(key or 0, *_rule_to_row(rule)) for key in keys for rule in own]
    return assignment.build_rollout([_cohort_to_row(each) for each in ordered], other_rules + own_rules)


def remove_cohorts(removed: Iterable[Cohort]) -> Rollout:
    """Return the rollout without some cohorts."""
    keys = {cohort.pk for cohort in removed}
    rows = [_cohort_to_row(each) for each in _load_active_cohorts() if each.pk not in keys]
    return assignment.build_rollout(rows, [(each.cohort_id, *_rule_to_row(each)) for each in CohortRule.objects.all()])


def apply_flag(flag: Flag, cohort_ids: Sequence[int] = ()) -> Rollout:
    """Return the rollout with a flag's unsaved on or off state, and its cohorts in an unsaved order."""
    cohorts = list(Cohort.objects.filter(is_on=True, flag__in=list(FlagKey)).select_related("flag"))
    places = {cohort_id: place for place, cohort_id in enumerate(cohort_ids)}
    cohorts.sort(key=lambda each: places.get(each.pk, len(places)))
    active = [_cohort_to_row(each) for each in cohorts if (flag.is_on if each.flag_id == flag.key else each.flag.is_on)]
    return assignment.build_rollout(
        active, [(each.cohort_id, *_rule_to_row(each)) for each in CohortRule.objects.all()]
    )


def _load_active_cohorts() -> list[Cohort]:
    return list(Cohort.objects.filter(is_on=True, flag__is_on=True, flag__in=list(FlagKey)).select_related("flag"))


def _cohort_to_row(cohort: Cohort) -> tuple[object, ...]:
    salt = cohort.salt or cohort.name
    row = (cohort.pk or 0, cohort.flag_id, cohort.name, cohort.variant, salt, cohort.percentage, cohort.listed)
    return (*row, cohort.first_bucket)


def _rule_to_row(rule: CohortRule) -> tuple[object, ...]:
    return (rule.attribute, rule.trait, rule.operator, rule.values)
