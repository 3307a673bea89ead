"""Word vectors: close for words with similar meaning; search works without them."""

import subprocess
import sys

import numpy as np
import pytest

from registry import search
from registry.catalog.model import FULL_VISIBILITY
from registry.search import word_vectors
from registry.search.word_vectors import WordVectors
from tests.support.rows.op_entries import build_catalog, build_op_entry


@pytest.fixture(scope="module")
def vectors() -> WordVectors:
    loaded = word_vectors.load_vectors()
    if loaded is None:
        pytest.skip("by design: this machine has no wheel of the vectors")
    return loaded


def test_vectors_are_closer_for_similar_words_and_leave_out_byte_pieces(vectors: WordVectors) -> None:
    delete, remove, weather = word_vectors.scale_to_unit_length(vectors.embed_words(["delete", "remove", "weather"]))
    matrix = vectors.embed_words(["task", "", "zzqxv", "\U00013000"])  # the last one is tokenized into bytes

    assert delete @ remove > delete @ weather + 0.2
    assert matrix.shape == (4, vectors.size)
    assert [bool(each.any()) for each in matrix] == [True, False, True, False]
    words = ("calendar", "paris", "calender")  # a word needs a piece of its own
    assert [vectors.is_word(word) for word in words] == [True, True, False]


def test_vectors_are_summed_per_owner() -> None:
    rows = np.array([[1, 2], [3, 4], [5, 6]], dtype=np.float32)

    assert word_vectors.sum_by_owner(rows, np.array([0, 0, 2]), 4).tolist() == [[4, 6], [0, 0], [5, 6], [0, 0]]
    assert word_vectors.sum_by_owner(rows[:0], np.array([], dtype=np.int64), 1).tolist() == [[0, 0]]


def test_search_uses_words_only_without_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_vectors, "load_vectors", lambda: None)
    catalog = build_catalog(
        build_op_entry("onto.task.create", kind="write", summary="Create a task"), build_op_entry("cal.event.list")
    )

    assert search.find_ops(catalog, catalog.view_for(FULL_VISIBILITY), "create taks", limit=1) == ["onto.task.create"]
    assert search.find_ops(catalog, catalog.view_for(FULL_VISIBILITY), "weather", limit=1) == []


def test_loading_vectors_does_not_import_wordllama() -> None:
    load = "import sys; from registry.search import word_vectors; word_vectors.load_vectors(); "
    script = load + "print('wordllama' in sys.modules)"
    setup = "import os, django; os.environ['DJANGO_SETTINGS_MODULE'] = 'config.settings'; django.setup(); "

    done = subprocess.run([sys.executable, "-c", setup + script], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "False"
