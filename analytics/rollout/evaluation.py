"""Evaluation: the first cohort of a flag that a subject belongs to decides; none of them, the default."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from analytics.rollout import shares
from analytics.rollout.facts import Facts, Trait
from analytics.rollout.flags import FLAGS, FlagKey


class Attribute(StrEnum):
    """What a rule may be about."""

    SUBJECT = "subject"
    CLIENT = "client"
    ENVIRONMENT = "environment"
    CONTEXT = "context"
    PROJECT = "project"
    MODEL_FAMILY = "model_family"
    TRAIT = "trait"


class Operator(StrEnum):
    """How a rule compares."""

    IN = "in"
    NOT_IN = "not_in"
    STARTS = "starts"
    AT_LEAST = "at_least"
    AT_MOST = "at_most"


WORDS = {
    Operator.IN: "is one of",
    Operator.NOT_IN: "is none of",
    Operator.STARTS: "begins with",
    Operator.AT_LEAST: "at least",
    Operator.AT_MOST: "at most",
}


class Reason(StrEnum):
    """Why a flag said what it said, in OpenFeature's words."""

    TARGETING_MATCH = "TARGETING_MATCH"  # a rule or a list named the subject
    SPLIT = "SPLIT"  # its part of a percentage did
    DEFAULT = "DEFAULT"  # no cohort did
    DISABLED = "DISABLED"  # the master switch is off


@dataclass(frozen=True, slots=True)
class Rule:
    """One condition. What is not known is in nothing: `not_in` alone holds then."""

    attribute: Attribute
    operator: Operator
    values: tuple[str, ...]
    trait: str = ""

    @property
    def told(self) -> str:
        """The condition in words, as its row says it."""
        about = f"{self.attribute.replace('_', ' ')} {self.trait}".strip()
        return f"{about} {WORDS[self.operator]} {' or '.join(self.values)}"

    def holds(self, facts: Facts) -> bool:
        """Whether it holds for a subject."""
        known = facts.traits.get(self.trait) if self.attribute == Attribute.TRAIT else getattr(facts, self.attribute)
        if known is None or known == "":
            return self.operator == Operator.NOT_IN
        text = _text(known)
        match self.operator:
            case Operator.IN:
                return text in self.values
            case Operator.NOT_IN:
                return text not in self.values
            case Operator.STARTS:
                return text.startswith(self.values)
        number, bound = _number(text), _number(self.values[0])
        if number is None or bound is None:
            return False
        return number >= bound if self.operator == Operator.AT_LEAST else number <= bound


@dataclass(frozen=True, slots=True)
class Cohort:
    """Some subjects, and the variant that they get: those listed, and of those whose rules all hold a percentage."""

    name: str
    variant: str
    salt: str
    parts: int = shares.PARTS  # of 10,000
    rules: tuple[Rule, ...] = ()
    listed: frozenset[str] = frozenset()

    def reason(self, facts: Facts) -> Reason | None:
        """Return why a subject belongs to it; None where it does not. Nobody unknown is within a percentage."""
        if facts.subject and facts.subject in self.listed:
            return Reason.TARGETING_MATCH
        if not self.parts or not all(rule.holds(facts) for rule in self.rules):
            return None
        if self.parts >= shares.PARTS:
            return Reason.TARGETING_MATCH
        return Reason.SPLIT if facts.subject and shares.is_within(self.salt, facts.subject, self.parts) else None


@dataclass(frozen=True, slots=True)
class Step:
    """Why a cohort takes a subject or does not: the rules that do not hold, and where the hash puts it."""

    cohort: Cohort
    reason: Reason | None
    is_listed: bool
    unmet: tuple[Rule, ...]
    part: int | None  # of 10,000; None where nobody is known


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a flag says for one subject, by which cohort (none: "") and why."""

    flag: FlagKey
    variant: str
    cohort: str
    reason: Reason


@dataclass(frozen=True, slots=True, eq=False)
class Rollout:
    """All flags at one moment: their cohorts in order of evaluation. Equal to itself alone."""

    cohorts: Mapping[FlagKey, Sequence[Cohort]] = field(default_factory=dict)

    def evaluate(self, flag: FlagKey, facts: Facts, *, is_on: bool = True) -> Outcome:
        """Return what a flag says for a subject; `is_on` is its master switch."""
        if not is_on:
            return Outcome(flag, FLAGS[flag].default, "", Reason.DISABLED)
        for cohort in self.cohorts.get(flag, ()):
            if reason := cohort.reason(facts):
                return Outcome(flag, cohort.variant, cohort.name, reason)
        return Outcome(flag, FLAGS[flag].default, "", Reason.DEFAULT)


def steps(rollout: Rollout, flag: FlagKey, facts: Facts) -> list[Step]:
    """Return how each cohort of a flag decides about a subject, in their order, up to the one that takes it."""
    found = []
    for cohort in rollout.cohorts.get(flag, ()):
        reason = cohort.reason(facts)
        unmet = tuple(rule for rule in cohort.rules if not rule.holds(facts))
        part = shares.part_of(cohort.salt, facts.subject) if facts.subject else None
        found.append(Step(cohort, reason, facts.subject in cohort.listed, unmet, part))
        if reason:
            break
    return found


def told(outcomes: Iterable[Outcome]) -> str:
    """Return the cohorts that decided, in the order of their flags, as events keep them: "dev copy-b"."""
    return " ".join(outcome.cohort for outcome in outcomes if outcome.cohort)


def _text(known: Trait) -> str:
    return str(known).lower() if isinstance(known, bool) else str(known)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
