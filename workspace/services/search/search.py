"""Search rows by words, and match words against texts.

PostgreSQL folds case with UPPER. UPPER and LIKE of SQLite fold only ASCII, so a Python function replaces them there.
"""

import operator
from collections.abc import Sequence
from functools import reduce
from typing import Any

from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Func, IntegerField, Q, Value
from django.db.models.lookups import GreaterThan
from django.db.models.sql.compiler import SQLCompiler

from core.handler_contract import ArgumentError, build_invalid_args
from core.text.english import STOP_WORDS

SQLITE_FUNCTION = "WORKSPACE_WORDS_IN"
_PUNCTUATION = "?!.,"


class WordsIn(Func):
    """The words that occur in a text, as a bit mask: 1 is the first word, 2 the second, 4 the third.

    Decompressing and folding a long text costs more than searching it, so both happen once for all words.
    """

    function = SQLITE_FUNCTION
    output_field = IntegerField()

    def __init__(self, text: str | Func, words: Sequence[str], **extra: Any) -> None:
        super().__init__(text, *(Value(word) for word in words), **extra)

    def as_postgresql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **_: Any) -> tuple[str, list[Any]]:
        """Return a subquery. Its OFFSET keeps the planner from folding the text again for each word."""
        text, *words = self.get_source_expressions()
        sql, params = compiler.compile(text)
        # LIKE, as in icontains: STRPOS takes 50% longer for short words that do not occur.
        bits = [f"CASE WHEN folded LIKE UPPER(%s) THEN {1 << index} ELSE 0 END" for index in range(len(words))]
        patterns = [f"%{connection.ops.prep_for_like_query(word.value)}%" for word in words]
        subquery = f"(SELECT UPPER({sql}) AS folded OFFSET 0) AS texts"
        return f"(SELECT {' + '.join(bits)} FROM {subquery})", [*patterns, *params]  # noqa: S608  # values are params


def fold_case(text: str) -> str:
    """Return the case-folded text. ß stays one letter, as in PostgreSQL's libc locales."""
    return text.replace("ß", "ẞ").upper()


def get_word_mask(text: str, *words: str) -> int:
    """Return the same bit mask as WordsIn."""
    folded_text = fold_case(text)
    return sum(1 << index for index, word in enumerate(words) if fold_case(word) in folded_text)


def install_sqlite_function(connection: BaseDatabaseWrapper, **_: Any) -> None:
    """Create the SQL function for WordsIn on a new SQLite connection. A receiver of connection_created."""
    connection.connection.create_function(SQLITE_FUNCTION, -1, get_word_mask, deterministic=True)


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
