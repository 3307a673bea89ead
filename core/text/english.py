"""General English: the words in english.yaml, snake_case, and the name that was probably meant."""

import difflib
import re
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import yaml

_WORDS: dict[str, Any] = yaml.load(Path(__file__).with_suffix(".yaml").read_bytes(), Loader=yaml.CSafeLoader)
WordSets = tuple[tuple[str, ...], ...]  # words of one set mean the same; the first that a schema has is meant


def _read_words(key: str) -> tuple[str, ...]:
    return tuple(_WORDS[key].split())


def _read_set(key: str) -> frozenset[str]:
    return frozenset(_read_words(key))


def _read_sets(key: str) -> WordSets:
    return tuple(tuple(words.split()) for words in _WORDS[key])


def _read_meanings(key: str) -> dict[str, str]:
    """Return {word: meaning}."""
    pairs = [(word, meaning) for meaning, words in _WORDS[key].items() for word in words.split()]
    meanings = dict(pairs)
    if len(meanings) < len(pairs):
        raise ValueError(f"A word of {key} has two meanings.")
    return meanings


def _read_numbers(key: str) -> dict[str, int]:
    """Return {word: number}."""
    return {word: number for number, words in _WORDS[key].items() for word in words.split()}


def _read_opposites(key: str) -> dict[str, frozenset[str]]:
    """Return {verb: its opposites}. The first word of a set is the opposite of each other one."""
    opposites: dict[str, set[str]] = defaultdict(set)
    for first, *others in _read_sets(key):
        opposites[first].update(others)
        for other in others:
            opposites[other].add(first)
    return {verb: frozenset(others) for verb, others in opposites.items()}


def _read_phrases(key: str) -> str:
    """Return the pattern of phrases."""
    phrases = "|".join(_WORDS["phrases"][key].split(" | "))
    return rf"\b(?:{phrases})\b"


# english.yaml says what each of these is.
STOP_WORDS = _read_set("stop_words")
EVERYDAY_NOUNS = _read_set("everyday_nouns")
ACTION_VERBS = _read_sets("action_verbs")
REQUEST_VERBS = _read_meanings("request_verbs")
QUESTION_WORDS = _read_set("question_words")
QUESTION_OPENINGS = _read_set("question_openings")
REQUEST_OPENINGS = _read_set("request_openings")
SUBJECTS = _read_set("subjects")
DETERMINERS = _read_set("determiners")
OPPOSITES = _read_opposites("opposites")
AUXILIARIES = _read_set("auxiliaries")
UNSURE_VERBS = _read_set("unsure_verbs")
LOOKUP_VERBS = _read_set("lookup_verbs")
LOOKUP_FILLERS = _read_set("lookup_fillers")
SERVICE_FILLERS = _read_set("service_fillers")
READ_VERBS = _read_set("read_verbs")
WRITE_VERBS = _read_set("write_verbs")
NOUN_LIKE_VERBS = _read_set("noun_like_verbs")
SINGULARS = _read_meanings("singulars")
NO_PLURALS = _read_set("no_plurals")
COMMON_VERBS = _read_meanings("common_verbs")
PREPOSITIONS = _read_set("prepositions")
MODIFIER_OPENINGS = _read_set("modifier_openings")
ARTICLES = _read_set("articles")
ASKS_CHANGE = re.compile(_read_phrases("change"), re.IGNORECASE)
ASKS_WEB = re.compile(_read_phrases("web"), re.IGNORECASE)
ASKS_PRODUCT = re.compile(_read_phrases("product"), re.IGNORECASE)
ARGUMENT_NAMES = _read_sets("argument_names")
TITLE_NAMES = _read_set("title_names")
NAME_FILLERS = _read_set("name_fillers")
OWN_ID_NAMES = _read_set("own_id_names")
WRAPPER_NAMES = _read_set("wrapper_names")
ADDING_NAMES = _read_set("adding_names")
ADDING_WORDS = _read_set("adding_words")
EXCLUDING_WORDS = _read_set("excluding_words")
LONG_TEXTS = _read_set("long_texts")
NOTE_TEXTS = _read_words("note_texts")
ABSENT_FIELDS = _read_set("absent_fields")
FORM_NAMES = _read_set("form_names")
PAGE_NAMES = _read_set("page_names")
OFFSET_NAMES = _read_set("offset_names")
OCCURRENCE_TIMES = _read_set("occurrence_times")
VALUES = _read_sets("values")
USER_NAMES = _read_set("user_names")
OWN_WORDS = _read_set("own_words")
GUARD_NAMES = _read_set("guard_names")
ALL_WORDS = _read_set("all_words")
NUMBERS = _read_numbers("number_words")
LIKELIHOODS = _read_numbers("likelihoods")
ORDINALS = _read_words("ordinals")
FIRST_WORDS = _read_set("first_words")
POSITION_NAMES = _read_set("position_names")
OPEN_STATES = _read_set("open_states")
CLOSED_STATES = _read_set("closed_states")
FINAL_STATES = _read_set("final_states")
RELATIONS = _read_meanings("relations")

