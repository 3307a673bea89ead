"""Benchmark figures: measured values, what they are compared with, and whether they meet their goals."""

import json
import operator
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Goal:
    """The target of a figure: at least, at most, or below a value."""

    sign: str
    value: float

    def is_met_by(self, value: float) -> bool:
        return SIGNS[self.sign](value, self.value)

    def __str__(self) -> str:
        return f"{self.sign} {self.value:g}"


SIGNS: dict[str, Callable[[float, float], bool]] = {"≥": operator.ge, "≤": operator.le, "<": operator.lt}

# Goals of figures within one run on one machine.
GOALS = {
    "help.cached.ratio": Goal("≥", 0.9),
    "exec.read.ratio": Goal("≥", 0.45),
    "exec.overhead.ms": Goal("<", 1),
    "scale.help.ratio": Goal("≤", 1.2),
    "scale.exec.ratio": Goal("≤", 1.2),
    "memory.worker.mb": Goal("<", 200),
    "idempotency.ms": Goal("<", 1),
    "batch.parallel.ratio": Goal("≤", 1.3),
    "batch.parallel.redis.ratio": Goal("≤", 1.3),
    "batch.one.ms": Goal("<", 15),
    "releases.mixed": Goal("≤", 0),
    "releases.failed": Goal("≤", 0),
    "publish.10k.s": Goal("<", 10),
    "load.10k.s": Goal("<", 3),
    "search.10k.p95_ms": Goal("<", 20),
    "reports.1m.p95_ms": Goal("<", 500),
    "desk.ops.s": Goal("<", 1),
    "desk.review.s": Goal("<", 1),
}


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value. `against` says what it is compared with, the number of rounds and their spread."""

    name: str
    value: float
    unit: str
    against: str

    @property
    def goal(self) -> Goal | None:
        return GOALS.get(self.name)

    @property
    def met(self) -> bool:
        """Whether the value meets the goal; True without a goal."""
        return self.goal is None or self.goal.is_met_by(self.value)

    def as_dict(self) -> dict[str, object]:
        """Return the figure as written to var/bench.json: its fields, the goal's value (not its sign) and `met`."""
        return asdict(self) | {"goal": self.goal.value if self.goal else None, "met": self.met}


def median(name: str, rounds: Sequence[float], unit: str, against: str) -> Figure:
    """Return the median of the rounds as a figure; `against` gets their number, minimum and maximum."""
    spread = f"{len(rounds)} rounds, {min(rounds):.3g} to {max(rounds):.3g}"
    return Figure(name, round(statistics.median(rounds), 3), unit, f"{against}; {spread}")


def percentile(values: Sequence[float], percent: int) -> float:
    """Return a percentile (1 to 99) of at least two values."""
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def table(figures: Sequence[Figure]) -> str:
    """Return the figures as a plain-text table."""
    rows = [("figure", "value", "unit", "goal", "", "against")]
    for figure in figures:
        told = "" if figure.goal is None else "met" if figure.met else "MISSED"
        rows.append((figure.name, f"{figure.value:g}", figure.unit, str(figure.goal or ""), told, figure.against))
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    return "\n".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[5]]) for row in rows
    )


def write(figures: Sequence[Figure], path: Path) -> None:
    """Write the figures as a JSON list."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.write_text(json.dumps([figure.as_dict() for figure in figures], indent=2, ensure_ascii=False) + "\n")
