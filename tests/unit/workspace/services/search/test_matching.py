import pytest
from django.db import connection

from tests.support.loops import for_each
from tests.support.rows.factories import DocumentFactory
from workspace.models import Document
from workspace.services.search import search
from workspace.services.search.search import WordsIn

pytestmark = pytest.mark.both_databases

CASES = [
    ("The canary sang", ["canary", "dog", "SANG"], 0b101),
    ("", ["a"], 0),
    ("100% a_b c:\\d", ["100%", "1%0", "a_b", "axb", "\\", "c:\\D"], 0b110101),
    ("ÜBERSETZUNG", ["übersetzung", "ubersetzung"], 0b01),
    ("Istanbul, Izmir", ["İ", "i"], 0b10),  # not another case of the same letter
    ("İstanbul", ["i̇", "İ"], 0b10),  # not a letter with a combining mark
    ("Straße", ["strasse", "STRAßE"], 0b10),
    ("ΟΔΟΣ, οδος", ["οδοσ", "οδος"], 0b11),
    ("it's {{ 7 }} 🌱", ["'s", "{{", "🌱", "\u202e"], 0b0111),
]


@for_each("text, words, bits", CASES, undone=True)
def test_words_in_returns_matched_words_as_bits_on_both_databases(
    db: None, text: str, words: list[str], bits: int
) -> None:
    DocumentFactory(content=text)

    assert Document.objects.values_list(WordsIn("content", words)).get() == (bits,)
    assert search.get_word_mask(text, *words) == bits


def test_new_connection_has_the_sql_function(transactional_db: None) -> None:
    DocumentFactory(content="canary")
    connection.close()

    assert Document.objects.values_list(WordsIn("content", ["canary"])).get() == (1,)
