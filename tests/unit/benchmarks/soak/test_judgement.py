"""What a soak must show, judged by made-up figures."""

from collections import Counter

import pytest

from benchmarks.soak import judgement
from benchmarks.soak.calls import EXEC, EXEC_ENTRY, HELP, REPLAY, SEARCH
from benchmarks.soak.judgement import SoakWindow


def build_windows(*, p99: list[float] | None = None, memory: list[float] | None = None) -> list[SoakWindow]:
    """Return windows of a minute in which the worker 2 stays at 100 MB."""
    number = len(p99 or memory or [])
    return [
        SoakWindow(60.0 * at, 2400, 0, 5.0, p99_ms, {"1": mb, "2": 100.0})
        for at, (p99_ms, mb) in enumerate(zip(p99 or [50.0] * number, memory or [100.0] * number, strict=True))
    ]


@pytest.mark.parametrize(("number", "judged"), [(15, 10), (10, 7), (4, 3), (1, 1), (0, 0)])
def test_warm_up_is_a_third_of_the_windows(number: int, judged: int) -> None:
    windows = build_windows(memory=[float(at) for at in range(number)])

    assert list(judgement.skip_warm_up(windows)) == windows[number - judged :]


@pytest.mark.parametrize(
    ("memory", "grew"),
    [
        ([100, 100, 100], False),
        ([100, 140, 104.9], False),  # what it used for a moment
        ([100, 102, 105], True),  # 5% is not under 5%
        ([100, 110, 120], True),
    ],
)
def test_memory_may_grow_by_less_than_5_percent(memory: list[float], grew: bool) -> None:
    sentences = judgement.find_memory_growth(build_windows(memory=memory))

    assert bool(sentences) is grew
    assert all(sentence.startswith("Memory of worker 1 grew by ") for sentence in sentences)


def test_memory_of_each_worker_is_judged() -> None:
    windows = build_windows(memory=[100, 120])
    windows[1] = SoakWindow(60, 2400, 0, 5, 50, {"1": 120.0, "2": 150.0})

    assert sorted(judgement.find_memory_growth(windows)) == [
        "Memory of worker 1 grew by 20.0%, from 100.0 to 120.0 MB; the limit is 5%.",
        "Memory of worker 2 grew by 50.0%, from 100.0 to 150.0 MB; the limit is 5%.",
    ]


@pytest.mark.parametrize(
    ("p99", "drift"),
    [
        ([50, 50, 50, 50, 50, 50, 50, 50, 50], 1.0),
        ([50, 50, 900, 900, 900, 900, 50, 900, 50], 1.0),  # single slow windows, and whatever is in the middle
        ([50, 50, 50, 60, 60, 60, 75, 75, 75], 1.5),
        ([50, 50, 50, 60, 60, 60, 76, 76, 10], 1.52),
        ([50, 100, 200], 4.0),
    ],
)
def test_drift_compares_the_medians_of_the_first_and_the_last_third(p99: list[float], drift: float) -> None:
    windows = build_windows(p99=p99)

    assert judgement.compute_drift(windows) == drift
    assert bool(judgement.find_latency_drift(windows)) is (drift > 1.5)


@pytest.mark.parametrize(
    ("pids", "sentences"),
    [
        (["12", "12", "12"], []),
        ([], []),
        (["12", "1", "12"], ["Workers changed: 1, 2 then 1."]),  # it died, and its place was empty for a moment
        (["12", "32"], ["Workers changed: 1, 2 then 2, 3."]),
    ],
)
def test_workers_must_stay_the_same(pids: list[str], sentences: list[str]) -> None:
    assert judgement.find_changed_workers([dict.fromkeys(sample, 100.0) for sample in pids]) == sentences


def test_counts_must_be_equal_for_each_kind() -> None:
    expected = {"help": 1000, "exec": 20, "search": 3}

    assert judgement.find_count_differences("Events", expected, {"search": 3, "exec": 20, "help": 1000}) == []
    assert judgement.find_count_differences("Events", expected, {"help": 999, "exec": 21, "other": 1}) == [
        "Events differ for exec: 21 stored, 20 expected.",
        "Events differ for help: 999 stored, 1,000 expected.",
        "Events differ for other: 1 stored, 0 expected.",
        "Events differ for search: 0 stored, 3 expected.",
    ]


@pytest.mark.parametrize(
    "line",
    [
        "2026-03-01T09:00:00Z ERROR core.background.write_behind events.lost count=500 total=500",
        "[ERROR] Unexpected exit from worker-1",
        "Traceback (most recent call last):",
    ],
)
def test_errors_in_the_log_are_found(line: str) -> None:
    log = f"2026-03-01T09:00:00Z WARNING django.request Not Found: /x\n{line}\n  more\n"

    assert judgement.find_logged_errors(log) == [f"The server logged 1 errors, first: {line}"]


def test_warnings_in_the_log_are_no_errors() -> None:
    log = "2026-03-01T09:00:00Z WARNING django.request Not Found: /errors\n"

    assert judgement.find_logged_errors(log) == []


def test_figures_follow_from_the_events() -> None:
    events = Counter({EXEC: 5, EXEC_ENTRY: 7, EXEC._replace(status=400): 2, REPLAY: 11, HELP: 13, SEARCH: 17})

    assert judgement.derive_figures(events) == {"calls": 14, "invalid": 2, "searches": 17}
