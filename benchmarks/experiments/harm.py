"""How soon harm is found, a broken split is noticed, and a file of experiments is judged."""

import json
import math
import random
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.random import Generator, default_rng

from analytics.experiments import statistics
from analytics.experiments.statistics import CONCENTRATION, MAX_GUARDRAIL_TUNING, choose_tuning
from benchmarks.docs_tables import write_docs_table
from benchmarks.experiments.any_look import AnyLookTest, compare_at_looks
from benchmarks.experiments.chance import RUNS, SEED
from benchmarks.experiments.traffic import Floats
from benchmarks.figures import BenchmarkFigure
from benchmarks.lab import Lab
from benchmarks.run_size import shrink

RATES = 0.2, 0.1, 0.05  # of failures, which double
SUBJECTS = 400  # of both arms, with one call each
SPLIT_SUBJECTS, SPLIT_P = 10_000, 0.001
ENTRIES, ENTRY_SUBJECTS = 5_000, 400


def measure_doubling(_lab: Lab) -> Iterator[BenchmarkFigure]:
    """Measure in how many runs a doubled failure rate is found before both arms have 400 subjects."""
    runs = shrink(RUNS)
    table = [["failing", "doubled", "found by a guardrail", "found by a verdict"]]
    guardrail = AnyLookTest(tuning=MAX_GUARDRAIL_TUNING, tails=1, subjects=SUBJECTS)
    verdict = AnyLookTest(tuning=choose_tuning(SUBJECTS), tails=2, subjects=SUBJECTS)
    for index, rate in enumerate(RATES):
        failed = default_rng([SEED, 200 + index]).random((runs, 2, SUBJECTS // 2 - 1)) < np.array([[rate], [2 * rate]])
        hits, calls = np.cumsum(failed, axis=2, dtype=float), np.ones(failed.shape).cumsum(axis=2)
        comparison = compare_at_looks({"n": calls, "a": hits, "b": calls, "aa": hits, "ab": hits, "bb": calls})
        shares = [test.find_verdicts(comparison).any(axis=1).mean() for test in (guardrail, verdict)]
        table.append([f"{rate:.0%}", f"{2 * rate:.0%}", *(f"{share:.1%}" for share in shares)])
        against = f"of {runs:,} runs by a guardrail, before both arms have {SUBJECTS} subjects with one call each"
        yield BenchmarkFigure(f"experiments.doubling.{rate * 100:g}", round(float(shares[0]), 4), "share", against)
    write_docs_table("experiments.md", "doubling", table)


def measure_split(_lab: Lab) -> Iterator[BenchmarkFigure]:
    """Measure in how many runs a split of 45:55 that was planned as 50:50 is found, and one of 50:50 blamed."""
    runs = shrink(RUNS)
    generator = default_rng([SEED, 300])
    p_values = [
        statistics.compute_sample_ratio_p_value((int(count), SPLIT_SUBJECTS - int(count)), (50, 50))
        for count in generator.binomial(SPLIT_SUBJECTS, 0.45, runs)
    ]
    found = sum(p < SPLIT_P for p in p_values) / runs
    against = f"of {runs:,} runs of {SPLIT_SUBJECTS:,} subjects, p < {SPLIT_P:g}"
    yield BenchmarkFigure("experiments.split.found", found, "share", f"45:55 instead of 50:50, {against}")
    blamed = _count_blamed(generator, runs)
    shares = [["45:55", f"{found:.0%}"], ["50:50", f"{blamed / runs:.1%}"]]
    write_docs_table("experiments.md", "split", [["arrived", "said to be broken"], *shares])
    yield BenchmarkFigure("experiments.split.blamed", blamed, "runs", f"50:50 as planned, {against}, after any subject")


def _count_blamed(generator: Generator, runs: int) -> int:
    """Return in how many runs of an even split compute_sample_ratio_p_value ever was too small, by arrays."""
    half = CONCENTRATION / 2
    priors = np.array([math.lgamma(half + count) - math.lgamma(half) for count in range(SPLIT_SUBJECTS + 1)])
    totals = np.arange(SPLIT_SUBJECTS + 1)
    both = np.array([math.lgamma(CONCENTRATION + n) - math.lgamma(CONCENTRATION) for n in totals])
    blamed = 0
    for _ in range(runs):
        counts = np.concatenate(([0], np.cumsum(generator.random(SPLIT_SUBJECTS) < 0.5)))
        factors: Floats = priors[counts] + priors[totals - counts] - both + totals * math.log(2)
        p = statistics.compute_sample_ratio_p_value((int(counts[-1]), SPLIT_SUBJECTS - int(counts[-1])), (1, 1))
        assert math.isclose(p, min(1, math.exp(-factors[-1])), rel_tol=1e-6), (p, factors[-1])
        blamed += bool(factors.max() > -math.log(SPLIT_P))
    return blamed


def measure_judge_arms(lab: Lab) -> list[BenchmarkFigure]:
    """Measure how long manage.py judge_arms takes."""
    generator, entries = random.Random(SEED), shrink(ENTRIES)
    metric = {"kind": "ratio", "lower_is_better": True}
    arms = [[_draw_pair(generator) for _ in range(ENTRY_SUBJECTS // 2)] for _ in range(20)]
    content = [
        {
            "metric": metric,
            "tuning": 800,
            "sides": 1 + number % 2,
            "arms": dict(zip(("now", "new"), sides, strict=True)),
        }
        for number, sides in ((number, generator.sample(arms, 2)) for number in range(entries))
    ]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "arms.json"
        path.write_text(json.dumps(content))
        started = time.perf_counter()
        results = lab.judge_arms(path)
        seconds = time.perf_counter() - started
    assert len(results) == entries
    against = f"{entries:,} entries of {ENTRY_SUBJECTS} subjects, one or two tails, with the start of the command"
    return [BenchmarkFigure("experiments.judge.s", round(seconds, 2), "s", against)]


def _draw_pair(generator: random.Random) -> tuple[int, int]:
    calls = max(1, round(generator.lognormvariate(1.4, 1.3)))
    return sum(generator.random() < 0.2 for _ in range(calls)), calls
