"""Find policies that both ask for and forbid the same thing."""

import re
from collections.abc import Iterator
from typing import Any

from registry.checks import text_locations
from registry.checks.finding import CheckRule, Finding
from registry.search import tokenizer

CONTRADICTION = CheckRule(
    "do_and_dont_contradict",
    "A do and a dont about the same action that do not say when each applies.",
    "Delete one of the two, or say when each applies.",
)
RULES = (CONTRADICTION,)

_MIN_SHARED = 0.8  # share of the words of two rules that they have in common
_CLAUSE = re.compile(r"[;:,.—–]")
_NEGATION = re.compile(r"^\W*(?:never|do\s+not|don['’]t|avoid|must\s+not|not|no)\s+", re.IGNORECASE)
# A condition limits a rule, so that the other one can apply in all other cases.
_CONDITION = re.compile(r"\b(?:not|no|only|unless|except|without|until|more than|less than|n['’]t)\b", re.IGNORECASE)
_FILLER_WORDS = frozenset(
    [
        *("a", "an", "the", "of", "to", "in", "on", "at", "by", "for", "with", "it", "its", "this", "that", "these"),
        *("those", "and", "or", "as", "be", "is", "are", "any", "all", "each", "every", "always", "please", "just"),
        *("own", "their", "your"),
    ]
)


def check(entry: dict[str, Any]) -> Iterator[Finding]:
    """Yield a finding for each dont that forbids what a do asks for."""
    dos = list(text_locations.iter_policy_rules(entry, "do"))
    for field, dont in text_locations.iter_policy_rules(entry, "dont"):
        for other, do in dos:
            if _is_contradiction(do, dont):
                yield CONTRADICTION.make_finding(entry["op"], field, f"This rule forbids what {other} asks for: “{do}”")


def _is_contradiction(do: str, dont: str) -> bool:
    """Return whether `dont` negates `do`: the same verb and nearly the same words, with no condition in either."""
    forbidden = _NEGATION.sub("", dont, count=1)
    do_clause, dont_clause = _CLAUSE.split(do)[0], _CLAUSE.split(forbidden)[0]
    if _CONDITION.search(do_clause) or _CONDITION.search(dont_clause):
        return False
    do_words, dont_words = _stem_words(do_clause), _stem_words(dont_clause)
    if (
        not do_words
        or not dont_words
        or do_words[0] != dont_words[0]
        or min(len(set(do_words)), len(set(dont_words))) < 2
    ):
        return False
    shared, all_words = set(do_words) & set(dont_words), set(do_words) | set(dont_words)
    return shared in (set(do_words), set(dont_words)) or len(shared) / len(all_words) >= _MIN_SHARED


def _stem_words(text: str) -> list[str]:
    return [
        tokenizer.stem(word) or word
        for word in tokenizer.split_words(text)
        if word not in _FILLER_WORDS and word != tokenizer.BREAK
    ]
