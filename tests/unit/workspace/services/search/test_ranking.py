from typing import Any

from pytest_django.fixtures import DjangoAssertNumQueries

from tests.support.loops import for_each
from tests.support.rows.factories import DocumentFactory
from workspace.entity_types import DOCUMENT
from workspace.services.search import ranking
from workspace.services.search.ranking import FINISHED, UNFINISHED, ScanResult, WordMatch


def scan(*words: str) -> ScanResult:
    return ranking.scan_rows([DOCUMENT], subject="owner", project_id=None, words=words)


@for_each(
    "places, weight, words, score",
    [
        ((0b1, 0b0, 0b0), UNFINISHED, 0b1, 48),
        ((0b1, 0b1, 0b1), UNFINISHED, 0b1, 48),  # counted once, in its most important field
        ((0b0, 0b1, 0b1), UNFINISHED, 0b1, 24),
        ((0b0, 0b0, 0b1), UNFINISHED, 0b1, 8),
        ((0b01, 0b10, 0b11), UNFINISHED, 0b11, 72),  # each word separately
        ((0b01,), FINISHED, 0b01, 36),
    ],
)
def test_word_counts_in_its_most_important_field(places: Any, weight: int, words: int, score: int) -> None:
    sighting = WordMatch(row={}, word_masks=places, weight=weight)

    assert (sighting.word_mask, sighting.score) == (words, score)


def test_statement_of_a_kind_reads_each_text_once(db: None, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    DocumentFactory(title="a", content="b")

    with django_assert_num_queries(1) as query:
        [sighting] = scan("a", "b", "c").matches

    assert query.captured_queries[0]["sql"].count('"content"') == 1
    assert sighting.word_masks == (0b001, 0b000, 0b010, 0b000)  # title, description, content, ai_summary
