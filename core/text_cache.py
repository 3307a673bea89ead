"""Cache the results of functions of one text that is often the same."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import AnyStr, TypeVar

T = TypeVar("T")

MAX_TEXTS = 2_000  # texts per function; the least recently used is dropped first
MAX_TEXT_LENGTH = 300  # characters or bytes; callers choose the texts, so longer ones are not cached


def cache_by_text(make: Callable[[AnyStr], T]) -> Callable[[AnyStr], T]:
    """Cache the last 2,000 results of a function of one text. Long texts and exceptions are not cached.

    All callers share the returned object and must not change it.
    """
    cached_make = lru_cache(maxsize=MAX_TEXTS)(make)

    @wraps(make)
    def cached(text: AnyStr) -> T:
        return cached_make(text) if len(text) <= MAX_TEXT_LENGTH else make(text)

    return cached
