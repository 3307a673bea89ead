import pytest

from tests.support.loops import for_each
from tests.support.rows.factories import ProjectFactory, TaskFactory
from workspace.models import Project, Task
from workspace.services.search import search

pytestmark = pytest.mark.both_databases


def titles(query: str) -> set[str]:
    condition = search.match_all_words(search.split_words(query), columns=("title",))
    return set(Task.objects.filter(condition).values_list("title", flat=True))


@for_each(
    "query, words",
    [
        ("plan the  launch\n", ["plan", "the", "launch"]),
        ("Plan plan PLAN", ["PLAN"]),  # duplicates are dropped
        (" \t\u3000", []),
    ],
)
def test_query_is_split_at_spaces(query: str, words: list[str]) -> None:
    assert search.split_words(query) == words


@for_each(
    "title, query, matches",
    [
        ("Draft the Homepage", "homepage draft", True),  # every word, any order, any case
        ("Draft the Homepage", "home", True),  # part of a word
        ("Draft the Homepage", "draft pricing", False),
        ("100% done", "100%", True),
        ("1000 done", "100%", False),  # % is not a wildcard
        ("a_b", "a_b", True),
        ("axb", "a_b", False),  # _ is not a wildcard
        (r"C:\temp", r"c:\t", True),  # the escape character is not special
        ("C:/temp", "\\", False),
        ("Say 'hi'; DROP TABLE", "'hi'; drop", True),
        ("Übersetzung prüfen", "übersetzung", True),  # case beyond ASCII, even if LIKE cannot fold it
        ("übersetzung prüfen", "ÜBERSETZUNG PRÜFEN", True),
        ("Obersetzung", "übersetzung", False),
        ("Что делать (1+1)", "ЧТО", True),
        ("é(x)", "É(X)", True),  # not a pattern
        ("éxx", "é.x", False),
        ("買い物リスト", "買い物", True),
        ("Istanbul", "İ", False),  # a different letter from I, on every database
        ("İstanbul", "İ", True),
        ("Strasse", "Straße", False),
    ],
    undone=True,
)
def test_all_of_matches_literally(db: None, title: str, query: str, matches: bool) -> None:
    TaskFactory(title=title)

    assert titles(query) == ({title} if matches else set())


def test_words_may_match_in_different_columns(db: None) -> None:
    ProjectFactory(name="Garden", description="raised beds")
    ProjectFactory(name="Garden", description="lawn")

    spread = search.match_all_words(["garden", "beds"], columns=("name", "description"))
    either = search.match_any_word(["garden", "beds"], columns=("name", "description"))

    assert Project.objects.filter(spread).count() == 1
    assert Project.objects.filter(either).count() == 2


def test_query_of_many_short_words_stays_within_database_limits(db: None) -> None:
    query = " ".join(chr(0x4E00 + n) for n in range(100))  # 199 characters, the longest that a schema allows

    assert titles(query) == set()
    assert not Task.objects.filter(
        search.match_any_word(search.split_words(query), columns=("title", "description"))
    ).exists()
