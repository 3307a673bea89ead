"""Which words stand in a text, upper and lower case alike: one rule, told by both databases.

PostgreSQL folds case by UPPER. SQLite's own UPPER and LIKE fold ASCII only, so there Python's stands in for it.
"""

from collections.abc import Sequence
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Func, IntegerField, Value
from django.db.models.sql.compiler import SQLCompiler

SQLITE_FUNCTION = "WORKSPACE_WORDS_IN"


class WordsIn(Func):
    """The words that stand in a text, as bits of an integer: 1 is the first word, 2 the second, 4 the third.

    A long text costs more to unpack and fold than to search, so it is done once, however many the words.
    """

    function = SQLITE_FUNCTION
    output_field = IntegerField()

    def __init__(self, text: str | Func, words: Sequence[str], **extra: Any) -> None:
        super().__init__(text, *(Value(word) for word in words), **extra)

    def as_postgresql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **_: Any) -> tuple[str, list[Any]]:
        """Return a subquery; its OFFSET keeps the planner from folding the text again for each word."""
        text, *words = self.get_source_expressions()
        sql, params = compiler.compile(text)
        # LIKE, as icontains has it: of short words that do not occur, STRPOS takes half as long again to say so.
        bits = [f"CASE WHEN folded LIKE UPPER(%s) THEN {1 << index} ELSE 0 END" for index in range(len(words))]
        patterns = [f"%{connection.ops.prep_for_like_query(word.value)}%" for word in words]
        once = f"(SELECT UPPER({sql}) AS folded OFFSET 0) AS texts"
        return f"(SELECT {' + '.join(bits)} FROM {once})", [*patterns, *params]  # noqa: S608  # values are params


def folded(text: str) -> str:
    """Return a text as it is compared. ß stays one letter, as it does in PostgreSQL's libc locales."""
    return text.replace("ß", "ẞ").upper()


def words_in(text: str, *words: str) -> int:
    """Return what WordsIn does."""
    there = folded(text)
    return sum(1 << index for index, word in enumerate(words) if folded(word) in there)


def install(connection: BaseDatabaseWrapper, **_: Any) -> None:
    """Teach a new connection to SQLite the function that WordsIn calls there; a receiver of connection_created."""
    if connection.vendor == "sqlite":
        connection.connection.create_function(SQLITE_FUNCTION, -1, words_in, deterministic=True)
