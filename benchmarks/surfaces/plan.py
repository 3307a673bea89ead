"""What an evaluation runs: its model, surfaces, tasks and repeats."""

import json
from dataclasses import asdict, dataclass
from types import MappingProxyType

SCRIPTED, ADVERSARY = "scripted", "adversary"
MODELS = (SCRIPTED, ADVERSARY, "main", "fast")
STAND_INS = frozenset({SCRIPTED, ADVERSARY})  # rules without AI, in this process

# What each name puts its sessions on: the variants of the flags `surface` and `tool selection`.
SURFACES = MappingProxyType(
    {
        "gateway": ("gateway", "static"),
        "hybrid": ("hybrid", "static"),
        "discovery": ("discovery", "static"),
        "legacy": ("legacy", "static"),
        "legacy-dynamic": ("legacy", "dynamic"),
    }
)
NO_NATIVE = (
    "The surface native needs a provider's own tool search, which Chat Completions does not have. The chat speaks Chat "
    "Completions, so native cannot be evaluated with it; leave it out."
)
DEFAULT_REPEATS = 5  # of the stand-in that misbehaves: one with each habit


class InvalidPlan(ValueError):
    """The options do not make an evaluation. The message says what to change."""


@dataclass(frozen=True, slots=True)
class EvaluationPlan:
    """The options of one evaluation."""

    model: str
    surfaces: tuple[str, ...]
    tasks: tuple[str, ...]
    repeats: int
    parallel: int
    max_dollars: float | None
    output: str  # path of the JSON file, empty for none

    def to_json(self) -> str:
        """Return the plan for another process."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "EvaluationPlan":
        """Return the plan that `to_json` wrote."""
        fields = json.loads(text)
        return cls(**{**fields, "surfaces": tuple(fields["surfaces"]), "tasks": tuple(fields["tasks"])})


def parse_surfaces(text: str) -> tuple[str, ...]:
    """Return the surfaces in a list separated by commas. Raises InvalidPlan."""
    names = _split(text)
    if "native" in names:
        raise InvalidPlan(NO_NATIVE)
    return _require_known(names, tuple(SURFACES), "surface")


def parse_tasks(text: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of tasks in a list separated by commas; all tasks for an empty list. Raises InvalidPlan."""
    return _require_known(_split(text), known, "task") if text else known


def _split(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.strip() for each in text.split(",") if each.strip()))


def _require_known(names: tuple[str, ...], known: tuple[str, ...], noun: str) -> tuple[str, ...]:
    if not names:
        raise InvalidPlan(f"Name at least one {noun}: {', '.join(known)}.")
    for name in names:
        if name not in known:
            raise InvalidPlan(f"There is no {noun} {name!r}. Choose from {', '.join(known)}.")
    return names
