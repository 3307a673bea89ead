"""Vectors: near for words that mean the same, and gone without harm where the machine has none."""

import subprocess
import sys

import numpy as np
import pytest

from registry import search
from registry.catalog.model import FULL_VISIBILITY
from registry.search import embeddings
from registry.search.embeddings import WordVectors
from tests.support.op_entries import catalog, op


@pytest.fixture(scope="module")
def vectors() -> WordVectors:
    found = embeddings.load_vectors()
    if found is None:
        pytest.skip("by design: this machine has no wheel of the vectors")
    return found


def test_words_of_like_meaning_are_nearer_than_others(vectors: WordVectors) -> None:
    delete, remove, weather = embeddings.scale_to_unit_length(vectors.embed_words(["delete", "remove", "weather"]))

    assert delete @ remove > delete @ weather + 0.2


def test_of_adds_up_pieces_and_leaves_out_bytes(vectors: WordVectors) -> None:
    found = vectors.embed_words(["task", "", "zzqxv", "\U00013000"])  # the last one is spelt in bytes

    assert found.shape == (4, vectors.size)
    assert [bool(each.any()) for each in found] == [True, False, True, False]


def test_a_word_that_is_no_piece_begins_with_the_longest_that_is(vectors: WordVectors) -> None:
    over, _, *_ = vectors._split_to_pieces("overbooking")

    assert [over] == vectors._split_to_pieces("over")
    assert vectors.embed_words(["overbooking"])[0] @ vectors.embed_words(["over"])[0] > 0


def test_a_name_is_known_by_its_capital(vectors: WordVectors) -> None:
    assert vectors.is_word("paris")


def test_a_word_is_a_piece_of_its_own(vectors: WordVectors) -> None:
    assert vectors.is_word("calendar")
    assert not vectors.is_word("calender")


def test_summed_adds_up_by_owner() -> None:
    rows = np.array([[1, 2], [3, 4], [5, 6]], dtype=np.float32)

    assert embeddings.sum_by_owner(rows, np.array([0, 0, 2]), 4).tolist() == [[4, 6], [0, 0], [5, 6], [0, 0]]
    assert embeddings.sum_by_owner(rows[:0], np.array([], dtype=np.int64), 1).tolist() == [[0, 0]]


def test_directions_leave_zeros_as_they_are() -> None:
    assert embeddings.scale_to_unit_length(np.array([[3, 4], [0, 0]], dtype=np.float32)).tolist() == [
        pytest.approx([0.6, 0.8]),
        [0, 0],
    ]


def test_search_goes_on_by_words_alone_where_there_are_no_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embeddings, "load_vectors", lambda: None)
    found = catalog(op("onto.task.create", kind="write", summary="Create a task"), op("cal.event.list"))

    assert search.find_ops(found, found.view_for(FULL_VISIBILITY), "create taks", limit=1) == ["onto.task.create"]
    assert search.find_ops(found, found.view_for(FULL_VISIBILITY), "weather", limit=1) == []


def test_the_code_beside_the_vectors_is_never_run() -> None:
    load = "import sys; from registry.search import embeddings; embeddings.load_vectors(); "
    script = load + "print('wordllama' in sys.modules)"
    setup = "import os, django; os.environ['DJANGO_SETTINGS_MODULE'] = 'config.settings'; django.setup(); "

    done = subprocess.run([sys.executable, "-c", setup + script], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "False"
