"""What models mean by the names and values that they send, whatever the catalog calls them.

It is only ever proposed in a corrected call, never applied to a call that runs (docs/adr/0022).
"""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from core.text import english
from core.text.english import to_snake_case
from registry.catalog.model import CatalogOp
from registry.vocabulary import NO_VOCABULARY, CatalogVocabulary, find_general_action

LABELS = ("title", "name", "text")  # the arguments that name a row, for people

_MEANINGLESS_SUFFIXES = ("_date", "_at", "_on", "_time", "_datetime", "_string", "_text", "_value", "_str", "_key")
_MEANINGLESS_PREFIXES = ("new_", "updated_", "the_", "my_", "set_")
_PRESENT = ("source", "from", "current", "old", "src")  # where a row is now, not where it should go
_ID_ENDING = re.compile(r"_?(?:id|uuid|guid|ref|identifier|name|title)\Z")
_INCLUSION = "include_"  # begins the name of what an answer has besides its rows
_LEADING_LEVEL = re.compile(r"(?:p|prio|priority|level|sev)?[ _-]?([0-9])(?:\b|_).{0,30}")


def find_argument(
    name: str, op: CatalogOp, *, arguments: Collection[str] | None = None, missing: Collection[str] = ()
) -> str | None:
    """Return the argument of an op that a name means, None if it means none of them or could mean several.

    `arguments` are those of an object in its args, if the name is in one. If there are several, the one that is
    required and missing is meant.
    """
    arguments = op.arguments if arguments is None else arguments
    spellings = _list_spellings(name, op.entity)
    for spelling in spellings:
        if spelling in arguments:
            return spelling
        if label := _find_label(spelling, arguments, op, missing):
            return label
        if id_argument := _find_id_argument(spelling, arguments, op):
            return id_argument
        meant = _find_meant(spelling, arguments, op.vocabulary.argument_names) or _find_meant(
            spelling, arguments, english.ARGUMENT_NAMES
        )
        needed = meant & set(missing)
        if len(meant) == 1 or len(needed) == 1:
            return (needed or meant).pop()
    return _find_same_words(spellings[0], arguments)


def _find_label(spelling: str, arguments: Collection[str], op: CatalogOp, missing: Collection[str]) -> str | None:
    """Return the argument that names a row, for the entity's own word (task: "Buy milk") or a short text."""
    own_words = (op.entity, *op.vocabulary.get_entity_words(op.entity))
    if spelling.removesuffix("_name").removesuffix("_title") in own_words:
        is_title = spelling not in own_words or f"{op.entity}_id" not in arguments
        return _find_first(LABELS, arguments) if is_title else None
    return _find_first(LABELS, missing) if spelling in english.TITLE_NAMES else None


def _find_same_words(spelling: str, arguments: Collection[str]) -> str | None:
    """Return the one argument with the same words but for fillers: with_subtasks means include_subtasks."""
    words = _get_content_words(spelling)
    matches = [each for each in arguments if words and _get_content_words(each) == words]
    return matches[0] if len(matches) == 1 else None


def _get_content_words(name: str) -> frozenset[str]:
    return frozenset(word.removesuffix("s") for word in name.split("_") if word not in english.NAME_FILLERS)


def _find_meant(spelling: str, arguments: Collection[str], name_sets: english.WordSets) -> set[str]:
    """Return the first argument of each set of names that has a spelling."""
    return {name for names in name_sets if spelling in names and (name := _find_first(names, arguments))}


def _find_first(names: Iterable[str], arguments: Collection[str]) -> str | None:
    return next((name for name in names if name in arguments), None)


def _find_id_argument(spelling: str, arguments: Collection[str], op: CatalogOp) -> str | None:
    """Return the id argument that a name means: `task` means `task_id`, and `id` that of the op's own entity."""
    if spelling in english.OWN_ID_NAMES or (op.entity == "entity" and spelling.endswith("_id")):
        spelling = op.entity
    words = _ID_ENDING.sub("", spelling).split("_")
    if words[0] in _PRESENT and f"expected_{'_'.join(words[1:])}_id" in arguments:
        return f"expected_{'_'.join(words[1:])}_id"
    for start in range(len(words)):
        stem = _find_entity("_".join(words[start:]), arguments, op.vocabulary)
        if f"{stem}_id" in arguments:
            return f"{stem}_id"
        if start == 0 and f"{stem.removesuffix('s')}_ids" in arguments:
            return f"{stem.removesuffix('s')}_ids"
        longer = [name for name in arguments if name.endswith(f"_{stem}_id")]
        if len(longer) == 1:
            return longer[0]
    return None


def _find_entity(word: str, arguments: Collection[str], vocabulary: CatalogVocabulary) -> str:
    """Return the entity that a word means, if there is an argument for its id; else the word."""
    words_by_entity = vocabulary.words_by_entity
    meant = [entity for entity, words in words_by_entity.items() if word in words and f"{entity}_id" in arguments]
    return meant[0] if len(meant) == 1 else word


