"""Flag evaluation: the first cohort that matches the subject decides the variant, else the flag's default applies."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from analytics.rollout import shares
from analytics.rollout.facts import Facts, Trait
from analytics.rollout.flags import FLAGS, FlagKey


class Attribute(StrEnum):
    """What a rule can test."""

    SUBJECT = "subject"
    CLIENT = "client"
    ENVIRONMENT = "environment"
    CONTEXT = "context"
    PROJECT = "project"
    MODEL_FAMILY = "model_family"
    TRAIT = "trait"


class Operator(StrEnum):
    """How a rule compares the attribute with its values."""

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
    """Why a flag has its variant: OpenFeature's resolution reasons."""

    TARGETING_MATCH = "TARGETING_MATCH"  # the subject matches a cohort's rules or list
    SPLIT = "SPLIT"  # the subject is within a cohort's percentage
    DEFAULT = "DEFAULT"  # no cohort matches
    DISABLED = "DISABLED"  # the master switch is off


@dataclass(frozen=True, slots=True)
class Rule:
    """One condition. If the attribute is unknown, only `not_in` matches."""

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
        """Return whether the rule matches a context."""
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
    """A set of subjects and their variant: those listed, plus a percentage of those who match all rules."""

    name: str
    variant: str
    salt: str
    parts: int = shares.PARTS  # of 10,000
    rules: tuple[Rule, ...] = ()
    listed: frozenset[str] = frozenset()

    def reason(self, facts: Facts) -> Reason | None:
        """Return why the subject matches, or None. Anonymous subjects never match a percentage below 100."""
        if facts.subject and facts.subject in self.listed:
            return Reason.TARGETING_MATCH
        if not self.parts or not all(rule.holds(facts) for rule in self.rules):
            return None
        if self.parts >= shares.PARTS:
            return Reason.TARGETING_MATCH
        return Reason.SPLIT if facts.subject and shares.is_within(self.salt, facts.subject, self.parts) else None


@dataclass(frozen=True, slots=True)
class Step:
    """How a cohort was evaluated for a subject: the rules that do not match, and the subject's hash bucket."""

    cohort: Cohort
    reason: Reason | None
    is_listed: bool
    unmet: tuple[Rule, ...]
    part: int | None  # 0 to 9,999; None for an anonymous subject


@dataclass(frozen=True, slots=True)
class Outcome:
    """A flag's variant for one subject, the cohort that decided it ("" for none) and the reason."""

    flag: FlagKey
    variant: str
    cohort: str
    reason: Reason


@dataclass(frozen=True, slots=True, eq=False)
class Rollout:
    """A snapshot of all flags, with their cohorts in order of evaluation. Compared by identity."""

    cohorts: Mapping[FlagKey, Sequence[Cohort]] = field(default_factory=dict)

    def evaluate(self, flag: FlagKey, facts: Facts, *, is_on: bool = True) -> Outcome:
        """Return a flag's variant for a subject. `is_on` is the flag's master switch."""
        if not is_on:
            return Outcome(flag, FLAGS[flag].default, "", Reason.DISABLED)
        for cohort in self.cohorts.get(flag, ()):
            if reason := cohort.reason(facts):
                return Outcome(flag, cohort.variant, cohort.name, reason)
        return Outcome(flag, FLAGS[flag].default, "", Reason.DEFAULT)


def steps(rollout: Rollout, flag: FlagKey, facts: Facts) -> list[Step]:
    """Return how each cohort of a flag evaluates a subject, in order, up to the first that matches."""
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
    """Return the names of the cohorts that decided, in the order of the flags, as stored in events: "dev copy-b"."""
    return " ".join(outcome.cohort for outcome in outcomes if outcome.cohort)


def _text(known: Trait) -> str:
    return str(known).lower() if isinstance(known, bool) else str(known)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
