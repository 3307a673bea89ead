import pytest

from benchmarks import figures
from benchmarks.benchmark_list import BENCHMARKS
from benchmarks.figures import BenchmarkFigure
from benchmarks.run import is_wanted


@pytest.mark.parametrize(
    ("name", "value", "met"),
    [
        ("help.cached.ratio", 0.95, True),  # at least
        ("help.cached.ratio", 0.949, False),
        ("scale.exec.ratio", 1.2, True),  # at most
        ("scale.exec.ratio", 1.201, False),
        ("idempotency.ms", 0.999, True),  # below
        ("idempotency.ms", 1.0, False),
        ("search.100.p95_ms", 1e9, True),  # no goal
    ],
)
def test_figure_is_met_as_its_goal_says(name: str, value: float, met: bool) -> None:
    assert BenchmarkFigure(name, value, "", "").is_met is met


def test_goals_are_of_figures_that_are_measured() -> None:
    assert set(figures.GOALS) <= {name for measure in BENCHMARKS for name in measure.names}


def test_median_tells_rounds_and_spread() -> None:
    figure = figures.build_median_figure("help.cached.ratio", [0.5, 1.0, 0.9], "ratio", "a peer")

    assert figure.value == 0.9
    assert figure.against == "a peer; 3 rounds, 0.5 to 1"


@pytest.mark.parametrize(
    ("prefixes", "expected"), [([], True), (["help"], True), (["exec", "help.cached.r"], True), (["exec"], False)]
)
def test_is_wanted_by_the_beginning_of_its_name(prefixes: list[str], expected: bool) -> None:
    assert is_wanted("help.cached.ratio", prefixes) is expected
