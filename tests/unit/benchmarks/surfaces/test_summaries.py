import pytest

from benchmarks.surfaces import report, summaries
from benchmarks.surfaces.evaluation_tasks import load_tasks
from benchmarks.surfaces.plan import EvaluationPlan
from benchmarks.surfaces.report import Evaluation
from benchmarks.surfaces.sessions import SessionResult


def build_session(
    task: str, surface: str, repeat: int = 1, *, fails: bool = False, tokens: int = 1_000
) -> SessionResult:
    problems = ["Missing: change task A"] if fails else []
    return SessionResult(task, surface, repeat, problems, rounds=2, input_tokens=tokens, dollars=tokens / 20_000)


def build_evaluation(*sessions: SessionResult, stopped: str = "") -> Evaluation:
    tasks = [task for task in load_tasks() if task.name in {session.task for session in sessions}]
    surfaces = tuple(dict.fromkeys(session.surface for session in sessions))
    plan = EvaluationPlan("fast", surfaces, tuple(task.name for task in tasks), 1, 1, None, "")
    return Evaluation(plan, "small-1", (0.15, 0.6), "f" * 64, "2026-11-24T12:00:00+00:00", stopped, tasks, sessions)


def test_repeats_of_a_task_are_averaged_before_tasks_are() -> None:
    sessions = [
        build_session("a", "gateway", 1),
        build_session("a", "gateway", 2),
        build_session("b", "gateway", fails=True),
    ]

    (summary,) = summaries.summarize_surfaces(sessions, ["gateway", "legacy"])

    assert (summary.tasks, summary.sessions) == (2, 3)
    assert summary.figures["success"].mean == 0.5  # not two thirds


def test_success_interval_is_not_empty_when_all_tasks_succeed() -> None:
    sessions = [build_session(f"t{number}", "gateway") for number in range(26)]

    (summary,) = summaries.summarize_surfaces(sessions, ["gateway"])

    success = summary.figures["success"]
    assert (success.mean, success.high) == (1.0, 1.0)
    assert success.low == pytest.approx(0.871, abs=0.001)


def test_bootstrap_interval_contains_the_mean_and_narrows_with_tasks() -> None:
    few = summaries.estimate_mean([1, 2, 3, 4])
    many = summaries.estimate_mean([1, 2, 3, 4] * 10)

    assert few.low < few.mean == 2.5 < few.high
    assert many.high - many.low < few.high - few.low
    assert summaries.estimate_mean([1, 2, 3, 4]) == few  # the same at every run


def test_difference_of_success_is_not_certain_when_no_task_differs() -> None:
    same = summaries.estimate_success_difference([0.0] * 26)
    better = summaries.estimate_success_difference([1.0] * 13 + [0.0] * 13)

    assert (same.mean, same.low) == (0, -same.high)
    assert same.high == pytest.approx(0.099, abs=0.001)
    assert (better.mean, better.low > 0.2, better.high < 0.75) == (0.5, True, True)
    assert summaries.estimate_success_difference([-1.0]).low == -1.0


def test_surfaces_are_compared_on_the_tasks_that_both_ran() -> None:
    sessions = [
        *(build_session(task, "gateway", tokens=1_000) for task in ("a", "b", "c")),
        *(build_session(task, "legacy", tokens=5_000) for task in ("a", "b")),
    ]

    (difference,) = summaries.compare_surfaces(sessions, ["gateway", "legacy"])

    assert (difference.surface, difference.baseline, difference.tasks) == ("legacy", "gateway", 2)
    assert difference.figures["input_tokens"].mean == 4_000


def test_dollars_above_the_goal_are_marked() -> None:
    text = report.format_markdown(build_evaluation(build_session("mark_done", "gateway", tokens=1_000)))

    assert "0.0500 [0.0500, 0.0500] above 0.03 |" in text
