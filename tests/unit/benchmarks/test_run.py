"""A run of benchmarks writes each figure when it comes, goes on after failures, and its exit code says how it ended."""

import json
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from benchmarks import docs_tables, lab, run, run_record, run_size, usage
from benchmarks.benchmark_list import Benchmark
from benchmarks.figures import BenchmarkFigure, NotMeasured
from benchmarks.lab import Lab
from benchmarks.peers import peer
from benchmarks.peers.fastmcp import FASTMCP_TOOLS

RATIO, RATE = "help.cached.ratio", "help.requests_per_s"
MET, MISSED = BenchmarkFigure(RATIO, 0.97, "ratio", "a"), BenchmarkFigure(RATIO, 0.5, "ratio", "a")
OTHER = BenchmarkFigure("idempotency.ms", 0.5, "ms", "b")


def give(*figures: BenchmarkFigure, then: Exception | None = None) -> Benchmark:
    def measure(_lab: Lab) -> Iterator[BenchmarkFigure]:
        yield from figures
        if then:
            raise then

    return Benchmark((RATIO, RATE), measure)


@pytest.fixture(autouse=True)
def _isolated_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    @contextmanager
    def open_lab() -> Iterator[Lab]:
        yield Lab(tmp_path, None)

    monkeypatch.setattr(lab, "open_lab", open_lab)
    monkeypatch.setattr(run, "RESULT", tmp_path / "bench.json")
    monkeypatch.setattr(run, "SMOKE_RESULT", tmp_path / "bench-smoke.json")
    monkeypatch.setattr(usage, "measure_busy_share", lambda _seconds: 0.0)
    monkeypatch.setenv(run_size.SMOKE, "")
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def read_rows(tmp_path: Path, name: str = "bench.json") -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in json.loads((tmp_path / name).read_text())["figures"]}


def test_failed_benchmark_keeps_its_first_figures_and_those_of_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmarks = [
        give(MET, then=RuntimeError("The server is gone.\nA second line")),
        Benchmark((OTHER.name,), lambda _: [OTHER]),
    ]

    code = run.main([], benchmarks)

    rows, printed = read_rows(tmp_path), capsys.readouterr().out
    assert code == run_record.FAILED
    assert (rows[RATIO]["value"], rows[OTHER.name]["value"]) == (0.97, 0.5)
    assert rows[RATE] == {
        "name": RATE,
        "value": None,
        "unit": "",
        "against": "",
        "goal": None,
        "met": None,
        "status": "failed",
        "reason": "RuntimeError: The server is gone.",
        "busy": 0.0,
    }
    assert "FAILED   RuntimeError: The server is gone." in printed
    assert f"Failed: {RATE}." in printed


def test_benchmark_that_ends_without_a_figure_has_failed(tmp_path: Path) -> None:
    assert run.main([], [give(MET)]) == run_record.FAILED
    assert read_rows(tmp_path)[RATE]["reason"] == "The benchmark ended without this figure."


def test_figure_is_in_the_file_before_the_next_one_is_measured(tmp_path: Path) -> None:
    seen: list[Iterable[str]] = []

    def measure(_lab: Lab) -> Iterator[BenchmarkFigure]:
        yield MET
        seen.append(read_rows(tmp_path).keys())
        raise KeyboardInterrupt  # as Ctrl-C does

    with pytest.raises(KeyboardInterrupt):
        run.main([], [Benchmark((RATIO, RATE), measure)])

    assert seen == [{RATIO}]
    assert read_rows(tmp_path).keys() == {RATIO}


@pytest.mark.parametrize(
    ("arguments", "figure", "then", "code"),
    [
        ([], MET, None, run_record.ALL_MET),
        ([], MISSED, None, run_record.MISSED),
        ([], MISSED, RuntimeError("x"), run_record.FAILED),  # the worse of both
        ([], MET, NotMeasured("make bench-peers"), run_record.ALL_MET),
        (["--smoke"], MISSED, None, run_record.ALL_MET),  # judges no value
        (["--smoke"], MET, RuntimeError("x"), run_record.FAILED),
        (["exec"], MET, None, run.WRONG_ARGUMENTS),
    ],
)
def test_exit_code_says_how_the_run_ended(
    arguments: list[str], figure: BenchmarkFigure, then: Exception | None, code: int
) -> None:
    rate = [] if then else [BenchmarkFigure(RATE, 1, "1/s", "c")]

    assert run.main(arguments, [give(figure, *rate, then=then)]) == code


