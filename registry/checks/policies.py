"""Find policies that both ask for and forbid the same thing."""

import re
from collections.abc import Iterator
from typing import Any

from registry.checks import places
from registry.checks.finding import Finding, Rule
from registry.search import words

CONTRADICTION = Rule(
    "do_and_dont_contradict",
    "A do and a dont about the same action that do not say when each applies.",
    "Delete one of the two, or say when each applies.",
)
RULES = (CONTRADICTION,)

_NEARLY = 0.8  # share of the words of two rules that they have in common
_CLAUSE = re.compile(r"[;:,.—–]")
_NEGATION = re.compile(r"^\W*(?:never|do\s+not|don['’]t|avoid|must\s+not|not|no)\s+", re.IGNORECASE)
# A condition limits a rule, so that the other one can apply in all other cases.
_LIMIT = re.compile(r"\b(?:not|no|only|unless|except|without|until|more than|less than|n['’]t)\b", re.IGNORECASE)
_FILLING = frozenset(
    [
        *("a", "an", "the", "of", "to", "in", "on", "at", "by", "for", "with", "it", "its", "this", "that", "these"),
        *("those", "and", "or", "as", "be", "is", "are", "any", "all", "each", "every", "always", "please", "just"),
        *("own", "their", "your"),
    ]
)


def check(entry: dict[str, Any]) -> Iterator[Finding]:
    """Yield a finding for each dont that forbids what a do asks for."""
    dos = list(places.rules(entry, "do"))
    for field, dont in places.rules(entry, "dont"):
        for other, do in dos:
            if _contradict(do, dont):
                yield CONTRADICTION.found(entry["op"], field, f"It forbids what {other} asks for: “{do}”")


def _contradict(do: str, dont: str) -> bool:
    """Return whether `dont` negates `do`: the same verb and nearly the same words, with no condition in either."""
    forbidden = _NEGATION.sub("", dont, count=1)
    asked, refused = _CLAUSE.split(do)[0], _CLAUSE.split(forbidden)[0]
    if _LIMIT.search(asked) or _LIMIT.search(refused):
        return False
    one, other = _words(asked), _words(refused)
    if not one or not other or one[0] != other[0] or min(len(set(one)), len(set(other))) < 2:
        return False
    shared, said = set(one) & set(other), set(one) | set(other)
    return shared in (set(one), set(other)) or len(shared) / len(said) >= _NEARLY


def _words(text: str) -> list[str]:
    return [words.stem(word) or word for word in words.split(text) if word not in _FILLING and word != words.BREAK]
