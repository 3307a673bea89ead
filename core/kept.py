"""Cache the results of functions of one text that is often the same."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import AnyStr, TypeVar

T = TypeVar("T")

MOST = 2_000  # texts per function; the least recently used is dropped first
LONGEST = 300  # characters or bytes; callers choose the texts, so longer ones are not cached


def kept(make: Callable[[AnyStr], T]) -> Callable[[AnyStr], T]:
    """Cache the last 2,000 results of a function of one text. Long texts and exceptions are not cached.

    All callers share the returned object and must not change it.
    """
    remembered = lru_cache(maxsize=MOST)(make)

    @wraps(make)
    def found(text: AnyStr) -> T:
        return remembered(text) if len(text) <= LONGEST else make(text)

    return found
