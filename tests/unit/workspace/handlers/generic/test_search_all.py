"""onto.search: which rows it finds, in which order, and its messages."""

from datetime import timedelta
from typing import Any

import pytest
from pytest_django.fixtures import DjangoAssertNumQueries

from tests.support.cpu_budget import assert_cpu_seconds
from tests.support.loops import for_each
from tests.support.rows.factories import (
    MADE_AT,
    DocumentFactory,
    GoalFactory,
    MilestoneFactory,
    PlanFactory,
    ProjectFactory,
    RiskFactory,
    TaskFactory,
)
from tests.support.values.handler_calls import call_handler, list_field_errors
from workspace.entity_types import ENTITY_TYPE_BY_NAME, TASK
from workspace.handlers.generic import search_all
from workspace.models import Document, Project, Task
from workspace.services.search import ranking
from workspace.services.search.ranking import SearchHit
from workspace.services.time.times import format_time

pytestmark = pytest.mark.both_databases


def find(query: str, **args: Any) -> dict[str, Any]:
    result: dict[str, Any] = call_handler("search_ontology", query=query, **args).result
    return result


def titles(query: str, **args: Any) -> list[str]:
    return [row["title"] for row in find(query, **args)["results"]]


def test_result_rows_have_kind_project_and_snippet(project: Project) -> None:
    document = DocumentFactory(project=project, title="Runbook", content="x" * 300 + " switch the DNS at eight")

    assert find("dns runbook") == {
        "results": [
            {
                "type": "document",
                "id": str(document.pk),
                "project_id": str(project.pk),
                "project_name": "Launch",
                "title": "Runbook",
                "state_key": "draft",
                "snippet": "…" + "x" * 28 + " switch the DNS at eight",
                "matched": ["dns", "runbook"],
                "score": 0.58,
            }
        ],
        "total": 1,
        "has_more": False,
        "message": "1 of 1 rows with every word, best first. Complete rows: onto.document.get.",
    }


def test_result_rows_have_state_and_date(project: Project) -> None:
    TaskFactory(project=project, title="Runbook", state_key="blocked", due_at=MADE_AT)

    [row] = find("runbook")["results"]

    assert (row["state_key"], row["due_at"]) == ("blocked", format_time(MADE_AT))


def test_title_weighs_more_than_description_and_description_more_than_content(project: Project) -> None:
    DocumentFactory(project=project, title="in content", content="pricing", updated_at=MADE_AT + timedelta(hours=2))
    TaskFactory(project=project, title="in description", description="pricing", updated_at=MADE_AT + timedelta(hours=1))
    DocumentFactory(project=project, title="Pricing")
    TaskFactory(project=project, title="Other")

    assert titles("PRICING") == ["Pricing", "in description", "in content"]


@for_each(
    "make, label, state",
    [
        (TaskFactory, "title", "done"),
        (DocumentFactory, "title", "archived"),
        (GoalFactory, "name", "achieved"),
        (GoalFactory, "name", "abandoned"),
        (PlanFactory, "name", "completed"),
        (MilestoneFactory, "title", "completed"),
        (RiskFactory, "title", "mitigated"),
    ],
    undone=True,
)
def test_finished_rows_rank_slightly_lower(project: Project, make: Any, label: str, state: str) -> None:
    later = MADE_AT + timedelta(hours=1)
    make(project=project, **{label: "Pricing, over"}, state_key=state, updated_at=later)
    make(project=project, **{label: "Pricing, open"})
    make(project=project, **{label: "Other"}, description="pricing")

    assert titles("pricing") == ["Pricing, open", "Pricing, over", "Other"]  # above rows that only mention it


def test_completed_projects_rank_lower(db: None) -> None:
    ProjectFactory(name="Garden 1", state_key="completed", completed_at=MADE_AT, updated_at=MADE_AT + timedelta(1))
    ProjectFactory(name="Garden 2")

    assert titles("garden") == ["Garden 2", "Garden 1"]


