"""How often chance alone gets a verdict or an alarm of a guardrail, in simulated experiments without a difference."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from numpy.random import Generator, default_rng

from analytics.experiments.statistics import ArmMoments, choose_guardrail_tuning, choose_tuning
from benchmarks.docs_tables import write_docs_table
from benchmarks.experiments.any_look import AnyLookTest, Comparison, compare_at_looks
from benchmarks.experiments.traffic import (
    LIMITED,
    LOG_NORMAL,
    LOOKS,
    PARETO,
    CallDistribution,
    CallTimeline,
    FailureRates,
    Outcomes,
    split_runs,
)
from benchmarks.figures import BenchmarkFigure
from benchmarks.lab import Lab
from benchmarks.run_size import shrink

SEED = 44
RUNS = 2_000
USERS = (40, 40), (200, 200), (2_000, 2_000)  # of both arms
UNEQUAL_USERS = (360, 40), (900, 100)
RATES = 0.02, 0.15, 0.4
CORRELATIONS = 0, 0.1, 0.3
PAST_USERS, PAST_RATES, PAST_CORRELATIONS = ((200, 200), (600, 600)), RATES[1:], CORRELATIONS[1:]
CALLS_AT_ONCE = 400_000  # so that an array fits into the cache of a processor
LABELS = "calls of a user", "users", "correlation"
CHECKED_LOOKS = 20  # of each cell, against the product


@dataclass(slots=True)
class GridCell:
    """One kind of traffic, and in how many of its runs there ever was a verdict, or an alarm."""

    counts: CallDistribution
    users: tuple[int, int]
    rates: FailureRates
    verdicts: int = 0
    alarms: int = 0
    widths: list[float] = field(default_factory=list)  # of the last interval, divided by its width without a past

    def __str__(self) -> str:
        rates = f"{self.rates.mean:.0%} failing, correlation {self.rates.correlation:g}"
        return f"{build_labels(self)[1]} users, calls {self.counts.name}, {rates}"


def measure_chance(_lab: Lab) -> Iterator[BenchmarkFigure]:
    """Measure it in each cell of the grid, and write the table of the docs."""
    runs, cells = shrink(RUNS), list[GridCell]()
    rates = [FailureRates(mean, correlation) for correlation, mean in product(CORRELATIONS, RATES)]
    for index, (counts, users) in enumerate(product((LOG_NORMAL, PARETO), (*USERS, *UNEQUAL_USERS))):
        cells += simulate_cells(default_rng([SEED, index]), [GridCell(counts, users, each) for each in rates], runs)
    write_docs_table("experiments.md", "chance", build_chance_table(cells, runs))
    against = f"of {runs:,} without a difference, at any of {LOOKS:,} looks; worst of {len(cells)} cells: {{}}"
    worst = max(cells, key=lambda cell: cell.verdicts)
    yield BenchmarkFigure("experiments.verdicts.runs", worst.verdicts, "runs", against.format(worst))
    worst = max(cells, key=lambda cell: cell.alarms)
    yield BenchmarkFigure("experiments.guardrail.runs", worst.alarms, "runs", against.format(worst))


def measure_chance_with_past(_lab: Lab) -> Iterator[BenchmarkFigure]:
    """Measure the same where most users have called before, and how much narrower that makes the intervals."""
    runs, cells = shrink(RUNS), list[GridCell]()
    rates = [FailureRates(mean, correlation) for correlation, mean in product(PAST_CORRELATIONS, PAST_RATES)]
    for index, (counts, users) in enumerate(product((LIMITED, PARETO), PAST_USERS)):
        generator = default_rng([SEED, 100 + index])
        cells += simulate_cells(generator, [GridCell(counts, users, each) for each in rates], runs, past=True)
    write_docs_table("experiments.md", "past", build_past_table(cells, runs))
    worst = max(cells, key=lambda cell: cell.verdicts)
    against = f"of {runs:,} without a difference, at any of {LOOKS:,} looks; worst of {len(cells)} cells: {worst}"
    yield BenchmarkFigure("experiments.past.runs", worst.verdicts, "runs", against)
    narrowest = min(cells, key=lambda cell: float(np.median(cell.widths)))
    width = round(float(np.median(narrowest.widths)), 3)
    yield BenchmarkFigure("experiments.past.width", width, "ratio", f"to the interval without a past: {narrowest}")


def simulate_cells(
    generator: Generator, cells: Sequence[GridCell], runs: int, *, past: bool = False
) -> Sequence[GridCell]:
    """Simulate the runs of cells with the same number of calls and users; return the cells."""
    counts, users = cells[0].counts, cells[0].users
    total = sum(users)
    tuning = choose_tuning(total, smaller_share=min(users) / total)
    verdict = AnyLookTest(tuning=tuning, tails=2, subjects=total)
    guardrail = AnyLookTest(tuning=choose_guardrail_tuning(total), tails=1, subjects=total)
    for part, number in enumerate(split_runs(runs, max(1, CALLS_AT_ONCE // (10 * total)))):
        timeline = CallTimeline(generator, counts, runs=number, users=users)
        for cell in cells:
            outcomes = timeline.draw_outcomes(cell.rates, past=past)
            comparison = compare_at_looks(outcomes.sums)
            cell.verdicts += int(verdict.find_verdicts(comparison).any(axis=1).sum())
            cell.alarms += int(guardrail.find_verdicts(comparison).any(axis=1).sum())
            if past:
                cell.widths += compute_last_widths(outcomes)
            if not part:
                _check_sample(generator, (verdict, guardrail), comparison, timeline, outcomes)
    return cells


def compute_last_widths(outcomes: Outcomes) -> list[float]:
    """Return the width of the interval at the last look of each run, divided by the width without a past."""
    last = {name: values[:, :, -1:] for name, values in outcomes.sums.items()}
    adjusted = compare_at_looks(last).variance
    del last["past"]
    plain = compare_at_looks(last).variance
    known = plain[:, 0] > 0
    return list(np.sqrt(adjusted[known, 0] / plain[known, 0]))


def build_chance_table(cells: Sequence[GridCell], runs: int) -> list[list[str]]:
    """Return a row for each kind of traffic, with columns for the rates: verdicts, then alarms."""
    heads = [f"{kind} at {rate:.0%}" for kind in ("verdict", "alarm") for rate in RATES]
    table = [[*LABELS, *heads]]
    for start in range(0, len(cells), len(RATES)):
        group = cells[start : start + len(RATES)]
        counts = [cell.verdicts for cell in group] + [cell.alarms for cell in group]
        table.append([*build_labels(group[0]), *(f"{count / runs:.1%}" for count in counts)])
    return table


def build_past_table(cells: Sequence[GridCell], runs: int) -> list[list[str]]:
    """Return a row for each kind of traffic: verdicts, and the width of the interval."""
    heads = [f"{kind} at {rate:.0%}" for kind in ("verdict", "width") for rate in PAST_RATES]
    table = [[*LABELS, *heads]]
    for start in range(0, len(cells), len(PAST_RATES)):
        group = cells[start : start + len(PAST_RATES)]
        shares = [f"{cell.verdicts / runs:.1%}" for cell in group]
        table.append([*build_labels(group[0]), *shares, *(f"{np.median(cell.widths):.0%}" for cell in group)])
    return table


def build_labels(cell: GridCell) -> list[str]:
    """Return the first cells of a row, under LABELS."""
    return [cell.counts.name, " + ".join(f"{users:,}" for users in cell.users), f"{cell.rates.correlation:g}"]


def _check_sample(
    generator: Generator,
    tests: Sequence[AnyLookTest],
    comparison: Comparison,
    timeline: CallTimeline,
    outcomes: Outcomes,
) -> None:
    """Compare a sample of looks with the product, and one of them from the calls of each user."""
    for number in range(CHECKED_LOOKS):
        run, look = int(generator.integers(timeline.runs)), int(generator.integers(LOOKS))
        moments = outcomes.get_moments(run, look)
        if not number and "past" not in outcomes.sums:
            moments = [ArmMoments.of_pairs(timeline.list_pairs(outcomes, run, arm, look)) for arm in (0, 1)]
        for test in tests:
            test.check_against_product(comparison, run, look, moments)
