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

Floats = NDArray[np.float32]

START = "▁"  # what a piece begins with that begins a word
FIRST_PIECE = 259  # before it come control signs and the 256 bytes, which spell what no piece does and mean nothing


class Vectors:
    """A table of vectors by piece, mapped so that all processes share it, and the pieces that words are cut to."""

    def __init__(self, weights: Path, tokenizer: Path) -> None:
        self._table = _mapped(weights)
        self.size = int(self._table.shape[1])
        told = json.loads(tokenizer.read_text(encoding="utf-8"))["model"]["vocab"]
        self._pieces: dict[str, int] = {piece: at for piece, at in told.items() if at >= FIRST_PIECE and piece != START}
        self._longest = max(map(len, self._pieces))

    def of(self, words: Sequence[str]) -> Floats:
        """Return of each word the sum of its pieces' vectors, shape (words, size); zeros for one of unknown signs."""
        cut = [self._cut(word) for word in words]
        owner = np.repeat(np.arange(len(cut)), [len(pieces) for pieces in cut])
        rows = self._table[np.array([piece for pieces in cut for piece in pieces], dtype=np.int64)]
        return summed(rows.astype(np.float32), owner, len(cut))

    def is_word(self, word: str) -> bool:
        """Whether a word is a piece of its own: a usual word or name, then, and no slip of another."""
        return self._whole(word) is not None

    def _whole(self, word: str) -> int | None:
        """Return the piece that is a word, be it only as a name: Paris, Monday."""
        return self._pieces.get(START + word) or self._pieces.get(START + word.capitalize())

    def _cut(self, word: str) -> list[int]:
        """Return the pieces of a word, at each place the longest that fits; none for the signs that no piece has."""
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
