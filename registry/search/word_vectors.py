"""Word vectors: pretrained static embeddings from the wordllama wheel.

No model runs and nothing is downloaded. The vector of a word is the sum of its pieces' vectors; that of a text is the
sum of its words' vectors.
"""

import json
import os
import struct
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

WORD_START = "▁"  # marks a piece at the beginning of a word
STORED = np.dtype(np.float16)
FIRST_PIECE = 259  # the ones before are control tokens and the 256 bytes, which have no meaning


class WordVectors:
    """A table of vectors by word piece.

    Rows are read from the file when they are needed: all processes share what the system caches of it. The pages of a
    mapped file would count as memory of each process (9 MB after an index is built).
    """

    def __init__(self, weights: Path, tokenizer: Path) -> None:
        self._file, self._start, self.size = _open_weights(weights)
        vocabulary = json.loads(tokenizer.read_text(encoding="utf-8"))["model"]["vocab"]
        self._pieces: dict[str, int] = {
            piece: at for piece, at in vocabulary.items() if at >= FIRST_PIECE and piece != WORD_START
        }
        self._longest = max(map(len, self._pieces))

    def embed_words(self, words: Sequence[str]) -> Floats:
        """Return the vector of each word, shape (words, size). Zeros for a word without known pieces."""
        pieces_by_word = [self._split_to_pieces(word) for word in words]
        owner = np.repeat(np.arange(len(pieces_by_word)), [len(pieces) for pieces in pieces_by_word])
        rows = self._read_rows([piece for pieces in pieces_by_word for piece in pieces])
        return sum_by_owner(rows.astype(np.float32), owner, len(pieces_by_word))

    def _read_rows(self, pieces: Sequence[int]) -> NDArray[np.float16]:
        """Return the vectors of pieces, shape (pieces, size)."""
        width = self.size * STORED.itemsize
        content = b"".join(os.pread(self._file, width, self._start + piece * width) for piece in pieces)
        return np.frombuffer(content, dtype=STORED).reshape(len(pieces), self.size)

    def is_word(self, word: str) -> bool:
        """Return whether a word is a single piece: a common word or name, so not a typo."""
        return self._find_whole_piece(word) is not None

    def _find_whole_piece(self, word: str) -> int | None:
        """Return the piece for a whole word, also if it is only known capitalised, such as Paris."""
        return self._pieces.get(WORD_START + word) or self._pieces.get(WORD_START + word.capitalize())

    def _split_to_pieces(self, word: str) -> list[int]:
        """Return the pieces of a word, always the longest that fits. Characters without a piece are skipped."""
        whole_piece = self._find_whole_piece(word)
        if whole_piece is not None:
            return [whole_piece]
        pieces, rest = [], WORD_START + word
        while rest:
            end = next((end for end in range(min(self._longest, len(rest)), 0, -1) if rest[:end] in self._pieces), 0)
            if end:
                pieces.append(self._pieces[rest[:end]])
            rest = rest[end or 1 :]
        return pieces


@cache
def load_vectors() -> WordVectors | None:
    """Return the word vectors, loaded once per process. None if wordllama is not installed."""
    spec = find_spec("wordllama")  # finds its folder only; importing it would run training and download code
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(spec.submodule_search_locations[0])
    return WordVectors(
        folder / "weights" / "l2_supercat_256.safetensors",
        folder / "tokenizers" / "l2_supercat_tokenizer_config.json",
    )


def sum_by_owner(rows: Floats, owner: NDArray[np.int64], count: int) -> Floats:
    """Return the sum of the rows of each owner, shape (count, width); zeros if it has none. `owner` must be sorted."""
    sums = np.zeros((count, rows.shape[1]), dtype=np.float32)
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    if len(first):
        sums[owner[first]] = np.add.reduceat(rows, first, axis=0)
    return sums


def scale_to_unit_length(rows: Floats) -> Floats:
    """Return rows scaled to unit length, shape (rows, width). A row of zeros stays."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    unit_rows: Floats = rows / np.maximum(lengths, 1e-9)[:, None]
    return unit_rows


def _open_weights(weights: Path) -> tuple[int, int, int]:
    """Open a safetensors file with one tensor. Return the file's descriptor, where values begin, and a row's length.

    The file is 8 bytes with the length of the JSON header, the header, and the values. It stays open.
    """
    file = os.open(weights, os.O_RDONLY)
    (length,) = struct.unpack("<Q", os.pread(file, 8, 0))
    header = json.loads(os.pread(file, length, 8))["embedding.weight"]
    return file, 8 + length + header["data_offsets"][0], header["shape"][1]