def test_ties_are_ordered_by_newest_update_across_kinds(project: Project) -> None:
    for hours, make in ((1, TaskFactory), (3, DocumentFactory), (2, TaskFactory)):
        make(project=project, title=f"Pricing {hours}", updated_at=MADE_AT + timedelta(hours=hours))

    assert titles("pricing") == ["Pricing 3", "Pricing 2", "Pricing 1"]


def test_rows_with_every_word_are_preferred_in_any_field(project: Project) -> None:
    TaskFactory(project=project, title="Call the printer")
    TaskFactory(project=project, title="Call the bank")
    DocumentFactory(project=project, title="Call notes", content="the printer is broken")

    result = find("printer call")

    assert [row["title"] for row in result["results"]] == ["Call the printer", "Call notes"]
    assert result["message"].startswith("2 of 2 rows with every word, best first.")
    assert result["message"].endswith("Complete rows: onto.task.get, onto.document.get.")


def test_search_falls_back_to_any_word_when_no_row_has_all(project: Project) -> None:
    TaskFactory(project=project, title="Pay the printer", description="and the bank")
    TaskFactory(project=project, title="Call the bank")
    TaskFactory(project=project, title="Sleep")

    result = find("printer bank nowhere")

    expected = [("Pay the printer", ["printer", "bank"]), ("Call the bank", ["bank"])]
    assert [(row["title"], row["matched"]) for row in result["results"]] == expected
    assert result["message"].startswith("No row has every word. 2 of 2 rows with any of them, best first")


def test_words_that_any_text_has_do_not_count(project: Project) -> None:
    TaskFactory(project=project, title="Ask the customers", description="about the prices")
    TaskFactory(project=project, title="What did the printer say")
    TaskFactory(project=project, title="Who we are")

    result = find("what did the customers say about prices?")

    expected = [("Ask the customers", ["customers", "prices"]), ("What did the printer say", ["say"])]
    assert [(row["title"], row["matched"]) for row in result["results"]] == expected
    assert [row["title"] for row in find("the customers")["results"]] == ["Ask the customers"]
    assert [row["title"] for row in find("who we are")["results"]] == ["Who we are"]


def test_project_name_in_the_query_does_not_hide_its_rows(project: Project) -> None:
    TaskFactory(project=project, title="Order flyers")  # requiring all words, with the project's name, found nothing

    rows = {row["title"]: row for row in find("launch flyers")["results"]}

    assert set(rows) == {"Order flyers", "Launch"}
    assert (rows["Launch"]["type"], rows["Launch"]["id"]) == ("project", str(project.pk))
    assert "snippet" not in rows["Launch"]  # it has no text


def test_search_falls_back_to_similar_titles(project: Project) -> None:
    TaskFactory(project=project, title="Draft the homepage copy", description="hero line")
    TaskFactory(project=project, title="Sleep")

    result = find("hompage zzzzz")

    assert [(row["title"], row["matched"], row["snippet"]) for row in result["results"]] == [
        ("Draft the homepage copy", ["hompage"], "hero line")
    ]
    assert result["message"].startswith("No row has any of the words. 1 of 1 rows with similar titles")


def test_search_without_any_match_says_what_to_try(project: Project) -> None:
    assert find("qqqqq wwwww") == {
        "results": [],
        "total": 0,
        "has_more": False,
        "message": "No row has any of the words or a similar title. Try other words, or list the rows.",
    }


def test_types_filter_by_kind(project: Project) -> None:
    TaskFactory(project=project, title="Launch the task")
    DocumentFactory(project=project, title="Launch the document")

    def kinds(**args: Any) -> set[str]:
        return {row["type"] for row in find("launch", **args)["results"]}

    assert kinds() == kinds(types=[]) == {"project", "task", "document"}
    assert kinds(types=["document"]) == {"document"}
    assert kinds(types=["task", "project", "task"]) == {"task", "project"}
    assert titles("lanch", types=["document"]) == ["Launch the document"]


