import pytest
from django.db import connection
from pytest_django.fixtures import DjangoAssertNumQueries

from tests.support.factories import DocumentFactory
from workspace.models import Document
from workspace.services.search import matching
from workspace.services.search.matching import WordsIn

pytestmark = pytest.mark.both_databases

CASES = [
    ("The canary sang", ["canary", "dog", "SANG"], 0b101),
    ("", ["a"], 0),
    ("100% a_b c:\\d", ["100%", "1%0", "a_b", "axb", "\\", "c:\\D"], 0b110101),
    ("ÜBERSETZUNG", ["übersetzung", "ubersetzung"], 0b01),
    ("Istanbul, Izmir", ["İ", "i"], 0b10),  # no other letter's case
    ("İstanbul", ["i̇", "İ"], 0b10),  # nor a letter and a mark
    ("Straße", ["strasse", "STRAßE"], 0b10),
    ("ΟΔΟΣ, οδος", ["οδοσ", "οδος"], 0b11),
    ("it's {{ 7 }} 🌱", ["'s", "{{", "🌱", "\u202e"], 0b0111),
]


@pytest.mark.parametrize(("text", "words", "bits"), CASES)
def test_words_in_tells_words_as_bits_on_either_database(db: None, text: str, words: list[str], bits: int) -> None:
    DocumentFactory(content=text)

    assert Document.objects.values_list(WordsIn("content", words)).get() == (bits,)
    assert matching.get_word_mask(text, *words) == bits


def test_a_text_is_folded_once_however_many_the_words(
    db: None, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(1) as asked:
        list(Document.objects.values_list(WordsIn("content", ["a", "b", "c"])))

    assert asked.captured_queries[0]["sql"].count('"content"') == 1


def test_a_new_connection_knows_the_function(transactional_db: None) -> None:
    DocumentFactory(content="canary")
    connection.close()

    assert Document.objects.values_list(WordsIn("content", ["canary"])).get() == (1,)
