import pytest

from tests.support.cpu_budget import assert_cpu_seconds
from tests.support.loops import for_each
from tests.support.rows.factories import MADE_AT, ProjectFactory, TaskFactory
from workspace.entity_types import ENTITY_TYPE_BY_NAME, TASK
from workspace.handlers.generic import search_all
from workspace.models import Task

pytestmark = pytest.mark.both_databases


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
