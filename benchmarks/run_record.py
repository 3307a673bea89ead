"""What a run has measured so far, on the terminal and in var/bench.json.

Each figure is written when it comes, so that a run that ends early loses none.
"""

import functools
import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from benchmarks import run_size
from benchmarks.figures import GOALS, BenchmarkFigure
from tools.databases import ROOT

ALL_MET, MISSED, FAILED, BUSY = 0, 1, 3, 4  # exit codes of a run; 2 is that of wrong arguments
BUSY_SHARE = 0.1  # of all cores; other programs that use more make times and rates worse than they are
TIMED_UNITS = frozenset(("s", "ms", "us", "1/s", "ratio", "cores", "%"))


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
    """The figures and gaps of a run, in the order in which they came, and how busy the machine was with other work."""

    path: Path
    names: Sequence[str]  # of all figures to come: the widest decides the first column
    figures: list[BenchmarkFigure] = field(default_factory=list)
    gaps: list[FigureGap] = field(default_factory=list)
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    _rows: list[dict[str, object]] = field(default_factory=list)
    _busy_share: float = 0.0
    _watched: int = 0  # the rows whose busy share includes what came after them

    def add_busy_share(self, share: float) -> None:
        """Note which share of the cores others use now: before the next benchmark, and after the last one."""
        for row in self._rows[self._watched :]:
            row["busy"] = max(round(share, 2), float(str(row["busy"])))
        self._watched, self._busy_share = len(self._rows), round(share, 2)

    def add_figure(self, figure: BenchmarkFigure) -> None:
        """Write and print a measured figure."""
        self.figures.append(figure)
        self._rows.append(figure.to_dict() | {"status": "measured", "reason": "", "busy": self._busy_share})
        self._write_row(
            figure.name,
            format_value(figure.value, figure.unit),
            str(figure.goal or ""),
            self._judge(figure, self._busy_share),
            figure.against,
        )

    def add_gap(self, gap: FigureGap) -> None:
        """Write and print a figure that has no value."""
        self.gaps.append(gap)
        self._rows.append(gap.to_dict() | {"busy": self._busy_share})
        label = "FAILED" if gap.kind == GapKind.FAILED else "not run"
        self._write_row(gap.name, "", str(GOALS.get(gap.name, "")), label, gap.reason)

    def write(self) -> None:
        """Write everything so far to the file, which is complete at any moment."""
        self.path.parent.mkdir(mode=0o700, exist_ok=True)
        content = {
            "started_at": self.started_at.isoformat(timespec="seconds"),
            "seconds": round((datetime.now(UTC) - self.started_at).total_seconds()),
            "commit": read_commit(),
            "smoke": run_size.is_smoke(),
            "cores": os.cpu_count(),
            "figures": self._rows,
        }
        unfinished = self.path.with_suffix(".new")
        unfinished.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")
        unfinished.replace(self.path)

    def compute_exit_code(self) -> int:
        """Return FAILED, MISSED, BUSY or ALL_MET: the first that is true of a figure. In a smoke run no goal counts."""
        judgements = self._list_judgements()
        if any(gap.kind == GapKind.FAILED for gap in self.gaps):
            return FAILED
        return MISSED if "MISSED" in judgements else BUSY if "busy" in judgements else ALL_MET

    def build_summary(self) -> str:
        """Return how many figures there are, and which have no value, missed their goal or cannot be judged."""
        judgements = self._list_judgements()
        by_judgement = {
            label: [figure.name for figure, judgement in zip(self.figures, judgements, strict=True) if judgement == key]
            for key, label in (("MISSED", "Missed"), ("busy", "Not judged, as other programs were busy"))
        }
        names_by_outcome = by_judgement | {
            "Failed": [gap.name for gap in self.gaps if gap.kind == GapKind.FAILED],
            "Not run": [gap.name for gap in self.gaps if gap.kind == GapKind.NOT_RUN],
        }
        seconds = (datetime.now(UTC) - self.started_at).total_seconds()
        lines = [f"{len(self.figures)} figures in {seconds:.0f} s; see var/{self.path.name}."]
        lines += [f"{outcome}: {', '.join(names)}." for outcome, names in names_by_outcome.items() if names]
        busiest = max((float(str(row["busy"])) for row in self._rows), default=0.0)
        lines.append(f"Before and after each benchmark, other programs used at most {busiest:.0%} of the cores.")
        return "\n".join(lines)

    def build_docs_table(self) -> tuple[list[list[str]], str]:
        """Return the rows of a table with all figures, its header first, and a caption: date, commit and machine."""
        judgements = iter(self._list_judgements())
        table = [["figure", "value", "goal", "", "measured"]]
        for row in self._rows:
            name, goal = str(row["name"]), str(GOALS.get(str(row["name"]), ""))
            if row["status"] == "measured":
                value = format_value(float(str(row["value"])), str(row["unit"]))
                table.append([f"`{name}`", value, goal, next(judgements).lower(), str(row["against"])])
            else:
                table.append([f"`{name}`", "", goal, str(row["status"]), str(row["reason"])])
        return table, f"{self.started_at:%Y-%m-%d}, commit `{read_commit()}`, {os.cpu_count()} cores."

    def _list_judgements(self) -> list[str]:
        """Return the judgement of each figure, with what is known about other programs by now."""
        shares = {str(row["name"]): float(str(row["busy"])) for row in self._rows}
        return [self._judge(figure, shares[figure.name]) for figure in self.figures]

    @staticmethod
    def _judge(figure: BenchmarkFigure, busy_share: float) -> str:
        """Return "met", "MISSED", "busy" (missed, perhaps because of other programs) or "" (there is no goal)."""
        if figure.goal is None or run_size.is_smoke():
            return ""
        if figure.is_met:
            return "met"
        return "busy" if busy_share > BUSY_SHARE and figure.unit in TIMED_UNITS else "MISSED"

    def _write_row(self, name: str, value: str, goal: str, judgement: str, against: str) -> None:
        self.write()
        width = max(map(len, self.names))
        print(f"{name:{width}}  {value:>14}  {goal:>8}  {judgement:7}  {against}".rstrip(), flush=True)


def format_value(value: float, unit: str) -> str:
    """Return a value with its unit; a ratio needs none."""
    return f"{value:g} {unit}".removesuffix(" ratio")


@functools.cache
def read_commit() -> str:
    """Return the short hash of the checkout's commit, with a plus if files differ from it, or "" outside of Git."""
    command = ["git", "describe", "--always", "--exclude=*", "--dirty=+"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return result.stdout.strip()
