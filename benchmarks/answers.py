"""How many tokens answers cost: those of the shipped examples, and some lists and updates of a usual size.

Only results are counted, on the demo workspace; the members around a result take about as much in every answer.
"""

import statistics
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from benchmarks import demo_calls, loops
from benchmarks.figures import BenchmarkFigure, compute_percentile
from core.text import token_budget
from registry.catalog import cache
from workspace.demo.rows import get_demo_id

FETCHES_PAGES = "util.web."  # ops that read pages of others
ROWS = 20
TASKS_OF_PROJECT = 18
PROJECT = 2  # of the demo; it has as many tasks
UPDATES: tuple[dict[str, Any], ...] = (  # what a person says after a meeting
    {"state_key": "done"},
    {"state_key": "in_progress"},
    {"priority": 1},
    {"due_at": "2031-03-05T17:00"},
    {"title": "Ask the printer for a second offer"},
    {"state_key": "blocked", "priority": 2},
)


class CallFailed(Exception):
    """A call that must succeed failed. The message has its op and the error."""


def measure_answers() -> list[BenchmarkFigure]:
    """Return the tokens of results. Raises CallFailed."""
    examples = dict(count_examples())
    costs, largest = [*examples.values()], max(examples, key=examples.__getitem__)
    against = f"{len(costs)} shipped examples; the largest is {max(costs):,}, of {largest}"
    now = datetime.now(UTC).replace(microsecond=0)
    month = {"time_min": now.isoformat(), "time_max": (now + timedelta(days=31)).isoformat(), "limit": ROWS}
    tasks = {"project_id": get_demo_id("project", PROJECT)}
    updates = [
        _count_result("onto.task.update", {"task_id": get_demo_id("task", number), **change})
        for number, change in enumerate(UPDATES, start=1)
    ]
    return [
        BenchmarkFigure("answers.examples.tokens", round(statistics.median(costs)), "tokens", against),
        BenchmarkFigure("answers.examples.tokens_p90", round(compute_percentile(costs, 90)), "tokens", against),
        BenchmarkFigure(
            "answers.tasks.tokens",
            _count_result("onto.task.list", tasks),
            "tokens",
            f"the {TASKS_OF_PROJECT} tasks of a project",
        ),
        BenchmarkFigure(
            "answers.events.tokens", _count_result("cal.event.list", month), "tokens", f"the next {ROWS} events"
        ),
        BenchmarkFigure("answers.updates.tokens", sum(updates), "tokens", f"{len(updates)} updates of tasks"),
        *loops.measure_loop(),
    ]


def count_examples() -> Iterator[tuple[str, int]]:
    """Yield the title of each shipped example that succeeds on the demo workspace, and the tokens of its result."""
    for op in cache.get_live_catalog().ops.values():
        if op.op.startswith(FETCHES_PAGES):
            continue
        for example in op.examples:
            envelope = demo_calls.send_call({"op": op.op, "args": example["args"]})
            if envelope["ok"]:
                yield f"{op.op}: {example['title']}", token_budget.count_json(envelope["result"])


def _count_result(op: str, args: dict[str, Any]) -> int:
    envelope = demo_calls.send_call({"op": op, "args": args})
    if not envelope["ok"]:
        raise CallFailed(f"{op}: {envelope['error']['message']}")
    return token_budget.count_json(envelope["result"])
