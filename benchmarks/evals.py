"""How long the shipped eval cases take, and how many of them search finds."""

import time
from collections.abc import Sequence
from itertools import cycle, islice

from benchmarks.figures import BenchmarkFigure, build_median_figure
from benchmarks.run_size import shrink
from registry import search
from registry.catalog.model import Catalog
from registry.evals import case_store, comparison
from registry.evals.comparison import run_cases
from registry.models import EvalCase

TIMED_CASES = 1_000
ROUNDS = 3


def measure_evals(catalog: Catalog) -> list[BenchmarkFigure]:
    """Return the seconds for 1,000 cases, with the index of a new draft, and the hit rates of the shipped sets."""
    cases = [case_store.set_fields(EvalCase(), entry) for entry in case_store.read_shipped_cases()]
    timed = list(islice(cycle(cases), shrink(TIMED_CASES)))
    rounds = [_time_cases(catalog, timed, f"{number:064}") for number in range(ROUNDS)]
    compared = comparison.compare_runs(cases, run_cases(catalog, cases), None)
    against = f"{len(timed):,} cases, {len(catalog.ops):,} ops, with the index"
    return [
        build_median_figure("evals.1k.s", rounds, "s", against),
        *(
            BenchmarkFigure(f"evals.{each.name}.top{rate.limit}", round(rate.rate, 3), "", f"{each.count} cases")
            for each in compared.sets
            for rate in each.rates
        ),
    ]


def _time_cases(catalog: Catalog, cases: Sequence[EvalCase], version: str) -> float:
    """Return the seconds for cases on a new draft, whose index is built first."""
    fresh = catalog.with_op(next(iter(catalog.ops.values())), version=version)  # without an index
    started = time.perf_counter()
    search.warm_catalog(fresh)
    run_cases(fresh, cases)
    return time.perf_counter() - started
