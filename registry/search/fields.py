"""What is read of an op for its index, field by field, as arrays of words."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from registry.catalogs import CatalogOp
from registry.search import words

# How much a word counts by where it stands. Prose is notes, policy and examples: it often names other ops.
WEIGHTS = {
    "name": 3.0,
    "aliases": 2.0,
    "keywords": 2.0,
    "summary": 1.5,
    "description": 1.0,
    "arguments": 0.7,
    "prose": 0.3,
}
FIELDS = tuple(WEIGHTS)

# Each text ends with one, so that the texts of a field are split as one: a call for each would take ten times as long.
_END = words.BREAK


@dataclass(frozen=True)
class Read:
    """Every word of every op, in three arrays of the same length; `vocabulary` says what the words are."""

    vocabulary: list[str]  # folded, not stemmed
    word: NDArray[np.int64]  # its place in the vocabulary
    op: NDArray[np.int64]  # the place of the op that has it
    field: NDArray[np.int64]  # the place in FIELDS where it stands


def read(ops: Sequence[CatalogOp], former: Sequence[Sequence[str]]) -> Read:
    """Return the words of some ops; `former` are names that each is found by as well, such as of ops it succeeds."""
    places: dict[str, int] = defaultdict(lambda: len(places))
    end = places[_END]
    texts = [_texts(op, names) for op, names in zip(ops, former, strict=True)]
    parts = []
    for at, field in enumerate(FIELDS):
        found = words.split("".join(text[field].replace(_END, " ") + _END for text in texts))
        word = np.array([places[each] for each in found], dtype=np.int64)
        said = word != end
        op = np.cumsum(~said)[said]
        parts.append((word[said], op, np.full(len(op), at)))
    word, op, field_of = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Read(list(places), word, op, field_of)


def _texts(op: CatalogOp, former: Sequence[str]) -> dict[str, str]:
    titles = (example.get(part, "") for example in op.examples for part in ("title", "note"))
    return {
        "name": f"{op.op} {op.tool_name}",
        "aliases": " ".join((*op.aliases, *former)),
        "keywords": " ".join((*op.keywords, op.entity, op.action)),
        "summary": op.summary,
        "description": op.description,
        "arguments": " ".join((*op.arguments, *op.argument_aliases)),
        "prose": " ".join((op.notes, *(rule for rules in op.policy.values() for rule in rules), *titles)),
    }
