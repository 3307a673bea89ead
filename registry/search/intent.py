"""Find which action a request or an op means, and which words belong to families of ops."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from core.text.english import LOOKUP_FILLERS, LOOKUP_VERBS, QUESTION_WORDS, REQUEST_VERBS
from registry.catalog.model import CatalogOp
from registry.models import get_parent_path
from registry.search import tokenizer
from registry.search.postings import Indexes
from registry.search.word_vectors import Floats

# Weights relative to an op's score, about 0 to 2. Chosen on search sets by leaving one out (docs/adr/0011).
LOOKUP_WEIGHT = 0.3
LOOKUP_SHARPNESS = 8  # how much less an op counts if it is not the best itself
LOOKED_UP_OPS = 3  # best ops whose ids are looked up
MIN_DISTANCE = 0.001  # how far a lookup ranks behind the op that needs it
MAX_OTHER_WORDS = 2  # of a lookup's name, besides its verb and its entity
_NAMESPACE = re.compile(r"^(.+?)(?:[./:]|__)")
_ID_WORDS = ("id", "ids")
_LAST_VERB = "list"  # a list is the last choice: it has all rows
_IGNORED_WORDS = LOOKUP_VERBS | LOOKUP_FILLERS
CREATE, READ, UPDATE, DELETE = "create", "read", "update", "delete"
LIST = "list"  # how ops call the most common way to read
VERB_WINDOW = 4  # significant words of a request in which its verb is expected
_ACTION_BY_STEM = {tokenizer.stem(verb): action for verb, action in REQUEST_VERBS.items() if tokenizer.stem(verb)}


def get_family(op: CatalogOp) -> str:
    """Return what an op shares with its siblings: the namespace of its tool name, or the path of its group.

    Ops directly in a group of the root are too many to be siblings, so each is its own family.
    """
    namespace = _NAMESPACE.match(op.tool_name)
    if namespace:
        return namespace.group(1)
    parent = get_parent_path(op.op)
    return parent if "." in parent else op.op


def number_families(ops: Sequence[CatalogOp]) -> tuple[Indexes, int]:
    """Return (the number of each op's family, the number of families)."""
    numbers: dict[str, int] = {}
    family_of_op = [numbers.setdefault(get_family(op), len(numbers)) for op in ops]
    return np.array(family_of_op, dtype=np.int64), len(numbers)


class IdLookups:
    """For each op that needs an id, the ops of its family that find one: tasks.search for tasks.get."""

    def __init__(self, ops: Sequence[CatalogOp]) -> None:
        names = [tokenizer.split_words(op.tool_name) for op in ops]
        wanted = [frozenset(_iter_wanted_entities(op, name)) for op, name in zip(ops, names, strict=True)]
        lookups: dict[tuple[str, str], tuple[tuple[bool, int], int]] = {}
        for index, (op, name) in enumerate(zip(ops, names, strict=True)):
            if LOOKUP_VERBS.isdisjoint(name):
                continue
            others = [tokenizer.stem(word) or word for word in name if word not in _IGNORED_WORDS]
            rank = LOOKUP_VERBS.isdisjoint(set(name) - {_LAST_VERB}), len(others) - 1
            for entity in set(others) - wanted[index]:
                place = get_family(op), entity
                if rank[1] <= MAX_OTHER_WORDS and (place not in lookups or rank < lookups[place][0]):
                    lookups[place] = rank, index
        self._lookups_by_op: dict[int, list[int]] = {}
        for index, op in enumerate(ops):
            found = {
                lookups[get_family(op), entity][1] for entity in wanted[index] if (get_family(op), entity) in lookups
            }
            if found:
                self._lookups_by_op[index] = sorted(found)

    def raise_scores(self, scores: Floats, candidates: NDArray[np.bool_]) -> list[int]:
        """Raise in place the scores of the ops that find what the best candidates need. Return the ops raised."""
        best = _find_best(scores, candidates, LOOKED_UP_OPS)
        raised: dict[int, float] = defaultdict(float)
        for op in best:
            distance = float(scores[op] - scores[best[0]])
            for lookup in self._lookups_by_op.get(int(op), ()):
                bonus = LOOKUP_WEIGHT * np.exp(LOOKUP_SHARPNESS * distance)
                raised[lookup] = max(
                    raised[lookup], min(float(scores[lookup]) + bonus, float(scores[op]) - MIN_DISTANCE)
                )
        higher = [lookup for lookup, score in raised.items() if score > scores[lookup]]
        for lookup in higher:
            scores[lookup] = raised[lookup]
        return higher


def _iter_wanted_entities(op: CatalogOp, name_words: Sequence[str]) -> Iterator[str]:
    """Yield the stems of the entities whose id an op needs: of project_id, or of its name's get_movie_by_movie_id."""
    for words in (name_words, *map(tokenizer.split_words, op.arguments)):
        is_name = words is name_words
        for entity, word in pairwise(words):
            if word in _ID_WORDS and (is_name or word is words[-1]):
                yield tokenizer.stem(entity) or entity


def _find_best(scores: Floats, candidates: NDArray[np.bool_], count: int) -> Indexes:
    """Return the indexes of the candidates with the highest scores, best first."""
    found = np.flatnonzero(candidates)
    if len(found) > count:
        found = found[np.argpartition(-scores[found], count)[:count]]
    return found[np.argsort(-scores[found], kind="stable")]


def detect_request_action(words: Sequence[str]) -> str:
    """Return the action of the first verb among a request's first significant words, or of a question; else ""."""
    significant = [word for word in words if tokenizer.stem(word)]
    action = _find_first_action(significant[:VERB_WINDOW])
    return action or (READ if words and words[0] in QUESTION_WORDS else "")


def detect_op_action(op: CatalogOp) -> str:
    """Return READ, or what a write does by its record, or else by the verb in its name; "" if unknown."""
    if not op.is_write:
        return READ
    return _detect_recorded_action(op.action) or _find_first_action(tokenizer.split_words(op.tool_name))


def is_list(op: CatalogOp) -> bool:
    """Return whether an op lists rows."""
    return LIST in tokenizer.split_words(op.action or op.tool_name)


@lru_cache(maxsize=1_000)  # thousands of ops share a few actions
def _detect_recorded_action(action: str) -> str:
    return _find_first_action(tokenizer.split_words(action))


def _find_first_action(candidates: Sequence[str]) -> str:
    return next((action for word in candidates if (action := _ACTION_BY_STEM.get(tokenizer.stem(word)))), "")
