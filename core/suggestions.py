"""Suggest the name that was probably meant."""

import difflib
import re
from collections.abc import Iterable

_SEPARATORS = re.compile(r"[\s._\-/]+")
_CAMEL_CASE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def to_snake_case(name: str) -> str:
    """Return a name in snake_case: `taskId`, `Task ID` and `task-id` become `task_id`."""
    return _SEPARATORS.sub("_", _CAMEL_CASE.sub("_", name).strip()).lower()


def find_similar(name: str, candidates: Iterable[str], *, limit: int = 3, cutoff: float = 0.6) -> list[str]:
    """Return up to `limit` of the names that are similar to `name`, most similar first."""
    by_snake_case = {to_snake_case(candidate): candidate for candidate in candidates}
    return [
        by_snake_case[match]
        for match in difflib.get_close_matches(to_snake_case(name[:200]), by_snake_case, limit, cutoff)
    ]
