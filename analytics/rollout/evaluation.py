"""Flag evaluation: the first cohort that matches the subject decides the variant, else the flag's default applies."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from analytics.rollout import bucketing
from analytics.rollout.evaluation_context import EvaluationContext, Trait
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


OPERATOR_LABELS = {
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
class TargetingRule:
    """One condition. If the attribute is unknown, only `not_in` matches."""

    attribute: Attribute
    operator: Operator
    values: tuple[str, ...]
    trait: str = ""

    @property
    def description(self) -> str:
        """The condition in words, as its row says it."""
        about = f"{self.attribute.replace('_', ' ')} {self.trait}".strip()
        return f"{about} {OPERATOR_LABELS[self.operator]} {' or '.join(self.values)}"

    def matches(self, context: EvaluationContext) -> bool:
        """Return whether the rule matches a context."""
        value = (
            context.traits.get(self.trait) if self.attribute == Attribute.TRAIT else getattr(context, self.attribute)
        )
        if value is None or value == "":
            return self.operator == Operator.NOT_IN
        text = _to_text(value)
        match self.operator:
            case Operator.IN:
                return text in self.values
            case Operator.NOT_IN:
                return text not in self.values
            case Operator.STARTS:
                return text.startswith(self.values)
        number, bound = _parse_number(text), _parse_number(self.values[0])
        if number is None or bound is None:
            return False
        return number >= bound if self.operator == Operator.AT_LEAST else number <= bound


@dataclass(frozen=True, slots=True)
class CohortDefinition:
    """A set of subjects and their variant: those listed, plus a percentage of those who match all rules."""

    name: str
    variant: str
    salt: str
    buckets: int = bucketing.BUCKETS  # of 10,000
    rules: tuple[TargetingRule, ...] = ()
    listed: frozenset[str] = frozenset()

    def match(self, context: EvaluationContext) -> Reason | None:
        """Return why the subject matches, or None. Anonymous subjects never match a percentage below 100."""
        if context.subject and context.subject in self.listed:
            return Reason.TARGETING_MATCH
        if not self.buckets or not all(rule.matches(context) for rule in self.rules):
            return None
        if self.buckets >= bucketing.BUCKETS:
            return Reason.TARGETING_MATCH
        return (
            Reason.SPLIT if context.subject and bucketing.is_within(self.salt, context.subject, self.buckets) else None
        )


@dataclass(frozen=True, slots=True)
class CohortDecision:
    """How a cohort was evaluated for a subject: the rules that do not match, and the subject's hash bucket."""

    cohort: CohortDefinition
    reason: Reason | None
    is_listed: bool
    unmatched_rules: tuple[TargetingRule, ...]
    bucket: int | None  # 0 to 9,999; None for an anonymous subject


@dataclass(frozen=True, slots=True)
class EvaluationDetails:
    """A flag's variant for one subject, the cohort that decided it ("" for none) and the reason."""

    flag: FlagKey
    variant: str
    cohort: str
    reason: Reason


@dataclass(frozen=True, slots=True, eq=False)
class Rollout:
    """A snapshot of all flags, with their cohorts in order of evaluation. Compared by identity."""

    cohorts: Mapping[FlagKey, Sequence[CohortDefinition]] = field(default_factory=dict)

    def evaluate(self, flag: FlagKey, context: EvaluationContext, *, is_on: bool = True) -> EvaluationDetails:
        """Return a flag's variant for a subject. `is_on` is the flag's master switch."""
        if not is_on:
            return EvaluationDetails(flag, FLAGS[flag].default, "", Reason.DISABLED)
        for cohort in self.cohorts.get(flag, ()):
            if reason := cohort.match(context):
                return EvaluationDetails(flag, cohort.variant, cohort.name, reason)
        return EvaluationDetails(flag, FLAGS[flag].default, "", Reason.DEFAULT)


def explain_cohorts(rollout: Rollout, flag: FlagKey, context: EvaluationContext) -> list[CohortDecision]:
    """Return how each cohort of a flag evaluates a subject, in order, up to the first that matches."""
    decisions = []
    for cohort in rollout.cohorts.get(flag, ()):
        reason = cohort.match(context)
        unmatched_rules = tuple(rule for rule in cohort.rules if not rule.matches(context))
        bucket = bucketing.bucket_of(cohort.salt, context.subject) if context.subject else None
        decisions.append(CohortDecision(cohort, reason, context.subject in cohort.listed, unmatched_rules, bucket))
        if reason:
            break
    return decisions


def join_cohort_names(outcomes: Iterable[EvaluationDetails]) -> str:
    """Return the names of the cohorts that decided, in the order of the flags, as stored in events: "dev copy-b"."""
    return " ".join(outcome.cohort for outcome in outcomes if outcome.cohort)


def _to_text(value: Trait) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _parse_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
