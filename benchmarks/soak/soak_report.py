"""The result of a soak of one database: its windows, its counts, what it missed, and all of that as text."""

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Any, NamedTuple

from benchmarks import figures
from benchmarks.figures import compute_percentile
from benchmarks.soak import judgement
from benchmarks.soak.judgement import SoakWindow
from benchmarks.soak.traffic import TIMEOUT_SECONDS, CallResult

WINDOW_SECONDS, MIN_WINDOWS = 60.0, 10
SAMPLES_PER_WINDOW = 12
# More than the releases that a worker keeps by default, and enough that each of the workers serves some of them: a
# worker that has reviewed and published needs about 100 MB more from then on.
WARM_UP_PUBLISHES = 10
# A publication delays somewhat more than one percent of the calls of its window, so it decides that window's p99. With
# one in three windows, a median shows the others.
WINDOWS_PER_PUBLISH = 3
JUDGED_WINDOWS = 3  # after the warm-up; a drift between fewer cannot be told
SHOWN_ERRORS, SHOWN_TABLES = 10, 6


class WorkerSample(NamedTuple):
    """The memory of each worker by its pid, and the CPU time of all of them so far, at one moment of the traffic."""

    at_s: float
    memory_mb: Mapping[str, float]
    cpu_s: float


@dataclass(frozen=True, slots=True)
class SoakPlan:
    """How long the traffic over one database takes, and its calls a second."""

    seconds: float
    per_second: float

    @property
    def window_s(self) -> float:
        """The length of a window: a minute, or less in a short trial."""
        return min(WINDOW_SECONDS, self.seconds / MIN_WINDOWS)

    @property
    def sample_every_s(self) -> float:
        return self.window_s / SAMPLES_PER_WINDOW

    def iterate_publish_times(self) -> Iterator[float]:
        """Yield the seconds at which a release is published: some in the warm-up, then one in three windows."""
        warm_up_s = judgement.WARM_UP_SHARE * self.seconds
        yield from (warm_up_s * number / WARM_UP_PUBLISHES for number in range(WARM_UP_PUBLISHES))
        yield from (warm_up_s + self.window_s * (number + 0.5) for number in count(1, WINDOWS_PER_PUBLISH))


@dataclass(frozen=True, slots=True)
class RequestSummary:
    """All requests of one name."""

    name: str
    requests: int
    errors: int
    p50_ms: float
    slowest_ms: float


@dataclass(frozen=True, slots=True)
class SoakResult:
    """What was measured over one database. `misses` says in sentences what is not as it must be."""

    database: str
    seconds: float
    calls_per_second: float
    is_interrupted: bool
    windows: list[SoakWindow]
    requests: list[RequestSummary]
    busy_cores: float  # used by the workers
    growth: dict[str, float]  # by the pid of a worker; empty if the traffic was too short
    drift: float | None
    events: dict[str, int]
    rows: dict[str, int]
    megabytes: float
    errors: list[str]
    misses: list[str]


def build_result(
    database: str,
    plan: SoakPlan,
    results: Sequence[CallResult],
    samples: Sequence[WorkerSample],
    stored: Mapping[str, Any],
    log: str,
    is_interrupted: bool,
) -> SoakResult:
    """Judge the results over one database. `stored` is what the command count_stored prints."""
    windows = build_windows(plan.window_s, results, samples)
    judged = judgement.skip_warm_up(windows)
    can_judge = len(judged) >= JUDGED_WINDOWS
    errors = [f"{each.name} after {each.due_s:.0f} s: {each.error}" for each in results if each.error]
    expected = Counter(chain.from_iterable(each.events for each in results))
    misses = [
        *([f"{len(errors)} requests failed, first: {errors[0]}"] if errors else []),
        *judgement.find_changed_workers([sample.memory_mb for sample in samples]),
        *judgement.find_logged_errors(log),
        *judgement.find_count_differences("Events", {str(kind): n for kind, n in expected.items()}, stored["events"]),
        *judgement.find_count_differences("Daily figures", judgement.derive_figures(expected), stored["figures"]),
        *(judgement.find_memory_growth(judged) if can_judge else []),
        *(judgement.find_latency_drift(judged) if can_judge else []),
    ]
    return SoakResult(
        database=database,
        seconds=windows[-1].start_s + plan.window_s if windows else 0.0,
        calls_per_second=plan.per_second,
        is_interrupted=is_interrupted,
        windows=windows,
        requests=summarize_requests(results),
        busy_cores=compute_busy_cores(samples),
        growth=judgement.compute_growth(judged) if can_judge else {},
        drift=judgement.compute_drift(judged) if can_judge else None,
        events=stored["events"],
        rows=stored["rows"],
        megabytes=stored["megabytes"],
        errors=errors,
        misses=misses,
    )


