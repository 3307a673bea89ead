"""How dangerous an imported op is, by its names and the first word of its text, whatever document it comes from.

An op that destroys or ends something asks the end user first, and its events say `delete`. So does a write with an
unknown verb, until an admin has reviewed it and cleared *Confirm* on the op. Later imports keep that.
"""

import re
from collections.abc import Sequence
from enum import StrEnum

from core.text.english import READ_VERBS
from registry.imports.import_source import ParsedToolName
from registry.request_mapping import READ_METHODS
from registry.text import harmful_verbs, tool_name_words
from registry.text.harmful_verbs import HARMFUL_NOUN_LIKE_VERBS
from registry.text.tool_name_words import VERBS, WRITE_VERBS

DELETE = "delete"  # the action of a harmful op
_DELETING_ACTIONS = frozenset((DELETE, "delete_all"))
UNKNOWN_VERB = (
    "Its name and text do not begin with a known verb, so it asks the end user first. "
    "If it harms nothing, clear Confirm on the op."
)
# Verbs that say that something is done, but not what.
_SAY_NOTHING = frozenset(("call", "control", "do", "execute", "invoke", "manage", "perform", "process", "run", "use"))
_TELLING_VERBS = VERBS - _SAY_NOTHING | frozenset(
    """
    access authenticate collect compress decrypt display encrypt increase obtain provide recognize reduce
    restore simulate transcribe undelete unarchive
""".split()
)

_HARMFUL_WORDS = harmful_verbs.HARMFUL_VERBS | HARMFUL_NOUN_LIKE_VERBS
_PLACEHOLDER = re.compile(r"\{[^{}]*\}")
_FINDING_SEGMENTS = frozenset(
    ("search", "query", "list", "find", "lookup", "count", "validate", "calculate", "estimate", "preview")
)
# Verbs in a path that are not reads, whatever the method, and harm nothing.
_ACTING_SEGMENTS = frozenset("logout create send disable enable restart start stop trigger submit approve".split())

# Verbs of a GET that only answer something, although those of other methods may write.
_SHOWING_VERBS = frozenset(
    "compose draw format generate log monitor paint plan render report stream test track watch".split()
)


class Danger(StrEnum):
    """What running an op may do."""

    NONE = "none"
    UNKNOWN = "unknown"
    HARMFUL = "harmful"

    @property
    def is_harmful(self) -> bool:
        return self == Danger.HARMFUL

    @property
    def asks_first(self) -> bool:
        """Whether the end user is asked before a call."""
        return self != Danger.NONE

    @property
    def remarks(self) -> Sequence[str]:
        """What the report of the import says."""
        return [UNKNOWN_VERB] if self == Danger.UNKNOWN else []

    def choose_action(self, parsed: ParsedToolName) -> str:
        """Return the action in the events of an op."""
        return DELETE if self.is_harmful and parsed.action not in _DELETING_ACTIONS else parsed.action


def judge_function(name: str, parsed: ParsedToolName, summary: str) -> Danger:
    """Return the danger of a function or a tool."""
    verb = parsed.verb.split("_")[0]
    is_known = parsed.has_verb and verb in _TELLING_VERBS
    return judge_names([name], summary, is_write=parsed.is_write, is_known=is_known)


def judge_operation(method: str, path: str, operation_id: str, text: str) -> tuple[bool, Danger]:
    """Return whether an operation of an HTTP service writes, and its danger. `text` is its description.

    A read that is taken for a write needs one more confirmation; a write that is taken for a read does harm.
    """
    segments = [part for part in _PLACEHOLDER.sub("", path.partition("?")[0]).replace(":", "/").split("/") if part]
    last = segments[-1] if segments else ""
    if method in READ_METHODS:
        if _is_harmful_read(operation_id, last, text):
            return True, Danger.HARMFUL
        return _acts(last, text) or _is_named_after_write(operation_id, last, text), Danger.NONE
    if method == "DELETE":
        return True, Danger.HARMFUL
    names = [operation_id, last, *(part for part in segments if part.lower() in harmful_verbs.HARMFUL_VERBS)]
    is_write = not _only_searches(method, last, text)
    is_collection = tool_name_words.to_singular(last.lower()) != last.lower()
    is_known = method != "POST" or is_collection or path.rstrip("/").endswith("}")  # HTTP says it: update, create
    danger = judge_names(names, text, is_write=is_write, is_known=is_known)
    return is_write or danger.is_harmful, danger