def test_peer_that_is_not_installed_is_a_row_that_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(peer, "PEERS", tmp_path)

    def measure(_lab: Lab) -> list[BenchmarkFigure]:
        FASTMCP_TOOLS.require()
        return [MET]

    assert run.main([], [Benchmark((RATIO,), measure)]) == run_record.ALL_MET
    row = read_rows(tmp_path)[RATIO]
    assert (row["status"], row["reason"]) == ("not run", "make bench-peers")
    assert "not run  make bench-peers" in capsys.readouterr().out


def test_smoke_run_is_a_hundredth_and_keeps_the_figures_of_a_whole_run(tmp_path: Path) -> None:
    sizes: list[float] = []

    def measure(_lab: Lab) -> list[BenchmarkFigure]:
        sizes.extend((run_size.shrink(1_000), run_size.shrink(50, least=5), run_size.shorten(60, least=2)))
        return [MET]

    run.main(["--smoke"], [Benchmark((RATIO,), measure)])

    assert sizes == [10, 5, 2]
    assert not (tmp_path / "bench.json").exists()
    assert json.loads((tmp_path / "bench-smoke.json").read_text())["smoke"] is True


def test_benchmark_that_hangs_is_a_row_that_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "LONGEST_SECONDS", 1)  # enough for the other one, also on a busy machine

    def hang(_lab: Lab) -> Iterator[BenchmarkFigure]:
        yield MET
        time.sleep(60)

    code = run.main([], [Benchmark((RATIO, RATE), hang), Benchmark((OTHER.name,), lambda _: [OTHER])])

    rows = read_rows(tmp_path)
    assert code == run_record.FAILED
    assert (rows[RATIO]["value"], rows[RATE]["reason"]) == (0.97, "BenchmarkTooSlow: It took longer than 1 s.")
    assert rows[OTHER.name]["value"] == 0.5


@pytest.mark.parametrize("shares", [(0.3, 0.0), (0.0, 0.3)], ids=["before", "after"])
def test_missed_time_is_not_judged_if_other_programs_were_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], shares: tuple[float, float]
) -> None:
    left = iter(shares)
    monkeypatch.setattr(usage, "measure_busy_share", lambda _seconds: next(left))

    assert run.main(["help.cached"], [give(MISSED)]) == run_record.BUSY

    assert read_rows(tmp_path)[RATIO]["busy"] == 0.3
    printed = capsys.readouterr().out
    assert f"Not judged, as other programs were busy: {RATIO}." in printed
    assert "other programs used at most 30% of the cores" in printed


def test_missed_count_is_judged_on_a_busy_machine_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage, "measure_busy_share", lambda _seconds: 0.9)
    tokens = BenchmarkFigure("discovery.tokens", 9_000, "tokens", "a")

    assert run.main([], [Benchmark((tokens.name,), lambda _: [tokens])]) == run_record.MISSED


def test_docs_get_a_table_of_all_figures_with_the_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docs_tables, "DOCS", tmp_path)
    page = tmp_path / "performance.md"
    page.write_text("<!-- figures --><!-- /figures -->")

    run.main(["--docs"], [give(MISSED, then=NotMeasured("make bench-peers"))])

    lines = page.read_text().splitlines()
    assert f"commit `{run_record.read_commit()}`" in lines[2]
    assert [cell.strip() for cell in lines[6].split("|")[1:-1]] == [f"`{RATIO}`", "0.5", "≥ 0.95", "missed", "a"]
    assert [cell.strip() for cell in lines[7].split("|")[1:-1]] == [f"`{RATE}`", "", "", "not run", "make bench-peers"]