def compute_busy_cores(samples: Sequence[WorkerSample]) -> float:
    """Return how many cores the workers kept busy between the first sample and the last."""
    if len(samples) < 2:
        return 0.0
    first, last = samples[0], samples[-1]
    return (last.cpu_s - first.cpu_s) / (last.at_s - first.at_s)


def build_windows(window_s: float, results: Iterable[CallResult], samples: Sequence[WorkerSample]) -> list[SoakWindow]:
    """Return the windows that were sampled to their end. Their memory is the median of the window's samples."""
    results_by_window: defaultdict[int, list[CallResult]] = defaultdict(list)
    for result in results:
        results_by_window[int(result.due_s / window_s)].append(result)
    samples_by_window: defaultdict[int, list[Mapping[str, float]]] = defaultdict(list)
    for sample in samples:
        samples_by_window[int(sample.at_s / window_s)].append(sample.memory_mb)
    return [
        _build_window(number * window_s, results_by_window[number], samples_by_window[number])
        for number in range(max(samples_by_window, default=0))
    ]


def _build_window(start_s: float, results: Sequence[CallResult], samples: Sequence[Mapping[str, float]]) -> SoakWindow:
    calls = [each.latency_ms for each in results if each.is_call]
    latencies = calls if len(calls) > 1 else [TIMEOUT_SECONDS * 1000] * 2  # the server answered nothing
    return SoakWindow(
        start_s=start_s,
        calls=len(calls),
        errors=sum(bool(each.error) for each in results),
        p50_ms=compute_percentile(latencies, 50),
        p99_ms=compute_percentile(latencies, 99),
        memory_mb={
            pid: statistics.median(sample[pid] for sample in samples if pid in sample)
            for pid in sorted(set(chain.from_iterable(samples)), key=int)
        },
    )


def summarize_requests(results: Sequence[CallResult]) -> list[RequestSummary]:
    """Return one summary for each name, in the order of the names."""
    by_name: defaultdict[str, list[CallResult]] = defaultdict(list)
    for result in results:
        by_name[result.name].append(result)
    return [
        RequestSummary(
            name=name,
            requests=len(named),
            errors=sum(bool(each.error) for each in named),
            p50_ms=statistics.median(each.latency_ms for each in named),
            slowest_ms=max(each.latency_ms for each in named),
        )
        for name, named in sorted(by_name.items())
    ]


def format_result(result: SoakResult) -> str:
    """Return the tables of the windows and of the requests in Markdown, and a summary."""
    windows = [
        (
            f"{window.start_s // 60:.0f}:{window.start_s % 60:02.0f}",
            f"{window.calls:,}",
            str(window.errors),
            f"{window.p50_ms:.1f}",
            f"{window.p99_ms:.0f}",
            *(f"{mb:.1f}" for mb in window.memory_mb.values()),
        )
        for window in result.windows
    ]
    workers = [f"worker {number} MB" for number in range(1, max(map(len, windows), default=5) - 4)]
    requests = [
        (each.name, f"{each.requests:,}", str(each.errors), f"{each.p50_ms:.1f}", f"{each.slowest_ms:.0f}")
        for each in result.requests
    ]
    return "\n".join(
        [
            f"{result.database}: {result.seconds / 60:.1f} minutes, {result.calls_per_second:g} calls a second\n",
            figures.format_markdown([("from", "calls", "errors", "p50 ms", "p99 ms", *workers), *windows]),
            "",
            figures.format_markdown([("requests", "number", "errors", "p50 ms", "slowest ms"), *requests]),
            "",
            *_summarize(result),
        ]
    )


def _summarize(result: SoakResult) -> Iterator[str]:
    rows = sorted(result.rows.items(), key=lambda row: -row[1])[:SHOWN_TABLES]
    yield f"The workers kept {result.busy_cores:.2f} cores busy."
    yield f"Stored: {result.megabytes:g} MB; rows: {', '.join(f'{name} {number:,}' for name, number in rows)}"
    yield f"Events: {', '.join(f'{kind} {number:,}' for kind, number in sorted(result.events.items()))}"
    if result.drift is None:
        yield "Too short to judge memory and p99."
    else:
        growth = " and ".join(f"{share:+.1%}" for share in result.growth.values())
        yield f"After the warm-up: memory {growth}; p99 of the last third {result.drift:.2f} times the first third"
    yield from result.errors[:SHOWN_ERRORS]
    yield from (f"MISSED: {sentence}" for sentence in result.misses)
    if not result.misses:
        yield "Nothing was missed."
