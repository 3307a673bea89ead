"""A linear model of turns: whether one changes something, and how much it needs each op.

`benchmarks/selection_training.py` makes turn_model.npz from labelled turns: the names of the features and of the
outputs, a weight for each pair of them, a weight for each kind of evidence, and one for each bucket of pieces of words,
which only say whether a turn changes something.
"""

import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gateway.toolset.selection.op_table import RELATIONS, Floats, spread_relations
from gateway.toolset.selection.turn_features import WORD, TurnFeatures

WRITES = "writes"  # the output that says whether a turn changes something
UNKNOWN = "unknown"  # the feature for words that the model does not know, by their share
UNKNOWN_LEVELS = 4
SEPARATOR = "\n"
MAX_SCORE = 30  # beyond it, a chance is 0 or 1
PATH = Path(__file__).with_suffix(".npz")


@dataclass(frozen=True, slots=True)
class TurnReading:
    """What the model says about a turn: the chance that it changes something, and of each op that it is needed."""

    write_chance: float
    op_chances: Floats  # by row of the table of ops


@dataclass(frozen=True)
class TurnModel:
    """Weights of shape (features, outputs), (kinds of evidence,) and (buckets,)."""

    row_by_feature: dict[str, int]
    outputs: tuple[str, ...]
    weights: NDArray[np.int8]
    scales: Floats  # of the weights, by output
    evidence_weights: Floats
    piece_weights: NDArray[np.int8]
    piece_scale: float

    @classmethod
    def load(cls, path: Path) -> "TurnModel":
        """Return the model in a file."""
        with np.load(path, allow_pickle=False) as arrays:
            features = arrays["features"].tobytes().decode().split(SEPARATOR)
            return cls(
                row_by_feature={feature: row for row, feature in enumerate(features)},
                outputs=tuple(arrays["outputs"].tobytes().decode().split(SEPARATOR)),
                weights=np.ascontiguousarray(arrays["weights"]),
                scales=arrays["scales"],
                evidence_weights=arrays["evidence"],
                piece_weights=arrays["pieces"],
                piece_scale=float(arrays["piece_scale"]),
            )

    @staticmethod
    def read_digest(path: Path) -> str:
        """Return the digest of the labelled turns that the model in a file was trained on."""
        with np.load(path, allow_pickle=False) as arrays:
            digest: str = arrays["digest"].tobytes().decode()
        return digest

    def save(self, path: Path, digest: str) -> None:
        """Write the model to a file, with the digest of the labelled turns that it was trained on."""
        np.savez_compressed(
            path,
            features=np.frombuffer(SEPARATOR.join(self.row_by_feature).encode(), dtype=np.uint8),
            outputs=np.frombuffer(SEPARATOR.join(self.outputs).encode(), dtype=np.uint8),
            weights=np.asfortranarray(self.weights),  # the values of an output resemble each other
            scales=self.scales,
            evidence=self.evidence_weights,
            pieces=self.piece_weights,
            piece_scale=np.float32(self.piece_scale),
            digest=np.frombuffer(digest.encode(), dtype=np.uint8),
        )

    def read_turn(self, features: TurnFeatures, op_outputs: Floats, evidence: Floats) -> TurnReading:
        """Return what a turn wants. `op_outputs` has the shape (ops, outputs), `evidence` (ops, kinds of evidence)."""
        rows = find_rows(features.names, self.row_by_feature)
        values = self.weights[rows].sum(axis=0, dtype=np.int32) * self.scales / np.sqrt(len(rows))
        scores = score_ops(values, self.outputs, op_outputs, evidence) + evidence @ self.evidence_weights
        pieces = self.piece_weights[features.pieces].sum(dtype=np.int32) * self.piece_scale
        writes = values[[self.outputs.index(WRITES)]] + pieces * scale_pieces(features)
        return TurnReading(float(compute_chances(writes)[0]), compute_chances(scores))


def scale_pieces(features: TurnFeatures) -> float:
    """Return what the sum of the weights of a turn's pieces is multiplied by, so that long messages count as short."""
    return 1 / math.sqrt(max(len(features.pieces), 1))


def find_rows(features: list[str], row_by_feature: dict[str, int]) -> list[int]:
    """Return the rows of the features that a model knows, and the row for the share of words that it does not."""
    words = [feature for feature in features if feature.startswith(WORD)]
    unknown = sum(1 for word in words if word not in row_by_feature) / max(len(words), 1)
    level = f"{UNKNOWN}:{min(int(unknown * (UNKNOWN_LEVELS + 1)), UNKNOWN_LEVELS)}"
    return [row_by_feature[feature] for feature in (*features, level) if feature in row_by_feature]


def score_ops(values: Floats, outputs: tuple[str, ...], op_outputs: Floats, evidence: Floats) -> Floats:
    """Return the score of each op by the values of the outputs: its own, and those of the evidence that it has."""
    relations: Floats = values[[outputs.index(name) for name in RELATIONS]]
    scores: Floats = op_outputs @ values + spread_relations(evidence) @ relations
    return scores


@cache
def load_model() -> TurnModel:
    """Return the shipped model, loaded once per process."""
    return TurnModel.load(PATH)


def compute_chances(scores: Floats) -> Floats:
    """Return the chances of logistic scores, of any shape."""
    return (1 / (1 + np.exp(-np.clip(scores, -MAX_SCORE, MAX_SCORE)))).astype(np.float32)