def _is_harmful_read(operation_id: str, last: str, text: str) -> bool:
    """Return whether a GET names what it destroys: /items/{id}/delete, but not listDeleteRequests."""
    opening = tool_name_words.get_first_word(text)
    words = tool_name_words.split_name(operation_id)
    if (words[0] if words else opening) in READ_VERBS:
        if last.lower() in harmful_verbs.HARMFUL_VERBS or _find_harmful_second_verb(words):
            return True
        return opening not in READ_VERBS and _is_named_after_harm(words, last, opening)
    verbs = (harmful_verbs.find_harmful_verb(name, other_verbs=VERBS) for name in (operation_id, last))
    return any(verb and not (verb in HARMFUL_NOUN_LIKE_VERBS and opening in READ_VERBS) for verb in verbs)


def _is_named_after_harm(words: Sequence[str], last: str, opening: str) -> bool:
    """Return whether a GET called a read does harm: getOrderCancel of .../cancel, or getCacheFlush, “Flush the cache”.

    Without a text, a path of several words decides, unless it is that of a collection: /delete-requests.
    """
    segment = tool_name_words.split_name(last)
    if opening in _HARMFUL_WORDS and opening in (*words[-1:], *segment[:1], *segment[-1:]):
        return True
    if not segment or segment[0] not in _HARMFUL_WORDS:
        return False
    return len(segment) == 1 or (not opening and tool_name_words.to_singular(segment[-1]) == segment[-1])


def _find_harmful_second_verb(words: Sequence[str]) -> str:
    """Return the harmful verb that follows another one, as in get_and_delete."""
    start = next((index for index, word in enumerate(words) if word in ("and", "or", "then")), len(words))
    return harmful_verbs.find_harmful_verb("_".join(words[start + 1 :]), other_verbs=VERBS)


def _acts(last: str, text: str) -> bool:
    words, opening = tool_name_words.split_name(last), tool_name_words.get_first_word(text)
    return bool(words) and words[0] in _ACTING_SEGMENTS and (opening in _ACTING_SEGMENTS or not opening)


def _is_named_after_write(operation_id: str, last: str, text: str) -> bool:
    """Return whether the name of a GET begins with the writing verb that ends its path: rotateToken of /tokens/rotate.

    One word alone may be a noun: report of /report.
    """
    words, segment = tool_name_words.split_name(operation_id), tool_name_words.split_name(last)
    if len(words) < 2 or words[:1] != segment or words[0] not in WRITE_VERBS - READ_VERBS - _SHOWING_VERBS:
        return False
    return tool_name_words.get_first_word(text) not in READ_VERBS


def _only_searches(method: str, last: str, text: str) -> bool:
    words, opening = tool_name_words.split_name(last), tool_name_words.get_first_word(text)
    is_search = method == "POST" and bool(words) and words[0] in _FINDING_SEGMENTS
    return is_search and opening not in WRITE_VERBS and (len(words) == 1 or opening in READ_VERBS)


def judge_names(names: Sequence[str], summary: str, *, is_write: bool, is_known: bool = False) -> Danger:
    """Return the danger of an op with these names.

    `is_write` says what is known apart from the list of harmful verbs. `is_known` says that something other than the
    names, such as the HTTP method, shows what the op does.
    """
    if any(harmful_verbs.find_harmful_verb(name, other_verbs=_TELLING_VERBS) for name in names):
        return Danger.HARMFUL
    if not is_write:
        return Danger.NONE
    opening = tool_name_words.get_first_word(summary)
    if opening in harmful_verbs.HARMFUL_VERBS:
        return Danger.HARMFUL
    if any(map(_has_known_verb, names)):
        return Danger.NONE
    if opening in HARMFUL_NOUN_LIKE_VERBS:
        return Danger.HARMFUL
    return Danger.NONE if is_known or opening in _TELLING_VERBS else Danger.UNKNOWN


def _has_known_verb(name: str) -> bool:
    words = tool_name_words.split_name(name)
    index = tool_name_words.find_verb(words, "")
    return (index is not None and words[index] in _TELLING_VERBS) or harmful_verbs.has_harmless_verb(name)
