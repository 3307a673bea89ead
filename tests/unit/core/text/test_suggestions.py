import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text import english
from tests.support.growth import assert_linear


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("taskId", "task_id"),
        ("task-id", "task_id"),
        ("onto.task", "onto_task"),
        ("a/b\tc", "a_b_c"),
        ("task_id", "task_id"),
        ("", ""),
    ],
)
def test_to_snake_case_unifies_spellings(name: str, expected: str) -> None:
    assert english.to_snake_case(name) == expected


@pytest.mark.parametrize(
    ("name", "candidates", "expected"),
    [
        ("tsk_id", ["task_id", "title"], ["task_id"]),
        ("onto.task.udpate", ["onto.task.update", "onto.task.delete"], ["onto.task.update", "onto.task.delete"]),
        ("zzz", ["task_id", "title"], []),
        ("", ["task_id"], []),
        ("task_id", [], []),
        ("inactive", ["active", "unfinished"], []),  # a negation is not similar
        ("unfinishd", ["finished", "unfinished"], ["unfinished"]),
    ],
)
def test_find_similar_finds_the_likely_names(name: str, candidates: list[str], expected: list[str]) -> None:
    assert english.find_similar(name, candidates) == expected


def test_find_similar_returns_at_most_the_limit_best_first() -> None:
    names = [f"task_{n}" for n in range(20)]

    assert len(english.find_similar("task_1", names, limit=2)) == 2
    assert english.find_similar("task_1", names)[0] == "task_1"


@given(st.text(max_size=1_000_000), st.lists(st.text(), max_size=5))
def test_find_similar_returns_only_candidates(name: str, candidates: list[str]) -> None:
    assert set(english.find_similar(name, candidates)) <= set(candidates)


def test_find_similar_ignores_very_long_names() -> None:
    assert english.find_similar("task_id" + "x" * 1_000_000, ["task_id"]) == []


def test_of_many_names_only_those_that_begin_alike_or_share_a_word_are_compared() -> None:
    many = [f"field_{number}" for number in range(1_000)] + ["task_id", "invoice_title"]

    assert english.find_similar("tsakid", many, limit=1) == []
    assert english.find_similar("taks_id", many, limit=1) == ["task_id"]
    assert english.find_similar("title_of_invoice", many, limit=1, cutoff=0.4) == ["invoice_title"]


def test_the_work_for_many_unknown_names_does_not_grow_with_their_product() -> None:
    def build(size: int) -> tuple[list[str], list[str]]:
        return [f"my_field_{number}" for number in range(size // 40)], [f"field_{number}" for number in range(size)]

    def suggest_all(names: tuple[list[str], list[str]]) -> None:
        for name in names[0][:50]:
            english.find_similar(name, names[1])

    assert_linear(suggest_all, build, size=2_000)
