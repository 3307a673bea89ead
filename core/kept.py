"""Keeping what was made of a text, where the same texts come again and again."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import AnyStr, TypeVar

T = TypeVar("T")

MOST = 2_000  # texts; the one that was not asked for the longest goes first
LONGEST = 300  # characters or bytes: strangers send the texts, and must not fill the memory with them


def kept(make: Callable[[AnyStr], T]) -> Callable[[AnyStr], T]:
    """Have a function of one text remember its last 2,000 results; those of long texts and its errors it does not.

    All callers get the same object: it must not be changed.
    """
    remembered = lru_cache(maxsize=MOST)(make)

    @wraps(make)
    def found(text: AnyStr) -> T:
        return remembered(text) if len(text) <= LONGEST else make(text)

    return found
