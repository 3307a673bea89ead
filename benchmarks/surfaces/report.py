"""The report of an evaluation: tables in Markdown, and everything in JSON."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.surfaces.evaluation_tasks import EvaluationTask
from benchmarks.surfaces.plan import ADVERSARY, SCRIPTED, EvaluationPlan
from benchmarks.surfaces.sessions import SessionResult
from benchmarks.surfaces.summaries import (
    SUCCESS,
    Estimate,
    SurfaceDifference,
    SurfaceFigures,
    compare_surfaces,
    summarize_surfaces,
)

DOLLARS_GOAL = 0.03  # a session, with a fast model
STAND_IN_WORDS = {
    SCRIPTED: "the scripted model, rules without AI: it shows that the surfaces work, not how well models use them",
    ADVERSARY: "a stand-in, the scripted model with the habits of models: it shows that the chat bears them",
}
MAX_PROBLEMS = 2  # that are shown of one task


@dataclass(frozen=True, slots=True)
class Evaluation:
    """An evaluation that was run, perhaps not to its end."""

    plan: EvaluationPlan
    model: str  # as the endpoint names it
    prices: tuple[float, float]  # dollars per million tokens in and out
    release: str
    started_at: str
    stopped: str  # why it ended early, empty if it did not
    tasks: Sequence[EvaluationTask]
    sessions: Sequence[SessionResult]
    repeated_requests: Mapping[str, int] = field(default_factory=dict)  # by habit of the stand-in that misbehaves


def build_json(evaluation: Evaluation) -> dict[str, Any]:
    """Return the whole evaluation as JSON data."""
    surfaces = evaluation.plan.surfaces
    return {
        "model": evaluation.model,
        "tier": evaluation.plan.model,
        "dollars_per_million_tokens": {"input": evaluation.prices[0], "output": evaluation.prices[1]},
        "release": evaluation.release,
        "started_at": evaluation.started_at,
        "stopped": evaluation.stopped,
        "repeats": evaluation.plan.repeats,
        "surfaces": [asdict(each) for each in summarize_surfaces(evaluation.sessions, surfaces)],
        "repeated_requests": dict(evaluation.repeated_requests),
        "differences": [asdict(each) for each in compare_surfaces(evaluation.sessions, surfaces)],
        "tasks": [{"name": task.name, "kind": task.kind, "messages": list(task.messages)} for task in evaluation.tasks],
        "sessions": [asdict(each) | {"success": each.is_success} for each in evaluation.sessions],
    }


def format_markdown(evaluation: Evaluation) -> str:
    """Return the tables."""
    plan, sessions = evaluation.plan, evaluation.sessions
    summaries = summarize_surfaces(sessions, plan.surfaces)
    parts = [_describe_run(evaluation), _format_summaries(summaries)]
    if differences := compare_surfaces(sessions, plan.surfaces):
        parts.append(_format_differences(differences))
    if evaluation.repeated_requests:
        parts.append(_format_habits(evaluation))
    parts += [_format_tasks(evaluation), _format_problems(evaluation)]
    return "\n\n".join(filter(None, parts)) + "\n"


def _describe_run(evaluation: Evaluation) -> str:
    plan, (input_price, output_price) = evaluation.plan, evaluation.prices
    model = STAND_IN_WORDS.get(plan.model) or f"`{evaluation.model}` (tier {plan.model})"
    lines = [
        f"Model: {model}.",
        f"Tasks: {len(evaluation.tasks)}. Repeats: {plan.repeats}. Sessions: {len(evaluation.sessions)}.",
        f"Prices: ${input_price:g} per million tokens in, ${output_price:g} out. Brackets: 95% intervals over tasks.",
    ]
    if evaluation.stopped:
        lines.append(f"**Stopped early: {evaluation.stopped}** The figures are of the sessions until then.")
    return "\n".join(lines)


def _format_summaries(summaries: Sequence[SurfaceFigures]) -> str:
    head = ["surface", "success", "rounds", "calls", "repairs", "tokens in", "tokens out", "seconds", "$ a session"]
    rows = [
        [
            each.surface,
            _format_percent(each.figures[SUCCESS]),
            *(_format(each.figures[name], 1) for name in ("rounds", "calls")),
            _format(each.figures["repairs"], 2),
            *(_format(each.figures[name], 0) for name in ("input_tokens", "output_tokens")),
            _format(each.figures["seconds"], 2),
            _format(each.figures["dollars"], 4) + _judge_dollars(each.figures["dollars"].mean),
        ]
        for each in summaries
    ]
    return _format_table(head, rows)


def _judge_dollars(dollars: float) -> str:
    return f" above {DOLLARS_GOAL:g}" if dollars > DOLLARS_GOAL else ""


def _format_differences(differences: Sequence[SurfaceDifference]) -> str:
    head = [f"minus {differences[0].baseline}", "success", "rounds", "tokens in", "seconds", "$ a session"]
    rows = [
        [
            each.surface,
            _format_percent(each.figures[SUCCESS], sign="+"),
            _format(each.figures["rounds"], 1, sign="+"),
            _format(each.figures["input_tokens"], 0, sign="+"),
            _format(each.figures["seconds"], 2, sign="+"),
            _format(each.figures["dollars"], 4, sign="+"),
        ]
        for each in differences
    ]
    return _format_table(head, rows)


def _format_habits(evaluation: Evaluation) -> str:
    """Return how many tasks succeeded with each habit, and how many requests the chat sent twice."""
    surfaces = evaluation.plan.surfaces
    rows = []
    for habit, repeated in evaluation.repeated_requests.items():
        own = [session for session in evaluation.sessions if session.habit == habit]
        counts = [[each.is_success for each in own if each.surface == surface] for surface in surfaces]
        rows.append([habit, *(f"{sum(each)}/{len(each)}" for each in counts), str(repeated)])
    return _format_table(["habit", *surfaces, "requests sent twice"], rows)


def _format_tasks(evaluation: Evaluation) -> str:
    surfaces = evaluation.plan.surfaces
    rows = []
    for task in evaluation.tasks:
        own = [session for session in evaluation.sessions if session.task == task.name]
        counts = [[each.is_success for each in own if each.surface == surface] for surface in surfaces]
        rows.append([task.name, task.kind, *(f"{sum(each)}/{len(each)}" if each else "" for each in counts)])
    return _format_table(["task", "kind", *surfaces], rows)


def _format_problems(evaluation: Evaluation) -> str:
    lines = []
    for task in evaluation.tasks:
        failed = [each for each in evaluation.sessions if each.task == task.name and not each.is_success]
        problems = Counter(problem for session in failed for problem in session.problems)
        shown = "; ".join(f"{problem} ({count}×)" for problem, count in problems.most_common(MAX_PROBLEMS))
        if failed:
            where = ", ".join(name for name in evaluation.plan.surfaces if any(s.surface == name for s in failed))
            lines.append(f"- `{task.name}` on {where}: {shown}")
    return "Failed:\n\n" + "\n".join(lines) if lines else ""


def _format_percent(estimate: Estimate, *, sign: str = "") -> str:
    low, high = estimate.low * 100, estimate.high * 100
    return f"{estimate.mean * 100:{sign}.0f}% [{low:{sign}.0f}, {high:{sign}.0f}]"


def _format(estimate: Estimate, digits: int, *, sign: str = "") -> str:
    form = f"{sign},.{digits}f"
    return f"{estimate.mean:{form}} [{estimate.low:{form}}, {estimate.high:{form}}]"


def _format_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
