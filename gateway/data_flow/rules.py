"""The rules of data flow, each one sentence that people read and programs parse.

    after untrusted, ask before outbound
    after private, refuse outbound to another service

The first word is the label that an earlier call of the turn brought in, the last is what the call does.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from registry.flow_labels import FlowLabel

MAX_RULES = 20
ELSEWHERE = " to another service"
_SENTENCE = re.compile(
    r"after (?P<after>untrusted|private), (?P<effect>ask before|refuse) (?P<then>outbound|destructive)"
    rf"(?P<elsewhere>{ELSEWHERE})?"
)
HOW_TO_WRITE = (
    "Write: after untrusted or private, then a comma, then ask before or refuse, then outbound or destructive. "
    f"Add{ELSEWHERE} if calls of the same connection are fine. Such as: after private, refuse outbound{ELSEWHERE}"
)


class FlowEffect(StrEnum):
    """What a rule does with a call for which it holds."""

    ASK = "ask before"
    REFUSE = "refuse"


class FlowTarget(StrEnum):
    """What a call does that a rule looks for."""

    OUTBOUND = "outbound"  # the label
    DESTRUCTIVE = "destructive"  # a write that asks its user first


class BadRule(ValueError):
    """A line is not a rule. The message says which, and what to write."""


@dataclass(frozen=True, slots=True)
class FlowRule:
    """A rule: after a label came into the turn, a call of this sort is refused, or its user is asked."""

    after: FlowLabel
    effect: FlowEffect
    then: FlowTarget
    elsewhere: bool = False  # only if the connection is another than the one that the label came from

    def __str__(self) -> str:
        return f"after {self.after}, {self.effect} {self.then}{ELSEWHERE if self.elsewhere else ''}"


@lru_cache(maxsize=256)
def parse_rules(text: str) -> tuple[FlowRule, ...]:
    """Return the rules of a text, one a line. Raises BadRule for a line that is none, or for too many."""
    lines = [" ".join(line.split()).rstrip(".") for line in text.splitlines() if line.strip()]
    if len(lines) > MAX_RULES:
        raise BadRule(f"{len(lines)} rules; the limit is {MAX_RULES}.")
    return tuple(map(_parse_rule, lines))


def _parse_rule(line: str) -> FlowRule:
    if (match := _SENTENCE.fullmatch(line.casefold())) is None:
        raise BadRule(f"“{line[:100]}” is not a rule. {HOW_TO_WRITE}.")
    return FlowRule(
        FlowLabel(match["after"]),
        FlowEffect(match["effect"]),
        FlowTarget(match["then"]),
        elsewhere=bool(match["elsewhere"]),
    )


def format_rules(rules: Iterable[FlowRule]) -> str:
    """Return rules as the text that `parse_rules` reads."""
    return "\n".join(map(str, rules))


# The rules of clients that have none of their own.
GATEWAY_RULES = parse_rules(
    """
    after untrusted, ask before outbound
    after untrusted, ask before destructive
    after private, refuse outbound to another service
    """
)
