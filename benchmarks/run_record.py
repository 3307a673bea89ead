"""What a run has measured so far, on the terminal and in var/bench.json.

Each figure is written when it comes, so that a run that ends early loses none.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from benchmarks import run_size
from benchmarks.figures import GOALS, BenchmarkFigure

ALL_MET, MISSED, FAILED = 0, 1, 3  # exit codes of a run; 2 is that of wrong arguments


class GapKind(StrEnum):
    """Why a figure has no value."""

    FAILED = "failed"
    NOT_RUN = "not run"


@dataclass(frozen=True, slots=True)
class FigureGap:
    """A figure that was not measured, and why."""

    name: str
    kind: GapKind
    reason: str

    def to_dict(self) -> dict[str, object]:
        """Return the row of var/bench.json, with the fields of a measured figure."""
        goal = GOALS.get(self.name)
        fields = {"name": self.name, "value": None, "unit": "", "against": ""}
        return fields | {"goal": goal.value if goal else None, "met": None, "status": self.kind, "reason": self.reason}


@dataclass(slots=True)
class RunRecord:
    """The figures and gaps of a run, in the order in which they came, and how busy the machine was."""

    path: Path
    names: Sequence[str]  # of all figures to come: the widest decides the first column
    figures: list[BenchmarkFigure] = field(default_factory=list)
    gaps: list[FigureGap] = field(default_factory=list)
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    load_before: float = field(default_factory=lambda: os.getloadavg()[0])
    _rows: list[dict[str, object]] = field(default_factory=list)

    def add_figure(self, figure: BenchmarkFigure) -> None:
        """Write and print a measured figure."""
        self.figures.append(figure)
        self._rows.append(figure.to_dict() | {"status": "measured", "reason": ""})
        judgement = "" if figure.goal is None or run_size.is_smoke() else "met" if figure.is_met else "MISSED"
        self._write_row(
            figure.name, f"{figure.value:g} {figure.unit}", str(figure.goal or ""), judgement, figure.against
        )

    def add_gap(self, gap: FigureGap) -> None:
        """Write and print a figure that has no value."""
        self.gaps.append(gap)
        self._rows.append(gap.to_dict())
        label = "FAILED" if gap.kind == GapKind.FAILED else "not run"
        self._write_row(gap.name, "", str(GOALS.get(gap.name, "")), label, gap.reason)

    def write(self) -> None:
        """Write everything so far to the file, which is complete at any moment."""
        self.path.parent.mkdir(mode=0o700, exist_ok=True)
        content = {
            "started_at": self.started_at.isoformat(timespec="seconds"),
            "seconds": round((datetime.now(UTC) - self.started_at).total_seconds()),
            "smoke": run_size.is_smoke(),
            "cores": os.cpu_count(),
            "load_before": round(self.load_before, 2),
            "load_after": round(os.getloadavg()[0], 2),
            "figures": self._rows,
        }
        unfinished = self.path.with_suffix(".new")
        unfinished.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")
        unfinished.replace(self.path)

    def compute_exit_code(self) -> int:
        """FAILED if a benchmark failed, MISSED if a goal was missed, else ALL_MET. In a smoke run no goal counts."""
        if any(gap.kind == GapKind.FAILED for gap in self.gaps):
            return FAILED
        return ALL_MET if run_size.is_smoke() or all(figure.is_met for figure in self.figures) else MISSED

    def build_summary(self) -> str:
        """Return how many figures there are, which have no value or missed their goal, and how busy the machine was."""
        missed = [] if run_size.is_smoke() else [figure.name for figure in self.figures if not figure.is_met]
        names_by_outcome = {
            "Missed": missed,
            "Failed": [gap.name for gap in self.gaps if gap.kind == GapKind.FAILED],
            "Not run": [gap.name for gap in self.gaps if gap.kind == GapKind.NOT_RUN],
        }
        seconds = (datetime.now(UTC) - self.started_at).total_seconds()
        lines = [f"{len(self.figures)} figures in {seconds:.0f} s; see var/{self.path.name}."]
        lines += [f"{outcome}: {', '.join(names)}." for outcome, names in names_by_outcome.items() if names]
        lines.append(
            f"Load average {self.load_before:.1f} before, {os.getloadavg()[0]:.1f} after, {os.cpu_count()} cores."
            + (" Other programs were busy: the times are too high." if self.load_before > BUSY_LOAD else "")
        )
        return "\n".join(lines)

    def _write_row(self, name: str, value: str, goal: str, judgement: str, against: str) -> None:
        self.write()
        width = max(map(len, self.names))
        print(f"{name:{width}}  {value:>14}  {goal:>8}  {judgement:7}  {against}".rstrip(), flush=True)


BUSY_LOAD = 0.5  # load average over a minute before the run; an idle machine has less
