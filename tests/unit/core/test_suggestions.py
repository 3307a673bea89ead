import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import suggestions


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("taskId", "task_id"),
        ("Task ID", "task_id"),
        ("task-id", "task_id"),
        ("onto.task", "onto_task"),
        ("a/b\tc", "a_b_c"),
        ("due2At", "due2_at"),
        ("task_id", "task_id"),
        ("", ""),
    ],
)
def test_snake_case_folds_spellings(name: str, expected: str) -> None:
    assert suggestions.to_snake_case(name) == expected


@pytest.mark.parametrize(
    ("name", "among", "found"),
    [
        ("tsk_id", ["task_id", "title"], ["task_id"]),
        ("taskId", ["task_id", "title"], ["task_id"]),
        ("onto.task.udpate", ["onto.task.update", "onto.task.delete"], ["onto.task.update", "onto.task.delete"]),
        ("zzz", ["task_id", "title"], []),
        ("", ["task_id"], []),
        ("task_id", [], []),
    ],
)
def test_close_finds_what_was_probably_meant(name: str, among: list[str], found: list[str]) -> None:
    assert suggestions.find_similar(name, among) == found


def test_close_gives_at_most_the_limit_and_the_likeliest_first() -> None:
    names = [f"task_{n}" for n in range(20)]

    assert len(suggestions.find_similar("task_1", names, limit=2)) == 2
    assert suggestions.find_similar("task_1", names)[0] == "task_1"


@given(st.text(max_size=1_000_000), st.lists(st.text(), max_size=5))
def test_close_answers_only_what_it_was_given(name: str, among: list[str]) -> None:
    assert set(suggestions.find_similar(name, among)) <= set(among)


def test_close_reads_no_more_of_an_endless_name_than_a_name_can_be_long() -> None:
    assert suggestions.find_similar("task_id" + "x" * 1_000_000, ["task_id"]) == []
