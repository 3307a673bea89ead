"""Parse tool names into words, tell reads from writes, and number names that are taken."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import count, pairwise

import lemminflect
from anyascii import anyascii

from core.text import english
from registry.text.harmful_verbs import HARMFUL_NOUN_LIKE_VERBS, HARMFUL_VERBS

# Camel-case names that are one word.
_BRANDS = re.compile(
    r"IoT|iOS|OAuth|GraphQL|(?:Postgre|My|No)SQL|GitHub|GitLab|YouTube|LinkedIn|(?:Java|Type)Script|"
    r"i(?:Phone|Pad|Cloud)|eBay|Pay[Pp]al|WhatsApp|OpenAI|(?:Dev|ML)Ops|HubSpot|DocuSign|ClickUp|SharePoint|OneDrive|"
    r"(?<![A-Z])[A-Z]{2,12}s(?![a-z])"  # IDs, APIs
)
_WORD_START = re.compile(r"(?<=[A-Z])(?=[A-Z][a-z])|(?<=[a-z0-9])(?=[A-Z])")
_WORD = re.compile(
    r"(?<![a-z0-9])[a-z][0-9]{1,2}[a-z](?![a-z0-9])|[A-Z]+(?![a-z])[0-9]*|[A-Z]?[a-z]+[0-9]*|[0-9]+[a-z]*"
)

_NOT_PLURAL = ("ss", "us", "is", "ics")  # endings of words that the dictionary does not have


class NumberedNames:
    """Finds free names. A search goes on where the last one for the same name ended: no name becomes free again."""

    def __init__(self) -> None:
        self._last_numbers: dict[str, int] = {}

    def find_free(self, name: str, is_free: Callable[[str], bool]) -> str:
        """Return the first name with a number, from 2, that is free."""
        numbers = count(self._last_numbers.get(name, 2))
        number = next(number for number in numbers if is_free(f"{name}_{number}"))
        self._last_numbers[name] = number
        return f"{name}_{number}"


# Every verb that does not only read counts as a write: a read taken for a write needs an extra confirmation, but a
# write taken for a read does harm.
WRITE_VERBS = english.WRITE_VERBS | HARMFUL_VERBS | HARMFUL_NOUN_LIKE_VERBS
VERBS = english.READ_VERBS | WRITE_VERBS
_NOUN_LIKE_VERBS = english.NOUN_LIKE_VERBS | (HARMFUL_NOUN_LIKE_VERBS - {"cancel", "clear", "reset"})
_FINAL_VERBS = frozenset(("list", "search", "run", "query", "check"))  # also at the end of a name: contact_list


def load_dictionaries() -> None:
    """Read the files of the dictionary and of all scripts, for a process that can open no files later."""
    to_singular("words")
    anyascii("".join(chr(block << 8) for block in range(0x1100)))


def split_name(name: str) -> list[str]:
    """Return the words of a name in lower case, in Latin letters: 订单 is `ding dan`.

    Splits at camel-case humps and punctuation; digits stay attached.
    """
    latin = name if name.isascii() else anyascii(name)
    unbranded = _BRANDS.sub(lambda match: match[0].capitalize(), latin)
    spaced = _WORD_START.sub(" ", unbranded)
    return [word.lower() for word in _WORD.findall(spaced)]


@lru_cache(maxsize=20_000)
def to_singular(word: str) -> str:
    """Return the singular of a noun, from a dictionary; for a word that is not in it, guessed from its ending.

    A word that is used in the plural for one thing stays: stats, settings, data.
    """
    if own := english.SINGULARS.get(word):
        return own
    if word in english.NO_PLURALS or len(word) < 3:
        return word
    nouns = lemminflect.getLemma(word, "NOUN", lemmatize_oov=False)
    if nouns:
        return str(nouns[0])
    if len(word) < 4 or not word.endswith("s") or word.endswith(_NOT_PLURAL):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("sses", "shes", "ches", "xes", "zzes")) else word[:-1]


def is_plural(word: str) -> bool:
    """Return whether a noun names several things."""
    return to_singular(word) != word


@lru_cache(maxsize=20_000)
def to_infinitive(word: str) -> str:
    """Return the infinitive of a verb in the third person, `creates`; another word in the singular."""
    verbs = lemminflect.getLemma(word, "VERB", lemmatize_oov=False) if word.endswith("s") else ()
    return str(verbs[0]) if verbs else to_singular(word)


@lru_cache(maxsize=20_000)
def is_verb(word: str) -> bool:
    """Return whether a word can be a verb: one of our lists, with `un` or `re` before it, or one of the dictionary."""
    if word in VERBS or (word[:2] in ("un", "re") and word[2:] in VERBS):
        return True
    return word in lemminflect.getLemma(word, "VERB", lemmatize_oov=False)


def find_verb(words: Sequence[str], description: str) -> int | None:
    """Return the index of the verb in the words of a name, or None.

    An unknown first word counts as a verb if the description begins with it: `irrigateCrop`, "Irrigate a field".
    """
    if not words:
        return None
    first, last = words[0], words[-1]
    if first in VERBS and (len(words) > 1 or first not in _NOUN_LIKE_VERBS):
        return 0
    if len(words) > 1 and len(first) > 3 and get_first_word(description) == first and first == to_singular(first):
        return 0
    unambiguous_verbs = VERBS - _NOUN_LIKE_VERBS
    if last in unambiguous_verbs | _FINAL_VERBS:
        return len(words) - 1
    return next((index for index, word in enumerate(words) if word in unambiguous_verbs), 0 if first in VERBS else None)


def get_first_word(description: str) -> str:
    """Return the first word of a description, without a final s: "Returns all …" gives return."""
    word = next(iter(_WORD.findall(description[:100])), "").lower()
    return word if word in VERBS else to_infinitive(word)


def is_description_read_only(description: str, verb: str) -> bool:
    """Return whether an op only reads, judged by the first sentence of its description."""
    sentence_words = split_name(description[:300].split(". ")[0])
    return verb in english.READ_VERBS and not any(
        word in WRITE_VERBS and word not in _NOUN_LIKE_VERBS for word in sentence_words
    )


def has_write_verb(words: Sequence[str], verb: str) -> bool:
    """Return whether an op writes, judged by the verbs in its name: `get_or_create_user` does."""
    word_pairs = pairwise(words)
    return verb not in english.READ_VERBS or any(
        word in ("or", "and") and following in WRITE_VERBS for word, following in word_pairs
    )
