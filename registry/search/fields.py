"""Read the words of ops for the index, field by field, as arrays."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from registry.catalogs import CatalogOp
from registry.search import words

# The weight of a word in each field. "prose" is notes, policy and examples; it often names other ops.
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

# Ends each text, so that all texts of a field are split in one call. A call for each takes ten times as long.
_END = words.BREAK


@dataclass(frozen=True)
class Read:
    """Every word of every op, in three arrays of the same length."""

    vocabulary: list[str]  # folded, not stemmed
    word: NDArray[np.int64]  # index in `vocabulary`
    op: NDArray[np.int64]  # index of its op
    field: NDArray[np.int64]  # index of its field in FIELDS


def read(ops: Sequence[CatalogOp], former: Sequence[Sequence[str]]) -> Read:
    """Return the words of ops. `former_names` has further names for each op, such as those of ops it succeeds."""
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
