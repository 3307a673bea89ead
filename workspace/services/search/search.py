"""Word search over rows of one type."""

import operator
from functools import reduce

from django.db import connection
from django.db.models import Q
from django.db.models.lookups import GreaterThan

from core.text.english import STOP_WORDS
from workspace.errors import ArgumentError, build_invalid_args
from workspace.services.search.matching import WordsIn

_PUNCTUATION = "?!.,"


def split_required_words(query: str) -> list[str]:
    """Return the distinct words of a query in order. Raises InvalidArgs if there are none."""
    query_words = split_words(query)
    if not query_words:
        message = "query has no words; send one or more words to find."
        raise build_invalid_args([ArgumentError(path="/query", code="blank", message=message)])
    return query_words


def split_words(query: str) -> list[str]:
    """Return the distinct words of a query in order, without the punctuation after them."""
    stripped = [word.rstrip(_PUNCTUATION) or word for word in query.split()]
    return list({word.casefold(): word for word in stripped}.values())


def leave_out_stop_words(query_words: list[str]) -> list[str]:
    """Return the words without those that any text has, such as "the"; all if there are no others."""
    return [word for word in query_words if word.casefold() not in STOP_WORDS] or query_words


def match_all_words(query_words: list[str], *, columns: tuple[str, ...]) -> Q:
    """Return a case-insensitive filter for rows with every word, each in any of the columns."""
    return reduce(operator.and_, (_match_any_column(word, columns) for word in query_words))


def match_any_word(query_words: list[str], *, columns: tuple[str, ...]) -> Q:
    """Return a case-insensitive filter for rows with at least one of the words."""
    return reduce(operator.or_, (_match_any_column(word, columns) for word in query_words))


def _match_any_column(word: str, columns: tuple[str, ...]) -> Q:
    return reduce(operator.or_, (_match_column(column, word) for column in columns))


def _match_column(column: str, word: str) -> Q:
    if connection.vendor == "sqlite":
        return Q(GreaterThan(WordsIn(column, [word]), 0))
    return Q((f"{column}__icontains", word))  # the same rule; Django escapes %, _ and \
