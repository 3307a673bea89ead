"""Read the words of ops for the index, field by field, as arrays."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from registry.catalog.model import CatalogOp
from registry.search import tokenizer

# The weight of a word in each field. "prose" is the path, notes, policy and examples; it often names other ops.
WEIGHTS = {
    "name": 3.0,
    "aliases": 2.0,
    "keywords": 2.0,
    "text": 1.0,
    "arguments": 0.5,
    "argument_texts": 0.3,
    "prose": 0.3,
}
FIELDS = tuple(WEIGHTS)

MAX_TEXT = 4_000  # characters of a description, and of all texts on arguments, that are indexed

# Ends each text, so that all texts of a field are split in one call. A call for each takes ten times as long.
_TEXT_END = tokenizer.BREAK


@dataclass(frozen=True)
class IndexedWords:
    """Every word of every op, in three arrays of the same length."""

    vocabulary: list[str]  # folded, not stemmed
    word_ids: NDArray[np.int64]  # index in `vocabulary`
    op_ids: NDArray[np.int64]  # index of its op
    field_ids: NDArray[np.int64]  # index of its field in FIELDS


def read_op_words(ops: Sequence[CatalogOp], former_names: Sequence[Sequence[str]]) -> IndexedWords:
    """Return the words of ops. `former_names` has further names for each op, such as those of ops it succeeds."""
    word_indexes: dict[str, int] = defaultdict(lambda: len(word_indexes))
    end_index = word_indexes[_TEXT_END]
    texts = [_list_field_texts(op, names) for op, names in zip(ops, former_names, strict=True)]
    parts = []
    for field_index, field in enumerate(FIELDS):
        field_words = tokenizer.split_words("".join(text[field].replace(_TEXT_END, " ") + _TEXT_END for text in texts))
        word = np.array([word_indexes[each] for each in field_words], dtype=np.int64)
        is_word = word != end_index
        op = np.cumsum(~is_word)[is_word]
        parts.append((word[is_word], op, np.full(len(op), field_index)))
    word, op, field_of = (np.concatenate(part) for part in zip(*parts, strict=True))
    return IndexedWords(list(word_indexes), word, op, field_of)


def _list_field_texts(op: CatalogOp, former_names: Sequence[str]) -> dict[str, str]:
    titles = (example.get(part, "") for example in op.examples for part in ("title", "note"))
    path_in_group = op.op.partition(".")[2]
    return {
        "name": op.tool_name,
        "aliases": " ".join((*op.aliases, *former_names)),
        "keywords": " ".join((*op.keywords, op.entity, op.action)),
        "text": _join_summary(op.summary, op.description),
        "arguments": " ".join((*op.arguments, *op.argument_aliases)),
        "argument_texts": " ".join(_iter_argument_texts(op))[:MAX_TEXT],
        "prose": " ".join(
            (path_in_group, op.notes, *(rule for rules in op.policy.values() for rule in rules), *titles)
        ),
    }


def _join_summary(summary: str, description: str) -> str:
    """Return both texts. The summary of an imported op often is the beginning of its description."""
    text = description[:MAX_TEXT]
    return text if text.startswith(summary) else f"{summary} {text}"


def _iter_argument_texts(op: CatalogOp) -> Iterator[str]:
    """Yield the descriptions and the values in words of the arguments."""
    for schema in op.arguments.values():
        if isinstance(schema, dict):
            yield from _iter_schema_texts(schema)


def _iter_schema_texts(schema: dict[str, Any]) -> Iterator[str]:
    yield str(schema.get("description", ""))
    values = schema.get("enum", ())
    if isinstance(values, list):
        yield from (value for value in values if isinstance(value, str))
