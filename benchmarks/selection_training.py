"""Train the model of turns on labelled conversations, and judge it on conversations that it was not trained on.

Each op of each turn is an example of a logistic regression: it is needed or not. The words of a turn say which
outputs count (kinds of rows, actions, ops), and an op's score is the sum of its outputs and of what else speaks for it.
One more output says whether the turn changes something. AdaGrad fits all of it together; the weights are the mean of
the last epochs, as int8.
"""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks import selection
from benchmarks.joined_turns import join_turns
from gateway.toolset.selection import candidates
from gateway.toolset.selection.heuristics import TurnInput
from gateway.toolset.selection.op_table import EVIDENCE, RELATIONS, Floats, OpTable, list_outputs, spread_relations
from gateway.toolset.selection.turn_features import PIECE_BUCKETS
from gateway.toolset.selection.turn_model import (
    UNKNOWN,
    UNKNOWN_LEVELS,
    WRITES,
    TurnModel,
    compute_chances,
    find_rows,
    scale_pieces,
)

TRAINING = Path(__file__).parents[1] / "tests" / "data" / "selection_training.jsonl"
MIN_TURNS = 3  # that have a feature
EPOCHS, AVERAGED_EPOCHS = 10, 6
STEP = 0.15
DECAY = 0.012  # of a weight, each time that its feature occurs
NEEDED_WEIGHT = 2.0  # of an op that a turn needs: there are few
WRITES_WEIGHT = 3.0
COMMON, LEVELS, MAX_LEVEL = 99.9, 15, 127  # per cent of the weights of an output have so few levels, the others more
MIN_LEVEL = 3  # of a weight for ops
SMALLEST_SQUARE = 0.1  # of a gradient: a rare feature moves little


@dataclass(frozen=True, slots=True)
class TrainingTurn:
    """A turn with its labels: which ops it needs (by row of its table), and whether it changes something."""

    read: TurnInput
    needed: Floats
    writes: bool
    weight: float


def read_training_turns(lines: Iterable[str]) -> Iterator[TrainingTurn]:
    """Yield the turns of labelled conversations, and those that are made from them.

    Turns that need nothing but are no reads are left out.
    """
    written = list(lines)
    for labels, turn, conversation, catalog in selection.iterate_turns([*written, *join_turns(written)]):
        if turn.get("given") or (turn["intent"] != "read" and not turn["needs"]):
            continue
        request = selection.build_request(labels, conversation)
        read = TurnInput.of_request(request, candidates.list_candidates(catalog, request), catalog)
        names = {name for need in selection.list_needs(turn) for name in need}
        needed = np.array([op.tool_name in names for op in read.table.ops], dtype=np.float32)
        yield TrainingTurn(read, needed, turn["intent"] != "read", labels.get("weight", 1.0))


def train(turns: Sequence[TrainingTurn], *, seed: int = 0) -> TurnModel:
    """Return a model of turns."""
    counts = Counter(feature for turn in turns for feature in turn.read.features.names)
    levels = [f"{UNKNOWN}:{level}" for level in range(UNKNOWN_LEVELS + 1)]
    features = [*sorted(feature for feature, count in counts.items() if count >= MIN_TURNS), *levels]
    tables: dict[int, OpTable] = {id(turn.read.table): turn.read.table for turn in turns}
    names = {name for table in tables.values() for op in table.ops for name in list_outputs(op)}
    trainer = _Trainer({feature: row for row, feature in enumerate(features)}, (WRITES, *RELATIONS, *sorted(names)))
    generator = np.random.default_rng(seed)
    rows = [np.array(find_rows(turn.read.features.names, trainer.row_by_feature)) for turn in turns]
    for epoch in range(EPOCHS):
        for at in generator.permutation(len(turns)):
            trainer.learn(turns[at], rows[at])
        if epoch >= EPOCHS - AVERAGED_EPOCHS:
            trainer.add_to_mean()
    return trainer.build_model()


