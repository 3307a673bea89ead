"""Word search over rows of one type."""

import operator
from functools import reduce

from django.db import connection
from django.db.models import Q
from django.db.models.lookups import GreaterThan

from workspace.errors import FieldError, invalid
from workspace.services.matching import WordsIn


def required_words(query: str) -> list[str]:
    """Return the distinct words of a query in order. Raises InvalidArgs if there are none."""
    sought = words(query)
    if not sought:
        message = "query has no words; send one or more words to find."
        raise invalid([FieldError(path="/query", code="blank", message=message)])
    return sought


def words(query: str) -> list[str]:
    """Return the distinct words of a query in order."""
    return list({word.casefold(): word for word in query.split()}.values())


def all_of(sought: list[str], *, columns: tuple[str, ...]) -> Q:
    """Return a case-insensitive filter for rows with every word, each in any of the columns."""
    return reduce(operator.and_, (_anywhere(word, columns) for word in sought))


def any_of(sought: list[str], *, columns: tuple[str, ...]) -> Q:
    """Return a case-insensitive filter for rows with at least one of the words."""
    return reduce(operator.or_, (_anywhere(word, columns) for word in sought))


def _anywhere(word: str, columns: tuple[str, ...]) -> Q:
    return reduce(operator.or_, (_contains(column, word) for column in columns))


def _contains(column: str, word: str) -> Q:
    if connection.vendor == "sqlite":
        return Q(GreaterThan(WordsIn(column, [word]), 0))
    return Q((f"{column}__icontains", word))  # the same rule; Django escapes %, _ and \
