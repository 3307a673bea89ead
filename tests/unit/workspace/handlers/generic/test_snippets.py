from typing import Any

from pytest_django.fixtures import DjangoAssertNumQueries

from tests.support.loops import for_each
from tests.support.rows.factories import DocumentFactory, TaskFactory
from workspace.handlers.generic import search_all
from workspace.services.search.ranking import SearchHit


@for_each(
    "texts, words, shown",
    [
        (["short text", "canary"], ["text"], "short text"),
        (["short text", "the canary sang"], ["canary"], "the canary sang"),  # the text that has it
        (["", "nothing of it"], ["canary"], "nothing of it"),  # otherwise the beginning of the first text
        (["nothing\n\n of\tit "], ["canary"], "nothing of it"),
        (["", " "], ["canary"], ""),
        ([], ["canary"], ""),
        (["a" * 161], [], "a" * 160 + "…"),
        (["a" * 100 + " Canary " + "b" * 200], ["canary"], "…" + "a" * 39 + " Canary " + "b" * 113 + "…"),
        (["a.b", "axb"], ["x"], "axb"),  # words are not patterns
        (["(1+1)"], ["(1+"], "(1+1)"),
        (["Übersetzung"], ["übersetzung"], "Übersetzung"),
    ],
)
def test_snippet_shows_the_text_around_the_first_match(texts: list[str], words: list[str], shown: str) -> None:
    assert search_all.build_snippet(texts, words) == shown


def test_snippet_of_any_text_is_short() -> None:
    assert (
        len(search_all.build_snippet(["x" * 100_000 + "canary" + "y" * 100_000], ["canary"]))
        <= search_all.SNIPPET_LENGTH + 2
    )


def test_snippets_cost_one_query_per_kind(db: None, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    tasks = TaskFactory.create_batch(3, description="about canaries")
    documents = DocumentFactory.create_batch(3, content="a canary")
    hits = [make_hit("task", row) for row in tasks] + [make_hit("document", row) for row in documents]

    with django_assert_num_queries(2):
        texts = search_all.build_snippets(hits)

    assert texts == {row.pk: "about canaries" for row in tasks} | {row.pk: "a canary" for row in documents}


def make_hit(kind: str, row: Any) -> SearchHit:
    return SearchHit(kind, row.pk, row.title, row.project_id, "", 1.0, ("canar",))
