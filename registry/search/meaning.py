"""What words mean, as vectors: static ones, which were learnt once and which the wordllama wheel carries.

No model runs and nothing is downloaded: a word's vector is the sum of those of its pieces, a text's that of its words.
"""

import json
import struct
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

Floats = NDArray[np.float32]

SPACE = "▁"  # the piece that stands before a word that has no piece with its beginning
FIRST_PIECE = 259  # before it come control signs and the 256 bytes, which spell what no piece does and mean nothing


class Vectors:
    """A table of vectors by piece, mapped so that all processes share its memory, and what cuts words to pieces."""

    def __init__(self, weights: Path, tokenizer: Path) -> None:
        self._table = _mapped(weights)
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._space = self._tokenizer.token_to_id(SPACE)
        self.size = int(self._table.shape[1])

    def of(self, words: Sequence[str]) -> Floats:
        """Return of each word the sum of its pieces' vectors, shape (words, size); zeros for one of unknown signs."""
        cut = self._cut(words)
        pieces = np.array([piece for ids in cut for piece in ids], dtype=np.int64)
        owner = np.repeat(np.arange(len(cut)), [len(ids) for ids in cut])
        meant = (pieces >= FIRST_PIECE) & (pieces != self._space)
        return summed(self._table[pieces[meant]].astype(np.float32), owner[meant], len(cut))

    def is_word(self, word: str) -> bool:
        """Whether a word is a piece of its own: a usual word or name, then, and no slip of another."""
        return len(self._cut([word])[0]) == 1

    def _cut(self, words: Sequence[str]) -> list[list[int]]:
        """Return the pieces of each word, of a name's capitalised form where that is one piece: Paris, Monday."""
        as_is, capital = (
            [each.ids for each in self._tokenizer.encode_batch_fast(list(form), add_special_tokens=False)]
            for form in (words, map(str.capitalize, words))
        )
        return [name if len(name) == 1 < len(ids) else ids for ids, name in zip(as_is, capital, strict=True)]


@cache
def vectors() -> Vectors | None:
    """Return the vectors of this process; None where the machine has no wheel of them."""
    found = find_spec("wordllama")  # where it lies; importing it would run code that is for training and downloads
    if found is None or not found.submodule_search_locations:
        return None
    folder = Path(found.submodule_search_locations[0])
    return Vectors(
        folder / "weights" / "l2_supercat_256.safetensors",
        folder / "tokenizers" / "l2_supercat_tokenizer_config.json",
    )


def summed(rows: Floats, owner: NDArray[np.int64], count: int) -> Floats:
    """Add up rows by owner, whose numbers ascend; return shape (count, width), zeros for who has none."""
    found = np.zeros((count, rows.shape[1]), dtype=np.float32)
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    if len(first):
        found[owner[first]] = np.add.reduceat(rows, first, axis=0)
    return found


def directions(rows: Floats) -> Floats:
    """Return rows at unit length, shape (rows, width); one of zeros stays."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    found: Floats = rows / np.maximum(lengths, 1e-9)[:, None]
    return found


def _mapped(weights: Path) -> NDArray[np.float16]:
    """Map the one tensor of a safetensors file: eight bytes that say how long the JSON header is, header, values."""
    with weights.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        told = json.loads(file.read(length))["embedding.weight"]
    start = 8 + length + told["data_offsets"][0]
    return np.memmap(weights, dtype=np.float16, mode="r", offset=start, shape=tuple(told["shape"]))
