"""Case-insensitive word matching in SQL, with the same rule on PostgreSQL and SQLite.

PostgreSQL folds case with UPPER. UPPER and LIKE of SQLite fold only ASCII, so a Python function replaces them there.
"""

from collections.abc import Sequence
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Func, IntegerField, Value
from django.db.models.sql.compiler import SQLCompiler

SQLITE_FUNCTION = "WORKSPACE_WORDS_IN"


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
    if connection.vendor == "sqlite":
        connection.connection.create_function(SQLITE_FUNCTION, -1, get_word_mask, deterministic=True)