_SEPARATORS = re.compile(r"[\s._\-/]+")
_MAX_COMPARED = 300  # names that one name is compared with; a comparison takes 15 µs
_NEGATIONS = ("un", "in", "not_", "non_")
_CAMEL_CASE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def to_snake_case(name: str) -> str:
    """Return a name in snake_case: `taskId`, `Task ID` and `task-id` become `task_id`."""
    return _SEPARATORS.sub("_", _CAMEL_CASE.sub("_", name).strip()).lower()


def find_similar(name: str, candidates: Iterable[str], *, limit: int = 3, cutoff: float = 0.6) -> list[str]:
    """Return up to `limit` of the names that are similar to `name`, most similar first.

    A negation is not similar: inactive never means active. Of more than 300 candidates, only those that begin alike or
    share a word are compared, because a call can have many unknown names for an op of many arguments.
    """
    word = to_snake_case(name[:200])
    by_snake_case = {_to_known_snake_case(candidate): candidate for candidate in candidates}
    if len(by_snake_case) > _MAX_COMPARED:
        words = {each for each in word.split("_") if len(each) > 1}
        near = (each for each in by_snake_case if each[:2] == word[:2] or not words.isdisjoint(each.split("_")))
        by_snake_case = {other: by_snake_case[other] for other in islice(near, _MAX_COMPARED)}
    by_snake_case = {other: known for other, known in by_snake_case.items() if not _is_negation(word, other)}
    return [by_snake_case[match] for match in difflib.get_close_matches(word, by_snake_case, limit, cutoff)]


@lru_cache(maxsize=5_000)
def _to_known_snake_case(name: str) -> str:
    """Return a candidate in snake_case. Candidates are the same few names in each call."""
    return to_snake_case(name)


def _is_negation(word: str, other: str) -> bool:
    """Return whether one of two words begins as the other does after a prefix that negates it."""
    return any(
        longer.startswith(prefix) and not shorter.startswith(prefix) and longer[len(prefix) :][:3] == shorter[:3]
        for prefix in _NEGATIONS
        for longer, shorter in ((word, other), (other, word))
    )


def find_field_names(sent: Iterable[str], names: Iterable[str]) -> list[str]:
    """Return the fields that names mean: due_at for due, and * for all; none if one of them means no field."""
    names = list(names)
    fields = {name.removesuffix("_key"): name for name in names} | {name: name for name in names}
    meant: dict[str, None] = {}
    for name in sent:
        word = to_snake_case(name[:100])
        if word.split("_")[0] in ALL_WORDS:
            return ["*"]
        sets = (words for words in ARGUMENT_NAMES if word in words)
        same = {next((fields[each] for each in words if each in fields), "") for words in sets} - {""}
        found = [fields[word]] if word in fields else sorted(same) or find_similar(word, names, limit=1, cutoff=0.85)
        if len(found) != 1:
            return []
        meant[found[0]] = None
    return list(meant)