def _list_spellings(name: str, entity: str) -> list[str]:
    """Return a name in snake_case, and without prefixes that add nothing, such as the entity's name."""
    spelling = to_snake_case(name[:100])
    prefixes = (*_MEANINGLESS_PREFIXES, f"{entity}_") if entity else _MEANINGLESS_PREFIXES
    shorter = [spelling.removeprefix(prefix) for prefix in prefixes if spelling.startswith(prefix)]
    shorter += [spelling.removesuffix(suffix) for suffix in _MEANINGLESS_SUFFIXES if spelling.endswith(suffix)]
    return [spelling, *filter(None, shorter)]


def find_option(value: str, options: Mapping[str, Any], vocabulary: CatalogVocabulary) -> Any:
    """Return what a value means among {word: value}, None if it means nothing there or could mean several."""
    word = to_snake_case(value[:100])
    by_spelling = {to_snake_case(option): meant for option, meant in options.items()}
    if word in by_spelling:
        return by_spelling[word]
    if (single := word.removesuffix("s")) in by_spelling:
        return by_spelling[single]
    meanings = {by_spelling[each] for words in english.VALUES if word in words for each in words if each in by_spelling}
    meanings |= {
        by_spelling[entity]
        for entity, words in vocabulary.words_by_entity.items()
        if not {word, single}.isdisjoint(words) and entity in by_spelling
    }
    return meanings.pop() if len(meanings) == 1 else None


def means_option(word: Any, options: Collection[str]) -> bool:
    """Return whether a word means one of several options in itself."""
    return isinstance(word, str) and find_option(word, {each: each for each in options}, NO_VOCABULARY) is not None


def find_states(word: Any, states: Collection[str]) -> list[str]:
    """Return the states that a word such as open or closed asks for in a filter; none if it is not such a word."""
    snake_word = to_snake_case(word[:100]) if isinstance(word, str) else ""
    if snake_word in states or snake_word not in english.OPEN_STATES | english.CLOSED_STATES:
        return []
    return [state for state in states if (state in english.FINAL_STATES) == (snake_word in english.CLOSED_STATES)]


def find_action(verb: str, vocabulary: CatalogVocabulary) -> str | None:
    """Return the action of ops that a verb asks for."""
    return vocabulary.action_by_word.get(verb) or find_general_action(verb)


def is_cancelling(verb: str) -> bool:
    """Return whether a verb calls something off."""
    return verb in ("cancel", "call_off", "cancelled", "canceled")


def read_level(value: str) -> int | None:
    """Return the number of a level such as "P1", "2 - high" or "priority 3"."""
    found = _LEADING_LEVEL.fullmatch(value.strip().lower())
    return int(found[1]) if found else None


def find_added_text(name: str, op: CatalogOp) -> str | None:
    """Return the text to which a name such as progress_note or append_text says to add; None if it says nothing."""
    if not is_adding(name):
        return None
    text = find_argument(to_snake_case(name[:100]).rpartition("_")[2], op)
    return text if text and is_long_text(text) else None


def is_long_text(argument: str) -> bool:
    """Return whether an argument is a long text, judged by its last word: executive_summary is one."""
    return argument.rpartition("_")[2] in english.LONG_TEXTS


def find_note_text(op: CatalogOp) -> str | None:
    """Return the long text of an op in which a value without a field can be noted."""
    endings = {argument.rpartition("_")[2]: argument for argument in op.arguments}
    return next((endings[text] for text in english.NOTE_TEXTS if text in endings), None)


def is_adding(name: str) -> bool:
    """Return whether the name of a text says to add it to the text that is there."""
    word = to_snake_case(name[:100])
    first, _, _ = word.partition("_")
    return (
        word in english.ADDING_NAMES or word.rpartition("_")[2] in english.ADDING_NAMES or first in english.ADDING_WORDS
    )


def is_opposite(name: str, target: str) -> bool:
    """Return whether a name takes out what an argument takes in: exclude_ids for task_ids.

    A time that is "not before" another one takes out nothing.
    """
    word = to_snake_case(name[:100])
    excluding = english.EXCLUDING_WORDS.intersection(word.split("_"))
    return bool(excluding) and not word.startswith("not_before") and excluding.isdisjoint(target.split("_"))


def is_about_answer(name: str, *, is_write: bool) -> bool:
    """Return whether the name of an argument says what to answer, rather than what to do and with which rows."""
    word = to_snake_case(name[:100])
    if is_write:
        # A write with a limit or include_subtasks would do less without them, or more.
        return word in english.FORM_NAMES
    if word in english.FORM_NAMES | english.PAGE_NAMES | english.OFFSET_NAMES:
        return True
    included = word.removeprefix(_INCLUSION)
    # include_done is a filter by state.
    return included not in {word, "deleted", *english.FINAL_STATES, *english.OPEN_STATES, *english.CLOSED_STATES}
