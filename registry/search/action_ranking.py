"""Lower the ops that do something else than a request wants."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from registry.catalog.model import CatalogOp
from registry.jsonschema import dialect
from registry.search import intent, request_intent, tokenizer
from registry.search.postings import Indexes
from registry.search.request_intent import RequestIntent
from registry.search.word_vectors import Floats

# Chosen on public sets of tools and on requests for the shipped ops (docs/adr/0011).
LIST_BONUS = 0.02  # of an op that lists, if the request reads
PLURAL_LIST_BONUS = 0.06  # the same, if it names several
OPTION_BONUS = 0.15  # of an op that has the request's verb as a choice of how to do it: of an update, append
DESCRIBING_WEIGHT = 0.9  # of an op on what only describes the object: of a task in "create a project with tasks"
OPPOSITE_WEIGHT = 0.5  # of an op that does the opposite of the request's verb
OTHER_WRITE_WEIGHT = 0.97  # of a write whose action is unknown or close to the wanted one
# How much of its score an op keeps, by the action that the request wants and then by what the op does.
ACTION_WEIGHTS = {
    intent.READ: {intent.READ: 1, intent.CREATE: 0.7, intent.UPDATE: 0.7, intent.DELETE: 0.7, "": 0.7},
    intent.CREATE: {intent.READ: 0.9, intent.CREATE: 1, intent.DELETE: 0.8},
    intent.UPDATE: {intent.READ: 0.9, intent.CREATE: 0.9, intent.UPDATE: 1, intent.DELETE: 0.8},
    intent.DELETE: {intent.READ: 0.9, intent.CREATE: 0.8, intent.DELETE: 1},
}


class ActionRanker:
    """What the ops of an index do, and which of them undo each other."""

    def __init__(self, ops: Sequence[CatalogOp]) -> None:
        self._subject_of_op, self._subject_count = _number_subjects(ops)
        actions = [intent.detect_op_action(op) for op in ops]
        self._weights = {
            wanted: np.array([weights.get(action, OTHER_WRITE_WEIGHT) for action in actions], dtype=np.float32)
            for wanted, weights in ACTION_WEIGHTS.items()
        }
        self._lists = np.array([intent.is_list(op) for op in ops], dtype=bool)
        self._ops_by_verb = _index_verbs(ops)
        self._ops_by_option = _index_options(ops)
        self._ops_by_entity = _index_entities(ops)

    def lower_scores(self, scores: Floats, wanted: RequestIntent) -> None:
        """Lower in place the scores of the ops that do something else than a request wants, or the opposite of it.

        A user who reads without saying more wants a list.
        """
        if wanted.actions:
            weights = np.max([self._weights[action] for action in wanted.actions], axis=0)
            scores *= 1 - wanted.certainty * (1 - weights)
            if wanted.certainty == 1:
                self._rank_behind_siblings(scores, weights)
        if intent.READ in wanted.actions:
            scores += (PLURAL_LIST_BONUS if wanted.is_plural else LIST_BONUS) * self._lists
        for stem in wanted.described_by:
            scores[self._ops_by_entity.get(stem, [])] *= DESCRIBING_WEIGHT
        for verb in wanted.verbs:
            scores[self._ops_by_option.get(verb, [])] += OPTION_BONUS
            opposites = {op for other in request_intent.list_opposites(verb) for op in self._ops_by_verb.get(other, ())}
            scores[sorted(opposites.difference(self._ops_by_verb.get(verb, ())))] *= OPPOSITE_WEIGHT

    def _rank_behind_siblings(self, scores: Floats, weights: Floats) -> None:
        """Lower in place the scores of ops of another action below the best sibling with the wanted one."""
        is_wanted = weights >= OTHER_WRITE_WEIGHT
        best = np.zeros(self._subject_count, dtype=np.float32)
        np.maximum.at(best, self._subject_of_op[is_wanted], scores[is_wanted])
        limits = best[self._subject_of_op] - intent.MIN_DISTANCE
        lowered = ~is_wanted & (limits > 0)
        scores[lowered] = np.minimum(scores[lowered], limits[lowered])


def _index_entities(ops: Sequence[CatalogOp]) -> dict[str, list[int]]:
    """Return {stem of an entity: indexes of the ops that are about it}."""
    places: dict[str, list[int]] = defaultdict(list)
    for op_index, op in enumerate(ops):
        places[tokenizer.stem(op.entity)].append(op_index)
    return dict(places)


def _number_subjects(ops: Sequence[CatalogOp]) -> tuple[Indexes, int]:
    """Return (the number of what each op is about, how many there are): ops about the same are siblings.

    That is its family and entity, or the nouns of its tool name.
    """
    numbers: dict[tuple[str, str], int] = {}
    keys = [(intent.get_family(op), op.entity or _get_nouns(op.tool_name)) for op in ops]
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64), len(numbers)


def _get_nouns(name: str) -> str:
    words = [word for word in tokenizer.split_words(name) if word not in request_intent.VERBS]
    return " ".join(filter(None, map(tokenizer.stem, words)))


def _index_options(ops: Sequence[CatalogOp]) -> dict[str, list[int]]:
    """Return {verb: indexes of the ops that have it as a choice of how to do what they do}."""
    places: dict[str, list[int]] = defaultdict(list)
    for op_index, op in enumerate(ops):
        choices = {
            choice
            for argument in op.arguments.values()
            if isinstance(argument, dict) and argument.get(dialect.OPTION) and isinstance(argument.get("enum"), list)
            for choice in argument["enum"]
            if isinstance(choice, str)
        }
        for verb in choices & request_intent.VERBS:
            places[verb].append(op_index)
    return dict(places)


def _index_verbs(ops: Sequence[CatalogOp]) -> dict[str, list[int]]:
    """Return {verb that has an opposite: indexes of the ops with it in their name}."""
    places: dict[str, list[int]] = defaultdict(list)
    for op_index, op in enumerate(ops):
        for word in set(tokenizer.split_words(op.tool_name)):
            if request_intent.list_opposites(word):
                places[word].append(op_index)
    return dict(places)
