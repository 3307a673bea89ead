import pytest

from benchmarks.surfaces import plan
from benchmarks.surfaces.evaluation_tasks import load_tasks
from benchmarks.surfaces.plan import EvaluationPlan, InvalidPlan

KINDS = {"question", "create", "update", "link", "schedule", "delete", "batch", "impossible", "ambiguous"}


def test_surfaces_are_parsed_in_order_without_duplicates() -> None:
    assert plan.parse_surfaces("legacy, gateway,legacy") == ("legacy", "gateway")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gateway,native", "tool search"),
        ("gatway", "There is no surface 'gatway'. Choose from gateway, hybrid"),
        ("", "Name at least one surface"),
    ],
)
def test_invalid_surfaces_are_refused_with_a_reason(text: str, message: str) -> None:
    with pytest.raises(InvalidPlan, match=message):
        plan.parse_surfaces(text)


def test_no_tasks_means_all_tasks() -> None:
    assert plan.parse_tasks("", ("a", "b")) == ("a", "b")
    assert plan.parse_tasks("b", ("a", "b")) == ("b",)


def test_plan_survives_the_way_to_the_other_process() -> None:
    original = EvaluationPlan("fast", ("gateway",), ("mark_done",), 5, 2, 0.5, "")

    assert EvaluationPlan.from_json(original.to_json()) == original


def test_tasks_cover_all_kinds_and_each_checks_something() -> None:
    tasks = load_tasks()

    assert len(tasks) == len({task.name for task in tasks}) == 26
    assert {task.kind for task in tasks} == KINDS
    for task in tasks:
        assert task.rows or task.answer or task.asks or task.refuses or task.must_confirm, task.name
        assert not (task.kind == "question" and task.rows), task.name
