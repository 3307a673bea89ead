from typing import Any

import pytest
from pytest_django.fixtures import DjangoAssertNumQueries

from tests.support.factories import DocumentFactory
from workspace.entity_types import DOCUMENT
from workspace.services.search import ranking
from workspace.services.search.ranking import FINISHED, UNFINISHED, ScanResult, WordMatch


def look(*words: str) -> ScanResult:
    return ranking.scan_rows([DOCUMENT], subject="owner", project_id=None, words=words)


@pytest.mark.parametrize(
    ("places", "weight", "words", "score"),
    [
        ((0b1, 0b0, 0b0), UNFINISHED, 0b1, 48),
        ((0b1, 0b1, 0b1), UNFINISHED, 0b1, 48),  # where it weighs most, once
        ((0b0, 0b1, 0b1), UNFINISHED, 0b1, 24),
        ((0b0, 0b0, 0b1), UNFINISHED, 0b1, 8),
        ((0b01, 0b10, 0b11), UNFINISHED, 0b11, 72),  # each word for itself
        ((0b01,), FINISHED, 0b01, 36),
    ],
)
def test_a_word_counts_where_it_stands_first(places: Any, weight: int, words: int, score: int) -> None:
    sighting = WordMatch(row={}, word_masks=places, weight=weight)

    assert (sighting.word_mask, sighting.score) == (words, score)


def test_each_text_is_named_once_in_the_one_statement_of_a_kind(
    db: None, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    DocumentFactory(title="a", content="b")

    with django_assert_num_queries(1) as asked:
        [sighting] = look("a", "b", "c").matches

    assert asked.captured_queries[0]["sql"].count('"content"') == 1
    assert sighting.word_masks == (0b001, 0b000, 0b010, 0b000)  # title, description, content, what a model made of it


def test_a_kind_is_cut_where_it_has_more_rows_than_are_looked_at(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "MAX_ROWS", 2)
    DocumentFactory.create_batch(2, title="a")
    assert look("a").cut_kinds == []

    DocumentFactory(title="a")
    assert look("a").cut_kinds == [DOCUMENT]
    assert len(look("a").matches) == 2
