"""Suggest the name that was probably meant."""

import difflib
import re
from collections.abc import Iterable

_SEPARATORS = re.compile(r"[\s._\-/]+")
_NEGATIONS = ("un", "in", "not_", "non_")
_CAMEL_CASE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def to_snake_case(name: str) -> str:
    """Return a name in snake_case: `taskId`, `Task ID` and `task-id` become `task_id`."""
    return _SEPARATORS.sub("_", _CAMEL_CASE.sub("_", name).strip()).lower()


def find_similar(name: str, candidates: Iterable[str], *, limit: int = 3, cutoff: float = 0.6) -> list[str]:
    """Return up to `limit` of the names that are similar to `name`, most similar first.

    A negation is not similar: inactive never means active.
    """
    word = to_snake_case(name[:200])
    by_snake_case = {
        other: candidate for candidate in candidates if not _is_negation(word, other := to_snake_case(candidate))
    }
    return [by_snake_case[match] for match in difflib.get_close_matches(word, by_snake_case, limit, cutoff)]


def _is_negation(word: str, other: str) -> bool:
    """Return whether one of two words begins as the other does after a prefix that negates it."""
    return any(
        longer.startswith(prefix) and not shorter.startswith(prefix) and longer[len(prefix) :][:3] == shorter[:3]
        for prefix in _NEGATIONS
        for longer, shorter in ((word, other), (other, word))
    )