class _Trainer:
    """The weights of a model while it learns, and the sums of their squared gradients."""

    def __init__(self, row_by_feature: dict[str, int], outputs: tuple[str, ...]) -> None:
        self.row_by_feature = row_by_feature
        self._outputs = outputs
        self._relations = [outputs.index(name) for name in RELATIONS]
        self._weights = np.zeros((len(row_by_feature), len(outputs)), dtype=np.float32)
        self._squares = np.full_like(self._weights, SMALLEST_SQUARE)
        self._sum = np.zeros_like(self._weights)
        self._evidence = np.zeros(len(EVIDENCE), dtype=np.float32)
        self._evidence_squares = np.full_like(self._evidence, SMALLEST_SQUARE)
        self._evidence_sum = np.zeros_like(self._evidence)
        self._pieces = np.zeros(PIECE_BUCKETS, dtype=np.float32)
        self._piece_squares = np.full_like(self._pieces, SMALLEST_SQUARE)
        self._piece_sum = np.zeros_like(self._pieces)
        self._summed = 0

    def learn(self, turn: TrainingTurn, rows: NDArray[np.int64]) -> None:
        evidence, op_outputs = turn.read.evidence, turn.read.table.get_outputs(self._outputs)
        relations = spread_relations(evidence)
        scale = np.float32(1 / np.sqrt(len(rows)))
        weights = self._weights[rows]
        values = weights.sum(axis=0) * scale
        scores = op_outputs @ values + relations @ values[self._relations] + evidence @ self._evidence
        errors = (compute_chances(scores) - turn.needed) * np.where(turn.needed, NEEDED_WEIGHT, 1) * turn.weight
        slopes = op_outputs.T @ errors
        slopes[self._relations] += relations.T @ errors
        writes = self._outputs.index(WRITES)
        pieces, piece_scale = turn.read.features.pieces, scale_pieces(turn.read.features)
        write_score = values[[writes]] + self._pieces[pieces].sum() * piece_scale
        write_slope = WRITES_WEIGHT * turn.weight * (compute_chances(write_score)[0] - turn.writes)
        slopes[writes] += write_slope
        piece_gradients = piece_scale * write_slope + DECAY * self._pieces[pieces]
        self._piece_squares[pieces] += piece_gradients**2
        self._pieces[pieces] -= STEP * piece_gradients / np.sqrt(self._piece_squares[pieces])
        gradients = scale * slopes[None, :].astype(np.float32) + DECAY * weights
        squares = self._squares[rows] + gradients**2
        self._squares[rows] = squares
        self._weights[rows] = weights - STEP * gradients / np.sqrt(squares)
        gradient = evidence.T @ errors
        self._evidence_squares += gradient**2
        self._evidence -= STEP * gradient / np.sqrt(self._evidence_squares)

    def add_to_mean(self) -> None:
        self._sum += self._weights
        self._evidence_sum += self._evidence
        self._piece_sum += self._pieces
        self._summed += 1

    def build_model(self) -> TurnModel:
        """Return the model with rounded weights, without those that say little, so that the file is small."""
        weights = self._sum / self._summed
        scales = np.maximum(np.percentile(np.abs(weights), COMMON, axis=0), 1e-6) / LEVELS
        rounded = np.clip(np.round(weights / scales), -MAX_LEVEL, MAX_LEVEL).astype(np.int8)
        is_of_op = np.array(self._outputs) != WRITES
        rounded[(np.abs(rounded) < MIN_LEVEL) & is_of_op] = 0
        kept = np.flatnonzero(rounded.any(axis=1))
        features = list(self.row_by_feature)
        piece_weights = self._piece_sum / self._summed
        piece_scale = float(np.abs(piece_weights).max() or 1) / MAX_LEVEL
        pieces = np.round(piece_weights / piece_scale).astype(np.int8)
        return TurnModel(
            row_by_feature={features[row]: at for at, row in enumerate(kept)},
            outputs=self._outputs,
            weights=rounded[kept],
            scales=scales.astype(np.float32),
            evidence_weights=(self._evidence_sum / self._summed).astype(np.float32),
            piece_weights=pieces,
            piece_scale=piece_scale,
        )


def read_lines() -> list[str]:
    """Return the labelled conversations that a model may learn from: all that are not held out."""
    lines = [*selection.CONVERSATIONS.read_text().splitlines(), *TRAINING.read_text().splitlines()]
    return [line for line in lines if json.loads(line)["split"] != selection.HELD_OUT]


def compute_digest(lines: Iterable[str]) -> str:
    """Return what tells labelled conversations from others."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def cross_validate(lines: Sequence[str]) -> Iterator[selection.SelectedTurn]:
    """Yield each turn of the split "dev" as a model selects its tools that has seen no conversation of the same set.

    A set is what one author wrote at a time: conversations whose names begin with the same letters.
    """
    by_set: dict[str, list[str]] = defaultdict(list)
    for line in lines:
        by_set[_get_set(line)].append(line)
    turns = {name: list(read_training_turns(each)) for name, each in by_set.items()}
    for name, held_out in by_set.items():
        if json.loads(held_out[0])["split"] == selection.DEV:
            model = train([turn for other, each in turns.items() if other != name for turn in each])
            yield from selection.replay_conversations(held_out, model)


def _get_set(line: str) -> str:
    name: str = json.loads(line)["conversation"]
    return name.rstrip("0123456789")
