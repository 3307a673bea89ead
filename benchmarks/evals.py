"""How long the shipped eval cases take, and how many of them search finds."""

import time
from itertools import cycle, islice

from benchmarks.figures import BenchmarkFigure
from registry import search
from registry.catalog.model import Catalog
from registry.evals import case_store, comparison
from registry.evals.comparison import run_cases
from registry.models import EvalCase

TIMED_CASES = 1_000


def measure_evals(catalog: Catalog) -> list[BenchmarkFigure]:
    """Return the seconds for 1,000 cases, with the index of a new draft, and the hit rates of the shipped sets."""
    cases = [case_store.set_fields(EvalCase(), entry) for entry in case_store.read_shipped_cases()]
    fresh = catalog.with_op(next(iter(catalog.ops.values())), version="0" * 64)  # without an index
    started = time.perf_counter()
    search.warm(fresh)
    run_cases(fresh, list(islice(cycle(cases), TIMED_CASES)))
    seconds = time.perf_counter() - started
    compared = comparison.compare_runs(cases, run_cases(catalog, cases), None)
    against = f"{TIMED_CASES:,} cases, {len(catalog.ops):,} ops, with the index"
    return [
        BenchmarkFigure("evals.1k.s", round(seconds, 2), "s", against),
        *(
            BenchmarkFigure(f"evals.{each.name}.top{rate.limit}", round(rate.rate, 3), "", f"{each.count} cases")
            for each in compared.sets
            for rate in each.rates
        ),
    ]
