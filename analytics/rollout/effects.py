"""Preview of a rollout change: how many of the recently seen subjects get another variant."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from analytics.rollout import current
from analytics.rollout.evaluation import Rollout
from analytics.rollout.facts import Facts
from analytics.rollout.flags import FlagKey
from analytics.rollout.models import Cohort, CohortRule, Flag


@dataclass(frozen=True, slots=True)
class Move:
    """The number of subjects who would move from one variant to another, and their contexts."""

    before: str
    after: str
    count: int
    contexts: tuple[str, ...]  # types of Gateway-Context, most frequent first


@dataclass(frozen=True, slots=True)
class Effect:
    """The impact of a change on one flag, for `seen` recently seen subjects."""

    flag: FlagKey
    seen: int
    moves: tuple[Move, ...]  # the largest first

    @property
    def moved(self) -> int:
        return sum(move.count for move in self.moves)


def of(flag: FlagKey, before: Rollout, after: Rollout, people: Iterable[Facts]) -> Effect:
    """Return how many people get another variant of a flag. Ignores the master switch, which may differ per server."""
    seen, counts, contexts = 0, Counter[tuple[str, str]](), dict[tuple[str, str], Counter[str]]()
    for facts in people:
        seen += 1
        way = before.evaluate(flag, facts).variant, after.evaluate(flag, facts).variant
        if way[0] != way[1]:
            counts[way] += 1
            contexts.setdefault(way, Counter())[facts.context] += 1
    moves = (
        Move(*way, count, tuple(context for context, _ in contexts[way].most_common()))
        for way, count in counts.most_common()
    )
    return Effect(flag, seen, tuple(moves))


def with_cohort(cohort: Cohort, rules: Iterable[CohortRule]) -> Rollout:
    """Return the rollout with a new cohort, or with the unsaved changes of an existing one."""
    kept = [each for each in _on() if each.pk != cohort.pk]
    if cohort.is_on and cohort.flag.is_on:
        kept.append(cohort)
    # Cohorts are ordered by position, then id. A new one has no id yet and comes last at its position.
    ordered = sorted(kept, key=lambda each: (each.flag_id, each.position, each.pk or float("inf")))
    others = CohortRule.objects.exclude(cohort=cohort.pk) if cohort.pk else CohortRule.objects.all()
    held = [(each.cohort_id or 0, *_rule(each)) for each in others]
    own = [(cohort.pk or 0, *_rule(rule)) for rule in rules]
    return current.made([_row(each) for each in ordered], held + own)


def without_cohorts(gone: Iterable[Cohort]) -> Rollout:
    """Return the rollout without some cohorts."""
    keys = {cohort.pk for cohort in gone}
    kept = [_row(each) for each in _on() if each.pk not in keys]
    return current.made(kept, [(each.cohort_id, *_rule(each)) for each in CohortRule.objects.all()])


def with_flag(flag: Flag) -> Rollout:
    """Return the rollout with a flag's unsaved on or off state."""
    rows = Cohort.objects.filter(is_on=True, flag__in=list(FlagKey)).select_related("flag")
    kept = [_row(each) for each in rows if (flag.is_on if each.flag_id == flag.key else each.flag.is_on)]
    return current.made(kept, [(each.cohort_id, *_rule(each)) for each in CohortRule.objects.all()])


def _on() -> list[Cohort]:
    return list(Cohort.objects.filter(is_on=True, flag__is_on=True, flag__in=list(FlagKey)).select_related("flag"))


def _row(cohort: Cohort) -> tuple[object, ...]:
    salt = cohort.salt or cohort.name
    return (cohort.pk or 0, cohort.flag_id, cohort.name, cohort.variant, salt, cohort.percentage, cohort.listed)


def _rule(rule: CohortRule) -> tuple[object, ...]:
    return (rule.attribute, rule.trait, rule.operator, rule.values)
