"""Read a name as verb, resource and what narrows them: the one place for function lists, MCP tools and OpenAPI."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.text import english
from registry.text import tool_name_words

Words = tuple[str, ...]
BATCH_WORDS = frozenset(("batch", "bulk", "multi"))  # before a verb: batchUpsert


@dataclass(frozen=True, slots=True)
class NameReading:
    """The parts of a name. `verb` can join several with underscores: get_or_create."""

    verb: str
    verb_index: int
    resource: Words
    qualifier: Words


def read_words(words: Sequence[str], description: str = "") -> NameReading | None:
    """Return the parts of a name, or None if it has no verb. Lists of things are `list`: get_contacts is contact.list.

    An unknown first word counts as a verb if the description begins with it.
    """
    index = tool_name_words.find_verb(words, description)
    if index is None:
        return None
    verb, before, after = words[index], list(words[:index]), list(words[index + 1 :])
    if before and before[-1] in BATCH_WORDS:
        verb, before = f"{before[-1]}_{verb}", before[:-1]
    while len(after) > 1 and after[0] in ("or", "and"):  # get_or_create_user
        verb, after = f"{verb}_{after[0]}_{after[1]}", after[2:]
    resource, qualifier = (before, after) if before else split_qualifier(after)
    return NameReading(verb, index, tuple(resource), tuple(qualifier))


def split_qualifier(nouns: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split nouns into (resource, what narrows it), such as (users, all) and (user, by email)."""
    all_words = ["all"] if list(nouns[:1]) == ["all"] else []
    nouns = list(nouns[len(all_words) :])
    while len(nouns) > 1 and nouns[0] != "by" and (nouns[0] in english.PREPOSITIONS or nouns[0] in english.ARTICLES):
        nouns = nouns[1:]
    end = next((index for index, word in enumerate(nouns) if word in english.PREPOSITIONS), len(nouns))
    return nouns[:end], all_words + nouns[end:]


def to_singular(words: Sequence[str]) -> Words:
    """Return the words of a resource with the last one in the singular."""
    return (*words[:-1], tool_name_words.to_singular(words[-1])) if words else ()


def drop_repeated_words(words: Sequence[str]) -> list[str]:
    """Drop repeated leading words, as in the generated name CountryCountryInfo."""
    keys = list(map(tool_name_words.to_singular, words))
    half = next((n for n in range(len(words) // 2, 0, -1) if keys[:n] == keys[n : 2 * n]), 0)
    return list(words[half:])


def drop_parent(words: Sequence[str], parent: Sequence[str]) -> Words:
    """Return words without those of the resource above, at the beginning: user, user_task_list is task_list."""
    count = len(parent)
    if parent and len(words) > count and to_singular(words[:count]) == to_singular(parent):
        return tuple(words[count:])
    return tuple(words)
