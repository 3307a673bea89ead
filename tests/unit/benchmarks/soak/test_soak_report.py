"""From the results of single requests to the windows of a soak and its judgement."""

from typing import Any

import pytest

from benchmarks.soak import soak_report
from benchmarks.soak.calls import HELP, SEARCH
from benchmarks.soak.soak_report import SoakPlan, SoakResult, WorkerSample
from benchmarks.soak.traffic import CallResult

PLAN = SoakPlan(seconds=100, per_second=10)
STORED = {"events": {str(HELP): 900, str(SEARCH): 100}, "figures": {"searches": 100}, "rows": {}, "megabytes": 1.0}


def build_results(**last: Any) -> list[CallResult]:
    """Return results of 100 seconds, the last of them with other fields."""
    names = {"name": "help", "latency_ms": 5.0}
    results = [CallResult(due_s=at / 10, events=[SEARCH if at % 10 == 5 else HELP], **names) for at in range(1000)]
    return [*results[:-1], CallResult(**{**names, "due_s": 99.9, "events": [HELP], **last})]


def build_samples(*, last_mb: float = 100.0) -> list[WorkerSample]:
    """Return a sample every ten seconds. The workers use half a core."""
    memory = [{"7": 100.0, "8": 90.0}] * 9 + [{"7": last_mb, "8": 90.0}] * 2
    return [WorkerSample(10.0 * at, each, 5.0 * at) for at, each in enumerate(memory)]


def judge(**changes: Any) -> SoakResult:
    arguments: dict[str, Any] = {
        "results": build_results(),
        "samples": build_samples(),
        "stored": STORED,
        "log": "",
        "is_interrupted": False,
    }
    return soak_report.build_result("SQLite", PLAN, **{**arguments, **changes})


def test_soak_without_a_miss() -> None:
    result = judge()

    assert result.misses == []
    assert [window.calls for window in result.windows] == [100] * 10
    assert (result.growth, result.drift, result.busy_cores) == ({"7": 0.0, "8": 0.0}, 1.0, 0.5)
    assert "Nothing was missed." in soak_report.format_result(result)


@pytest.mark.parametrize(
    ("changes", "miss"),
    [
        ({"results": build_results(error="ReadTimeout")}, "1 requests failed, first: help after 100 s: ReadTimeout"),
        ({"results": build_results(events=[])}, "Events differ for help api 200: 900 stored, 899 expected."),
        ({"stored": STORED | {"figures": {"searches": 99}}}, "Daily figures differ for searches: 99 stored"),
        ({"samples": build_samples(last_mb=106)}, "Memory of worker 7 grew by 6.0%"),
        ({"samples": [*build_samples(), WorkerSample(100.1, {"7": 100.0, "9": 90.0}, 51)]}, "Workers changed: 7, 8"),
        ({"log": "Traceback (most recent call last):"}, "The server logged 1 errors"),
    ],
)
def test_soak_says_what_was_missed(changes: dict[str, Any], miss: str) -> None:
    result = judge(**changes)

    assert len(result.misses) == 1
    assert result.misses[0].startswith(miss)
    assert f"MISSED: {miss}" in soak_report.format_result(result)


def test_soak_that_was_stopped_early_judges_counts_only() -> None:
    result = judge(samples=build_samples()[:4], is_interrupted=True)

    assert (len(result.windows), result.drift, result.misses) == (3, None, [])
    assert "Too short to judge memory and p99." in soak_report.format_result(result)


def test_windows_leave_out_admins_and_an_unfinished_end() -> None:
    results = [*build_results(), CallResult("admin: Home", 50.0, 4000.0, is_call=False)]
    windows = soak_report.build_windows(10, results, build_samples()[:10])

    assert [window.calls for window in windows] == [100] * 9
    assert {window.p99_ms for window in windows} == {5.0}


def test_window_without_answers_is_as_slow_as_the_time_limit() -> None:
    [window] = soak_report.build_windows(10, [], build_samples()[:2])

    assert (window.calls, window.p50_ms, window.p99_ms) == (0, 40_000, 40_000)


@pytest.mark.parametrize(("seconds", "window_s"), [(900, 60), (600, 60), (120, 12)])
def test_window_is_a_minute_or_a_tenth_of_a_short_trial(seconds: float, window_s: float) -> None:
    assert SoakPlan(seconds=seconds, per_second=40).window_s == window_s


def test_releases_are_published_in_the_warm_up_and_then_in_one_of_three_windows() -> None:
    times = SoakPlan(seconds=900, per_second=40).iterate_publish_times()

    assert [next(times) for _ in range(13)] == [*range(0, 300, 30), 390, 570, 750]