def test_project_id_filters_by_project_and_includes_it(project: Project) -> None:
    TaskFactory(project=project, title="Launch here")
    TaskFactory(title="Launch there")

    assert set(titles("launch", project_id=str(project.pk).upper())) == {"Launch", "Launch here"}
    assert set(titles("laumch", project_id=str(project.pk))) == {"Launch", "Launch here"}


@for_each("limit", [1, 2, 50], undone=True)
def test_limit_cuts_the_rows_and_total_counts_all(project: Project, limit: int) -> None:
    TaskFactory.create_batch(60, project=project, title="Call")

    for query in ("call", "call nobody", "calll"):
        result = find(query, limit=limit)
        assert (len(result["results"]), result["total"], result["has_more"]) == (limit, 60, True)


@for_each("rows", [1, 60])
@for_each(
    "query, queries",
    [
        ("launch", 11),  # one for each of eight kinds, and a text query for each of the three kinds with texts
        ("launch nobody", 11),
        ("laumch", 12),  # and one for titles
        ("qqqqq wwwww", 9),
    ],
    undone=True,
)
def test_search_query_count_does_not_depend_on_rows(
    project: Project, rows: int, query: str, queries: int, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    TaskFactory.create_batch(rows, project=project, title="Launch")
    DocumentFactory.create_batch(rows, project=project, title="Launch")

    with django_assert_max_num_queries(queries):
        find(query, limit=50)


def test_rows_beyond_the_newest_are_omitted_with_a_warning(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "MAX_ROWS", 2)
    for hour in range(3):
        DocumentFactory(project=project, title=f"Launch {hour}", updated_at=MADE_AT + timedelta(hours=hour))
    TaskFactory.create_batch(2, project=project, title="Other")

    outcome = call_handler("search_ontology", query="launch", types=["task", "document"])

    assert [row["title"] for row in outcome.result["results"]] == ["Launch 2", "Launch 1"]
    assert outcome.warnings == (
        "Searched only the 2 most recently updated documents; onto.document.search finds older ones.",
    )


@for_each("query", [" ", "\n\t", "\u3000"], undone=True)
def test_query_without_words_is_invalid(db: None, query: str) -> None:
    assert list_field_errors(lambda: find(query))[0][0] == "/query"


def test_hundred_words_are_cut_with_a_warning(project: Project) -> None:
    TaskFactory(project=project, title="word99")
    TaskFactory(project=project, title="w0 and more")
    query = " ".join(chr(0x4E00 + number) for number in range(99)) + " w"

    outcome = call_handler("search_ontology", query="w0 " + query)

    assert outcome.warnings == ("Searched for only the first 8 words of query.",)
    assert [row["matched"] for row in outcome.result["results"]] == [["w0"]]


def test_matched_words_are_listed_once_as_sent_and_scores_are_fractions_of_the_best(project: Project) -> None:
    TaskFactory(project=project, title="Call the Bank")
    DocumentFactory(project=project, title="x", content="call the bank", state_key="archived")

    rows = find("BANK call Call")["results"]

    assert [(row["matched"], row["score"]) for row in rows] == [(["BANK", "Call"], 1.0), (["BANK", "Call"], 0.12)]


def test_the_longest_documents_are_searched_within_two_seconds(project: Project) -> None:
    filler = "lorem ipsum dolor sit amet " * 7_400
    Document.objects.bulk_create(
        DocumentFactory.build(project=project, title=f"Long {number}", content=filler + "the canary sang")
        for number in range(25)
    )

    assert find("canary sang ipsum")["total"] == 25
    assert_cpu_seconds(2, lambda: find("canary sang ipsum"))


def test_search_reads_texts_from_their_beginning(project: Project) -> None:
    text = "x" * (ranking.MAX_CHARACTERS - 5)
    DocumentFactory(project=project, title="Near", content=text + " near")
    DocumentFactory(project=project, title="Far", content=text + " beyond")

    assert titles("near") == ["Near"]
    assert "Far" not in titles("beyond")


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


def test_snippets_are_short_and_cost_one_query_per_kind(
    db: None, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    tasks = TaskFactory.create_batch(3, description="about canaries")
    documents = DocumentFactory.create_batch(3, content="a canary")
    hits = [make_hit("task", row) for row in tasks] + [make_hit("document", row) for row in documents]

    with django_assert_num_queries(2):
        shown = search_all.load_shown_fields(hits)

    snippets = {id: fields["snippet"] for id, fields in shown.items()}
    assert snippets == {row.pk: "about canaries" for row in tasks} | {row.pk: "a canary" for row in documents}
    long = search_all.build_snippet(["x" * 100_000 + "canary" + "y" * 100_000], ["canary"])
    assert len(long) <= search_all.SNIPPET_LENGTH + 2


def make_hit(kind: str, row: Any) -> SearchHit:
    return SearchHit(kind, row.pk, row.title, row.project_id, "", 1.0, ("canar",))


def get_shares(query: str, title: str) -> dict[str, float]:
    return search_all.get_trigram_shares([(word, search_all.extract_trigrams(word)) for word in query.split()], title)


@for_each(
    "word, title",
    [
        ("hompage", "Draft the homepage copy"),  # a letter is missing
        ("translating", "Translate the product pages"),  # another ending
        ("ubersetzung", "Übersetzung prüfen"),  # an accent is missing
        ("ÜBERSETZUNG", "übersetzung prüfen"),
        ("kitchn", "Kitchen renovation"),
        ("e-mail", "Email the partners about mail"),
        ("перевод", "Переводы страниц"),
    ],
)
def test_misspelt_words_are_similar(word: str, title: str) -> None:
    assert list(get_shares(word, title)) == [word]


@for_each(
    "word, title",
    [("garden", "Draft the homepage copy"), ("hompage", "Home"), ("xyz", "x y z"), ("cat", "concatenate")],
)
def test_different_words_are_not_similar(word: str, title: str) -> None:
    assert get_shares(word, title) == {}


@for_each("word", ["", "%%%", "_", "🌱", "\\"])
def test_word_of_punctuation_has_no_trigrams(word: str) -> None:
    assert search_all.extract_trigrams(word) == set()


def test_most_similar_title_is_first_and_ties_are_ordered_by_update(db: None) -> None:
    project = ProjectFactory(name="Other")
    for title in ("homepag things", "Homepages", "old homepage"):
        TaskFactory(project=project, title=title)
    Task.objects.filter(title="Homepages").update(updated_at=MADE_AT.replace(hour=10))

    hits, total = search_all.find_similar_titles(
        ENTITY_TYPE_BY_NAME.values(), subject="owner", project_id=None, words=["homepaeg", "hompage"], limit=2
    )

    assert total == 3
    assert [hit.title for hit in hits] == ["old homepage", "Homepages"]
    assert hits[0].score > hits[1].score


def test_only_the_newest_titles_are_compared_with_the_query(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_all, "MAX_TITLES", 2)
    project = ProjectFactory()
    for hour in (1, 2, 3):
        TaskFactory(project=project, title=f"homepage {hour}", updated_at=MADE_AT.replace(hour=hour))

    hits, total = search_all.find_similar_titles([TASK], subject="owner", project_id=None, words=["hompage"], limit=9)

    assert ([hit.title for hit in hits], total) == (["homepage 3", "homepage 2"], 2)


def test_the_longest_titles_and_query_are_compared_in_time(db: None) -> None:
    project = ProjectFactory()
    text = "ab cd ef gh kl mn op qr st uv " * 10
    TaskFactory._meta.model.objects.bulk_create(
        TaskFactory.build(project=project, title=f"{number} {text}"[:300]) for number in range(2_000)
    )
    words = [f"{number:02}wxyzwxyz" for number in range(16)]

    def find() -> None:
        assert search_all.find_similar_titles(
            ENTITY_TYPE_BY_NAME.values(), subject="owner", project_id=None, words=words, limit=50
        ) == ([], 0)

    assert_cpu_seconds(1, find)  # 0.1 on an idle machine
