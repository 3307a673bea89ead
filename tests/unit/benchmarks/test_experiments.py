"""Simulated experiments are judged as the product judges them, and their tables get into the docs."""

from pathlib import Path

import pytest
from numpy.random import default_rng

from analytics.experiments import statistics
from analytics.experiments.statistics import ArmMoments, ArmResult, ArmVerdict
from benchmarks import docs_tables, run_size
from benchmarks.experiments import chance
from benchmarks.experiments.chance import GridCell
from benchmarks.experiments.traffic import LIMITED, LOOKS, PARETO, CallTimeline, FailureRates

RATES = FailureRates(0.15, 0.1)


def test_sums_of_a_look_are_those_of_its_users() -> None:
    timeline = CallTimeline(default_rng(1), PARETO, runs=2, users=(60, 40))
    outcomes = timeline.draw_outcomes(RATES)

    for look in (0, 400, LOOKS - 1):
        for arm, moments in enumerate(outcomes.get_moments(1, look)):
            expected = ArmMoments.of_pairs(timeline.list_pairs(outcomes, 1, arm, look))
            assert moments.subjects == expected.subjects
            assert moments.covariance == pytest.approx(expected.covariance)
            assert moments.numerator_variance == pytest.approx(expected.numerator_variance)
    assert moments.subjects == 40


@pytest.mark.parametrize("past", [False, True])
def test_simulation_fails_if_the_product_judges_otherwise(monkeypatch: pytest.MonkeyPatch, past: bool) -> None:
    chance.simulate_cells(default_rng(1), [GridCell(LIMITED, (200, 150), RATES)], 2, past=past)
    monkeypatch.setattr(
        statistics, "compare_arms", lambda *_: ArmResult(0, -0.001, 0.001, 1.0, ArmVerdict.NONE), raising=True
    )

    with pytest.raises(AssertionError):
        chance.simulate_cells(default_rng(1), [GridCell(LIMITED, (200, 150), RATES)], 2, past=past)


def test_table_replaces_the_one_in_the_docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(run_size.SMOKE, "")
    monkeypatch.setattr(docs_tables, "DOCS", tmp_path)
    page = tmp_path / "page.md"
    page.write_text("Before\n\n<!-- split -->\n\nold\n\n<!-- /split -->\n\nAfter\n")

    docs_tables.write_docs_table("page.md", "split", [["arrived"], ["45:55"]], "Of today.")

    table = "Of today.\n\n| arrived |\n| ------- |\n| 45:55   |"
    assert page.read_text() == f"Before\n\n<!-- split -->\n\n{table}\n\n<!-- /split -->\n\nAfter\n"
    with pytest.raises(ValueError, match="no place for the table past"):
        docs_tables.write_docs_table("page.md", "past", [["arrived"]])
