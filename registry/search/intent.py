"""Detect whether a request or an op creates, reads, updates or deletes."""

from collections.abc import Sequence
from functools import lru_cache

from registry.catalog.model import CatalogOp
from registry.search import tokenizer

CREATE, READ, UPDATE, DELETE = "create", "read", "update", "delete"
LIST = "list"  # how ops call the most common way to read

VERB_WINDOW = 4  # significant words of a request in which its verb is expected
# Words that begin a request to read, without a verb that says so: "what is late", "my todos".
QUESTION_WORDS = frozenset(
    [
        *("what", "which", "who", "when", "where", "how", "is", "are", "do", "does", "did", "was", "were", "any"),
        *("anything", "show", "tell", "give", "get", "my", "our", "all"),
    ]
)

_VERBS_BY_ACTION = {
    CREATE: """
        add append attach book build compose create draft enroll generate insert invite issue jot log make new
        note open order pencil post publish record register reserve schedule send setup share start submit
        upload write
    """,
    READ: """
        analyze browse calculate check compare compute count describe determine display estimate explain explore
        fetch find get give identify know list look lookup measure obtain provide query read recommend remind
        retrieve search see show suggest tell view visit
    """,
    UPDATE: """
        adjust amend approve archive assign bump change complete configure convert correct delay edit enable
        extend fix improve link mark merge modify move park pause postpone prioritise prioritize push rename
        reopen reorder replace reschedule resolve restore resume revise set shift swap switch tick track
        transfer update upgrade
    """,
    DELETE: """
        bin cancel clear close deactivate delete disable discard ditch drop dump erase purge remove revoke scrap
        stop throw trash unlink unsubscribe wipe
    """,
}
_ACTION_BY_STEM = {
    tokenizer.stem(verb): action
    for action, verbs in _VERBS_BY_ACTION.items()
    for verb in verbs.split()
    if tokenizer.stem(verb)
}


def detect_request_action(words: Sequence[str]) -> str:
    """Return the action of the first verb among a request's first significant words, or of a question; else ""."""
    significant = [word for word in words if tokenizer.stem(word)]
    action = _find_first_action(significant[:VERB_WINDOW])
    return action or (READ if words and words[0] in QUESTION_WORDS else "")


def detect_op_action(op: CatalogOp) -> str:
    """Return the action of an op, from its record or else the verb in its name; "" if unknown."""
    return _detect_recorded_action(op.action) or _find_first_action(tokenizer.split_words(op.tool_name))


def is_list(op: CatalogOp) -> bool:
    """Return whether an op lists rows."""
    return LIST in tokenizer.split_words(op.action or op.tool_name)


@lru_cache(maxsize=1_000)  # thousands of ops share a few actions
def _detect_recorded_action(action: str) -> str:
    return _find_first_action(tokenizer.split_words(action))


def _find_first_action(candidates: Sequence[str]) -> str:
    return next((action for word in candidates if (action := _ACTION_BY_STEM.get(tokenizer.stem(word)))), "")
