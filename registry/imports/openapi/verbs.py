"""The verb of an operation: what its path, its operationId, its summary and its method say that it does."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from core.text.english import ARTICLES, COMMON_VERBS, NOUN_LIKE_VERBS, PREPOSITIONS, READ_VERBS
from registry.imports.openapi.url_paths import PathSegment
from registry.text import tool_name_words
from registry.text.harmful_verbs import HARMFUL_NOUN_LIKE_VERBS, HARMFUL_VERBS
from registry.text.name_parts import BATCH_WORDS, Words, to_singular
from registry.text.tool_name_words import VERBS, find_verb, is_plural, is_verb, split_name


def _split_to_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ITEM_VERBS = {"GET": "get", "PUT": "update", "PATCH": "update", "DELETE": "delete", "POST": "update", "HEAD": "check"}
_LIST_VERBS = {"GET": "list", "PUT": "replace", "PATCH": "update_many", "DELETE": "delete_all", "POST": "create"}
_LIST_VERBS |= {"HEAD": "check"}
_METHODS = _split_to_set("put post patch head options")  # verbs that only repeat a method
_NOUN_LIKE = NOUN_LIKE_VERBS | HARMFUL_NOUN_LIKE_VERBS
_NOUNS = _split_to_set("list count check report view query record test rank preview")
_FINAL_VERBS = _split_to_set("list search query check run")  # at the end of a name: contacts_list
_ENDING = _split_to_set("deactivate disable disconnect leave detach stop end exit logout revert block restore dismiss")
_CREATING = _split_to_set("create add insert make register new")
# Verbs that say nothing at the start of a summary: "Use this endpoint to …", "Allows you to …".
_AFTER_VERBS = PREPOSITIONS | _split_to_set("all and or")
_SAY_NOTHING = _split_to_set("allow call control do execute invoke manage perform process provide request run use")
_PARTS = re.compile(r"[./:_\s]+")
_LIST_OF = re.compile(
    r"\b\w{1,40}\s{1,9}(?:(?:an?|the|all)\s{1,9})?(?:\w{1,40}\s{1,9})?list of\b|\b\w{1,40}\s{1,9}all\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class OperationIntent:
    """What an operation does, by its operationId and its summary.

    `verb` is its verb, "" if neither has one; `is_from_id`: the operationId has it. `opening` are the verbs that they
    begin with. `lists`: they speak of several things, `is_about_all`: of all of them, `is_about_several`: the noun of
    the operationId is in the plural. `words` are those of the operationId, `text` those of the summary.
    """

    verb: str = ""
    is_from_id: bool = False
    opening: Collection[str] = ()
    lists: bool = False
    is_about_all: bool = False
    is_about_several: bool = False
    words: Words = ()
    text: Words = ()


def read_intent(method: str, operation_id: str, summary: str, nouns: Collection[str] = ()) -> OperationIntent:
    """Return what operationId and summary say. An operationId that only repeats the method says nothing.

    `nouns` are the words of the path, in the singular: the issue of issueEditComment is no verb.
    """
    words = tuple(split_name(operation_id))
    verb, others = _find_id_verb(operation_id, method.lower(), nouns)
    said = tool_name_words.get_first_word(summary)
    text = tuple(split_name(summary[:200]))
    is_list = bool(_LIST_OF.match(summary))
    is_about_all = "all" in words or "all" in text
    opening = {said, verb} - {""}
    if others[:1] in (("or",), ("and",)):  # create or update, which is what PUT does
        return OperationIntent("", False, opening, words=words, text=text)
    if not verb or verb == method.lower() != "get":
        verb = said if _is_verb_of_summary(said, text) else ""
        lists = verb == "list" or (verb in ("get", "return") and is_list)
        return OperationIntent(verb, False, opening, lists, is_about_all, words=words, text=text)
    has_id = "by" in others or "id" in others
    gets = COMMON_VERBS.get(verb, verb) == "get"
    lists = verb == "list" or (gets and (is_list or (not has_id and _names_several(others))))
    return OperationIntent(verb, True, opening, lists, is_about_all, _names_several(others), words, text)


def _find_id_verb(operation_id: str, method: str, nouns: Collection[str]) -> tuple[str, Words]:
    """Return the verb of an operationId and the words after it; "" if it has none."""
    parts = [part for part in map(split_name, _PARTS.split(operation_id)) if part]
    words = tuple(word for part in parts for word in part)
    if any(len(part) > 1 for part in parts) or "." in operation_id or "/" in operation_id:
        for part in reversed(parts):  # drive.files.emptyTrash, repos/list-for-org, Contacts_DeleteContact
            if part[0] == method or (part[0] in VERBS and not (part[0] in _NOUN_LIKE and part[0] in nouns)):
                return part[0], tuple(part[1:])
    index = find_verb(words, "")
    if index is not None and words[index] in _NOUN_LIKE and words[index] in nouns:
        index = next((at for at, word in enumerate(words) if word in VERBS and word not in _NOUN_LIKE), None)
    if index is None:
        return "", ()
    return words[index], words[index + 1 :] or words[:index]


def _names_several(nouns: Words) -> bool:
    """Return whether the first noun, before a preposition, is in the plural."""
    first = [word for word in nouns if word not in ARTICLES]
    end = next((index for index, word in enumerate(first) if word in ("for", "in", "of", "from", "to", "with")), None)
    return bool(first[:end]) and is_plural(first[:end][-1])


def _is_verb_of_summary(word: str, text: Words) -> bool:
    following = text[1:2]
    if word not in VERBS or word in _SAY_NOTHING or following in (("or",), ("and",)):
        return False
    is_object = bool(following) and (
        following[0] in ARTICLES or following[0] in ("all", "if", "whether", "your", "this") or is_plural(following[0])
    )
    return word not in _NOUN_LIKE or is_object


def find_action(method: str, segments: Sequence[PathSegment], intent: OperationIntent, *, is_rpc: bool) -> Words | None:
    """Return the words of the last segment if it says what is done: /orders/{id}/cancel, /users/search, /users.list.

    `is_rpc`: the paths of the document are names of functions.
    """
    last = segments[-1]
    words, verb = last.words, last.words[0]
    if len(words) == 1:
        return words if _is_single_action(method, segments, verb, intent) else None
    if verb in BATCH_WORDS:
        return words if words[1] in VERBS else None
    if words[-1] in VERBS and verb not in VERBS and _ends_in_verb(words, intent):
        return (words[-1], *words[:-1])  # users_list
    if (last.is_dotted and verb in VERBS) or (is_rpc and is_verb(verb)):
        return words
    is_confirmed = verb in intent.opening or (method != "GET" and words == intent.words)
    if verb not in VERBS:  # a verb that only the document knows: /unmark_song, "Unmark a song"
        return words if method != "GET" and is_verb(verb) and is_confirmed else None
    if is_confirmed:
        return words
    if words[1] in _AFTER_VERBS:  # archiveAllCards, markAsRead
        return words
    may_be_noun = intent.opening if verb in _NOUN_LIKE else intent.is_from_id or _is_phrase(words, intent.text)
    return words if method in ("GET", "POST") and not may_be_noun else None


def _is_phrase(words: Words, text: Words) -> bool:
    """Return whether a text has the words after its first one, as a noun: "Add a deploy key"."""
    keys, within = to_singular(words), [to_singular((word,))[0] for word in text]
    return any(tuple(within[at : at + len(keys)]) == keys for at in range(1, len(within)))


def _ends_in_verb(words: Words, intent: OperationIntent) -> bool:
    """Return whether the last word is the verb: users_list or contact_create, but not price_list."""
    last = words[-1]
    if last in _NOUN_LIKE:
        return words == intent.words or (is_plural(words[-2]) and last in _FINAL_VERBS)
    return last == intent.verb or not intent.is_from_id


def _is_single_action(method: str, segments: Sequence[PathSegment], verb: str, intent: OperationIntent) -> bool:
    if is_plural(verb):
        return False
    is_confirmed = verb in intent.opening
    if verb not in VERBS:
        return method != "GET" and len(segments) > 1 and is_verb(verb) and is_confirmed
    if segments[-1].is_dotted:
        return True
    if method == "GET":
        if is_confirmed and verb not in _NOUN_LIKE and len(segments) > 1:  # GET /cache/purge
            return True
        above = next((each.words for each in reversed(segments[:-1]) if each.words), None)
        if verb == "list" and above and is_plural(above[-1]):  # /events/list
            return True
        return verb in READ_VERBS and (verb not in _NOUNS or is_confirmed) and (len(segments) > 1 or is_confirmed)
    if verb in _NOUN_LIKE and intent.is_from_id and not is_confirmed:  # POST /issue, createIssue
        return False
    if method == "POST":
        return len(segments) > 1 or is_confirmed or verb not in _NOUN_LIKE
    return len(segments) > 1 and (is_confirmed or verb not in _NOUN_LIKE)


def is_done_to(resource: Words, verb: str) -> bool:
    """Return whether a resource is only what a verb makes: following and follow, assignment and assign."""
    stem = verb.removeprefix("un")
    return len(stem) > 3 and resource[-1].startswith(stem[: max(4, len(stem) - 2)])


def choose_verb(
    method: str, intent: OperationIntent, *, is_item: bool, lists: bool, methods: Collection[str], is_write: bool
) -> str:
    """Return the verb: that of the intent if it fits the method and says more, else the method's.

    `lists`: the path is that of several things, or the answer is a list. `methods` are all those of the path.
    `is_write`: it does more than read, whatever its method.
    """
    plain = _choose_plain_verb(method, is_item=is_item, lists=lists, methods=methods)
    verb = intent.verb
    common = COMMON_VERBS.get(verb, verb)
    if method == "GET":
        if is_write and intent.is_from_id:
            return plain if common in READ_VERBS else common
        if intent.lists:
            return "list"
        return common if common in READ_VERBS and common not in ("get", "list", "search", "find") else plain
    if not verb or verb.upper() == method or verb in _METHODS:
        return plain
    if method == "POST":
        if verb in _CREATING:
            return "create" if verb != "add" or plain == "create" else verb
        return "list" if common == "get" and (lists or intent.lists) and not is_item else common
    if method == "DELETE" and (common == "delete" or not _ends_something(verb)):
        return verb if (verb, plain) == ("remove", "delete_all") and not intent.is_about_all else plain
    if common == "update" and not is_item and intent.is_from_id and not intent.is_about_several:
        return common if "PATCH" not in methods else plain
    if common in READ_VERBS or common in ("update", "delete"):
        return plain
    return common


def _ends_something(verb: str) -> bool:
    """Return whether a verb can stand for DELETE: revoke, unfollow, leave."""
    return verb in HARMFUL_VERBS | HARMFUL_NOUN_LIKE_VERBS | _ENDING or verb.startswith("un")


def _choose_plain_verb(method: str, *, is_item: bool, lists: bool, methods: Collection[str]) -> str:
    if method == "GET" and not is_item and not lists:
        return "get"
    if method == "PUT" and "PATCH" in methods:
        return "replace"
    if method == "POST" and is_item and {"PUT", "PATCH"} & set(methods):
        return "post"
    if is_item:
        return _ITEM_VERBS.get(method, method.lower())
    if not lists and method in ("PUT", "PATCH", "DELETE"):
        return _ITEM_VERBS[method]
    return _LIST_VERBS.get(method, method.lower())
