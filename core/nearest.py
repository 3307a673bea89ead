"""Suggest the name that was probably meant."""

import difflib
import re
from collections.abc import Iterable

_SEPARATORS = re.compile(r"[\s._\-/]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def snake_case(name: str) -> str:
    """Return a name in snake_case: `taskId`, `Task ID` and `task-id` become `task_id`."""
    return _SEPARATORS.sub("_", _HUMP.sub("_", name).strip()).lower()


def close(name: str, among: Iterable[str], *, limit: int = 3, cutoff: float = 0.6) -> list[str]:
    """Return up to `limit` of the names that are similar to `name`, most similar first."""
    folded = {snake_case(candidate): candidate for candidate in among}
    return [folded[match] for match in difflib.get_close_matches(snake_case(name[:200]), folded, limit, cutoff)]
