"""General English: words that say nothing about a search, and the name that was probably meant."""

import difflib
import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import islice

STOP_WORDS = frozenset(
    [
        *("a", "about", "again", "all", "also", "am", "an", "and", "any", "anyone", "are", "as", "at", "be", "been"),
        *("being", "but", "by", "can", "could", "d", "did", "do", "does", "doing", "don", "done", "for", "from", "get"),
        *("give", "had", "has", "have", "having", "hello", "help", "her", "here", "hey", "hi", "him", "his", "how"),
        *("i", "if", "in", "into", "is", "it", "its", "itself", "just", "kindly", "know", "let", "like", "ll", "m"),
        *("me", "my", "myself", "need", "of", "on", "or", "our", "out", "over", "please", "re", "s", "should", "show"),
        *("so", "some", "something", "such", "t", "tell", "than", "thank", "thanks", "that", "the", "their", "them"),
        *("then", "there", "these", "they", "this", "those", "through", "to", "too", "up", "us", "use", "using", "ve"),
        *("very", "want", "was", "way", "we", "were", "what", "when", "where", "whether", "which", "while", "who"),
        *("whom", "whose", "why", "will", "with", "within", "would", "you", "your", "yours", "yourself"),
    ]
)
_SEPARATORS = re.compile(r"[\s._\-/]+")
_MAX_COMPARED = 300  # names that one name is compared with; a comparison takes 15 µs
_NEGATIONS = ("un", "in", "not_", "non_")
_CAMEL_CASE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def to_snake_case(name: str) -> str:
    """Return a name in snake_case: `taskId`, `Task ID` and `task-id` become `task_id`."""
    return _SEPARATORS.sub("_", _CAMEL_CASE.sub("_", name).strip()).lower()


def find_similar(name: str, candidates: Iterable[str], *, limit: int = 3, cutoff: float = 0.6) -> list[str]:
    """Return up to `limit` of the names that are similar to `name`, most similar first.

    A negation is not similar: inactive never means active. Of more than 300 candidates, only those that begin alike or
    share a word are compared, because a call can have many unknown names for an op of many arguments.
    """
    word = to_snake_case(name[:200])
    by_snake_case = {_to_known_snake_case(candidate): candidate for candidate in candidates}
    if len(by_snake_case) > _MAX_COMPARED:
        words = {each for each in word.split("_") if len(each) > 1}
        near = (each for each in by_snake_case if each[:2] == word[:2] or not words.isdisjoint(each.split("_")))
        by_snake_case = {other: by_snake_case[other] for other in islice(near, _MAX_COMPARED)}
    by_snake_case = {other: known for other, known in by_snake_case.items() if not _is_negation(word, other)}
    return [by_snake_case[match] for match in difflib.get_close_matches(word, by_snake_case, limit, cutoff)]


@lru_cache(maxsize=5_000)
def _to_known_snake_case(name: str) -> str:
    """Return a candidate in snake_case. Candidates are the same few names in each call."""
    return to_snake_case(name)


def _is_negation(word: str, other: str) -> bool:
    """Return whether one of two words begins as the other does after a prefix that negates it."""
    return any(
        longer.startswith(prefix) and not shorter.startswith(prefix) and longer[len(prefix) :][:3] == shorter[:3]
        for prefix in _NEGATIONS
        for longer, shorter in ((word, other), (other, word))
    )
