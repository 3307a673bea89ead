"""Evaluate flags: the first cohort that matches the subject decides, else the default applies."""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache

from analytics.flags import FLAGS, FlagKey

BUCKETS = 10_000  # buckets of all subjects; percentages have two decimals
Trait = str | int | float | bool
_FAMILY_PATTERN = re.compile(r"[a-z]+")
_FAMILY_ALIASES = {"o": "gpt", "chatgpt": "gpt", "codex": "gpt", "ministral": "mistral", "codestral": "mistral"}
_FAMILY_ALIASES |= {"sonnet": "claude", "opus": "claude", "haiku": "claude", "gemma": "gemini", "qwq": "qwen"}


def bucket_of(salt: str, subject: str) -> int:
    """Return a subject's bucket, 0 to 9,999.

    The bucket is the first eight bytes of SHA-256("salt/subject" in UTF-8) as an unsigned big-endian number, times
    10,000, divided by 2**64 and rounded down. Each cohort has its own salt, so that its buckets are independent of
    those of other cohorts.
    """
    number = int.from_bytes(hashlib.sha256(f"{salt}/{subject}".encode()).digest()[:8], "big")
    return number * BUCKETS >> 64


def is_within(salt: str, subject: str, buckets: int, *, first: int = 0) -> bool:
    """Return whether a subject is in the `buckets` of 10,000 from `first` on.

    Raising the number keeps all that are in.
    """
    return first <= bucket_of(salt, subject) < first + buckets


@dataclass(frozen=True, slots=True)
class EvaluationContext:
    """A subject, and where its call comes from. Empty means unknown."""

    subject: str = ""
    client: str = ""
    environment: str = ""
    context: str = ""  # what the user is looking at: `type` of Gateway-Context
    project: str = ""
    model: str = ""
    traits: Mapping[str, Trait] = field(default_factory=dict)

    @property
    def model_family(self) -> str:
        """The model's family, such as claude."""
        return get_model_family(self.model)


@lru_cache(maxsize=1_000)
def get_model_family(model: str) -> str:
    """Return a model's family: claude for "anthropic/claude-sonnet-4-5", gpt for "gpt-4o-mini"."""
    match = _FAMILY_PATTERN.search(model.rpartition("/")[2].lower())
    return _FAMILY_ALIASES.get(match[0], match[0]) if match else ""


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
        """The condition in words, as its row describes it."""
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
    """A set of subjects and their variant: those listed, plus a percentage of subjects that match all rules."""

    name: str
    variant: str
    salt: str
    buckets: int = BUCKETS  # of 10,000
    rules: tuple[TargetingRule, ...] = ()
    listed: frozenset[str] = frozenset()
    first_bucket: int = 0  # of an arm of an experiment: arms have one salt, and buckets beside each other

    def match(self, context: EvaluationContext) -> Reason | None:
        """Return why the subject matches, or None. Anonymous subjects never match a percentage below 100."""
        if context.subject and context.subject in self.listed:
            return Reason.TARGETING_MATCH
        if not self.buckets or not all(rule.matches(context) for rule in self.rules):
            return None
        if self.buckets >= BUCKETS:
            return Reason.TARGETING_MATCH
        is_in = context.subject and is_within(self.salt, context.subject, self.buckets, first=self.first_bucket)
        return Reason.SPLIT if is_in else None


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
        bucket = bucket_of(cohort.salt, context.subject) if context.subject else None
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
