"""Word vectors: pretrained static embeddings from the wordllama wheel.

No model runs and nothing is downloaded. The vector of a word is the sum of its pieces' vectors; that of a text is the
sum of its words' vectors.
"""

import json
import struct
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

START = "▁"  # marks a piece at the beginning of a word
FIRST_PIECE = 259  # the ones before are control tokens and the 256 bytes, which have no meaning


class Vectors:
    """A table of vectors by word piece. It is memory-mapped, so that all processes share it."""

    def __init__(self, weights: Path, tokenizer: Path) -> None:
        self._table = _mapped(weights)
        self.size = int(self._table.shape[1])
        told = json.loads(tokenizer.read_text(encoding="utf-8"))["model"]["vocab"]
        self._pieces: dict[str, int] = {piece: at for piece, at in told.items() if at >= FIRST_PIECE and piece != START}
        self._longest = max(map(len, self._pieces))

    def of(self, words: Sequence[str]) -> Floats:
        """Return the vector of each word, shape (words, size). Zeros for a word without known pieces."""
        cut = [self._cut(word) for word in words]
        owner = np.repeat(np.arange(len(cut)), [len(pieces) for pieces in cut])
        rows = self._table[np.array([piece for pieces in cut for piece in pieces], dtype=np.int64)]
        return summed(rows.astype(np.float32), owner, len(cut))

    def is_word(self, word: str) -> bool:
        """Return whether a word is a single piece: a common word or name, so not a typo."""
        return self._whole(word) is not None

    def _whole(self, word: str) -> int | None:
        """Return the piece for a whole word, also if it is only known capitalised, such as Paris."""
        return self._pieces.get(START + word) or self._pieces.get(START + word.capitalize())

    def _cut(self, word: str) -> list[int]:
        """Return the pieces of a word, always the longest that fits. Characters without a piece are skipped."""
        whole = self._whole(word)
        if whole is not None:
            return [whole]
        found, rest = [], START + word
        while rest:
            end = next((end for end in range(min(self._longest, len(rest)), 0, -1) if rest[:end] in self._pieces), 0)
            if end:
                found.append(self._pieces[rest[:end]])
            rest = rest[end or 1 :]
        return found


@cache
def vectors() -> Vectors | None:
    """Return the word vectors, loaded once per process. None if wordllama is not installed."""
    found = find_spec("wordllama")  # finds its folder only; importing it would run training and download code
    if found is None or not found.submodule_search_locations:
        return None
    folder = Path(found.submodule_search_locations[0])
    return Vectors(
        folder / "weights" / "l2_supercat_256.safetensors",
        folder / "tokenizers" / "l2_supercat_tokenizer_config.json",
    )


def summed(rows: Floats, owner: NDArray[np.int64], count: int) -> Floats:
    """Return the sum of the rows of each owner, shape (count, width); zeros if it has none. `owner` must be sorted."""
    found = np.zeros((count, rows.shape[1]), dtype=np.float32)
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    if len(first):
        found[owner[first]] = np.add.reduceat(rows, first, axis=0)
    return found


def directions(rows: Floats) -> Floats:
    """Return rows scaled to unit length, shape (rows, width). A row of zeros stays."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    found: Floats = rows / np.maximum(lengths, 1e-9)[:, None]
    return found


def _mapped(weights: Path) -> NDArray[np.float16]:
    """Map the only tensor of a safetensors file: 8 bytes with the length of the JSON header, the header, the values."""
    with weights.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        told = json.loads(file.read(length))["embedding.weight"]
    start = 8 + length + told["data_offsets"][0]
    return np.memmap(weights, dtype=np.float16, mode="r", offset=start, shape=tuple(told["shape"]))
