"""Detect whether a request or an op creates, reads, updates or deletes."""

from collections.abc import Sequence
from functools import lru_cache

from registry.catalogs import CatalogOp
from registry.search import words

CREATE, READ, UPDATE, DELETE = "create", "read", "update", "delete"

FIRST = 4  # words of a request in which its verb is expected

_VERBS = {
    CREATE: """
        add append attach book build compose create draft enroll generate insert invite issue log make new open order
        post publish record register reserve schedule send setup share start submit upload write
    """,
    READ: """
        analyze browse calculate check compare compute count describe determine display estimate explore fetch find
        get give identify know list look lookup measure obtain provide query read recommend retrieve search see show
        suggest tell view
    """,
    UPDATE: """
        adjust amend approve archive assign change complete configure convert correct edit enable extend fix improve
        link mark merge modify move rename reopen reorder replace reschedule resolve restore revise set track transfer
        update upgrade
    """,
    DELETE: """
        cancel clear close deactivate delete disable discard drop erase purge remove revoke stop unlink unsubscribe
    """,
}
_ACTIONS = {words.stem(verb): action for action, verbs in _VERBS.items() for verb in verbs.split() if words.stem(verb)}


def of_request(asked: Sequence[str]) -> str:
    """Return the action of the first verb in a request's first words; "" if there is none."""
    return _first(asked[:FIRST])


def of_op(op: CatalogOp) -> str:
    """Return the action of an op, from its record or else the verb in its name; "" if unknown."""
    return _named(op.action) or _first(words.split(op.tool_name))


@lru_cache(maxsize=1_000)  # thousands of ops share a few actions
def _named(action: str) -> str:
    return _first(words.split(action))


def _first(found: Sequence[str]) -> str:
    return next((action for word in found if (action := _ACTIONS.get(words.stem(word)))), "")
