"""What a change of the rollout does, before it is made: whom of those seen lately it moves, and from what to what."""

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
    """Subjects who would get another variant: from which, to which, in which contexts, and how many."""

    before: str
    after: str
    count: int
    contexts: tuple[str, ...]  # of Gateway-Context, the commonest first


@dataclass(frozen=True, slots=True)
class Effect:
    """What a change does to those who were seen."""

    flag: FlagKey
    seen: int
    moves: tuple[Move, ...]  # the largest first

    @property
    def moved(self) -> int:
        return sum(move.count for move in self.moves)


def of(flag: FlagKey, before: Rollout, after: Rollout, people: Iterable[Facts]) -> Effect:
    """Return whom a flag moves between two rollouts. The master switch is not asked: it may be on elsewhere."""
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
    """Return the rollout as it would be with this cohort, new or in place of what its row says."""
    kept = [each for each in _on() if each.pk != cohort.pk]
    if cohort.is_on and cohort.flag.is_on:
        kept.append(cohort)
    # A new one comes after those of its position: rows are asked by position and age.
    ordered = sorted(kept, key=lambda each: (each.flag_id, each.position, each.pk or float("inf")))
    others = CohortRule.objects.exclude(cohort=cohort.pk) if cohort.pk else CohortRule.objects.all()
    held = [(each.cohort_id or 0, *_rule(each)) for each in others]
    own = [(cohort.pk or 0, *_rule(rule)) for rule in rules]
    return current.made([_row(each) for each in ordered], held + own)


def without_cohorts(gone: Iterable[Cohort]) -> Rollout:
    """Return the rollout as it would be without some cohorts."""
    keys = {cohort.pk for cohort in gone}
    kept = [_row(each) for each in _on() if each.pk not in keys]
    return current.made(kept, [(each.cohort_id, *_rule(each)) for each in CohortRule.objects.all()])


def with_flag(flag: Flag) -> Rollout:
    """Return the rollout as it would be with this flag on or off."""
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
