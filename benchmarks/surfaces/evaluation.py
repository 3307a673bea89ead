"""Run an evaluation: all sessions, the tables on standard output, and the JSON.

The environment of this process must be that of `environment.build_variables`. Ctrl-C ends the evaluation with a report
of the sessions until then.
"""

import json
import signal
import sys
from collections import deque
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings
from django.test.utils import override_settings

from benchmarks.surfaces import environment, report
from benchmarks.surfaces.adversary import AdversaryServer, Habit
from benchmarks.surfaces.evaluation_tasks import EvaluationTask, load_tasks
from benchmarks.surfaces.plan import ADVERSARY, SCRIPTED, STAND_INS, EvaluationPlan
from benchmarks.surfaces.report import Evaluation
from benchmarks.surfaces.sessions import SessionResult, SessionRunner
from benchmarks.surfaces.workspaces import WorkspaceTemplate
from core import llm
from registry.releases import stored_releases

MILLION = 1_000_000
INTERRUPTED = "interrupted by Ctrl-C."

Job = tuple[EvaluationTask, str, int, str]


def run_evaluation(plan: EvaluationPlan) -> int:
    """Run an evaluation, print its tables and write its JSON. Return the exit code."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that the gateway is stopped
    started_at, prices = datetime.now(UTC), get_prices(plan.model)
    tasks = [task for task in load_tasks() if task.name in plan.tasks]
    _print_progress("Preparing a database with the shipped catalog and the demo workspace")
    key = environment.prepare_database(plan.surfaces, at=started_at)
    runner = SessionRunner(WorkspaceTemplate(started_at.date()))
    sessions: list[SessionResult] = []
    repeated = dict[str, int]()
    with environment.serve_gateway(key):
        if plan.model == ADVERSARY:
            stopped = _run_habits(plan, tasks, runner, sessions, prices, repeated)
        else:
            stopped = _run_jobs(plan, tasks, runner, sessions, prices)
    live = stored_releases.get_live_release()
    evaluation = Evaluation(
        plan=plan,
        model=get_model_name(plan.model),
        prices=prices,
        release=live.version if live else "",
        started_at=started_at.isoformat(timespec="seconds"),
        stopped=stopped,
        tasks=tasks,
        sessions=sessions,
        repeated_requests=repeated,
    )
    if plan.output:
        Path(plan.output).write_text(json.dumps(report.build_json(evaluation), indent=1, ensure_ascii=False) + "\n")
    if sessions:
        print(report.format_markdown(evaluation), end="")
    return 128 + signal.SIGINT if stopped == INTERRUPTED else 0


def get_prices(model: str) -> tuple[float, float]:
    """Return the dollars per million tokens in and out. Those of the stand-ins are the fast tier's."""
    if model in STAND_INS:
        return (
            float(settings.LLM_FAST_DOLLARS_PER_MILLION_INPUT_TOKENS),
            float(settings.LLM_FAST_DOLLARS_PER_MILLION_OUTPUT_TOKENS),
        )
    chosen = llm.get_endpoint(llm.Tier(model)).model
    return float(chosen.input_price), float(chosen.output_price)


def get_model_name(model: str) -> str:
    """Return the name of the model as the endpoint knows it."""
    return model if model in STAND_INS else llm.get_endpoint(llm.Tier(model)).model.name


def _run_habits(
    plan: EvaluationPlan,
    tasks: list[EvaluationTask],
    runner: SessionRunner,
    sessions: list[SessionResult],
    prices: tuple[float, float],
    repeated: dict[str, int],
) -> str:
    """Run all sessions with each habit of the stand-in, and count the requests that the chat sent twice.

    Return why it ended early, empty if it did not.
    """
    server = AdversaryServer()
    with override_settings(LLM_BASE_URL=server.start(), LLM_MODEL=SCRIPTED, LLM_FAST_MODEL=""):
        try:
            for habit in Habit:
                server.habit, before = habit, server.repeated_requests
                stopped = _run_jobs(plan, tasks, runner, sessions, prices, habit)
                repeated[habit] = server.repeated_requests - before
                if stopped:
                    return stopped
        finally:
            server.stop()
    return ""


def _run_jobs(
    plan: EvaluationPlan,
    tasks: list[EvaluationTask],
    runner: SessionRunner,
    sessions: list[SessionResult],
    prices: tuple[float, float],
    habit: str = "",
) -> str:
    """Run all sessions and add their results. Return why it ended early, empty if it did not."""
    # All surfaces of a task one after the other, and repeats last: an evaluation that is stopped compares the same.
    jobs = deque(
        (task, surface, number + 1, habit)
        for number in range(plan.repeats)
        for task in tasks
        for surface in plan.surfaces
    )
    count = len(sessions) + len(jobs)
    spent, stopped = sum(each.dollars for each in sessions), ""
    with ThreadPoolExecutor(plan.parallel) as pool:
        try:
            for result in _run_in_pool(pool, jobs, runner, plan.parallel):
                result.dollars = (result.input_tokens * prices[0] + result.output_tokens * prices[1]) / MILLION
                sessions.append(result)
                spent += result.dollars
                outcome = "passed" if result.is_success else f"failed: {result.problems[0]}"
                name = f"{result.task} with {habit}" if habit else result.task
                _print_progress(f"[{len(sessions)}/{count}] {name} on {result.surface} {outcome}")
                if plan.max_dollars is not None and spent >= plan.max_dollars and jobs:
                    jobs.clear()
                    stopped = f"${spent:.2f} were spent, and --max-dollars is {plan.max_dollars:g}."
        except KeyboardInterrupt:
            stopped = INTERRUPTED
    return stopped


def _run_in_pool(
    pool: ThreadPoolExecutor, jobs: deque[Job], runner: SessionRunner, parallel: int
) -> Iterator[SessionResult]:
    """Yield results as sessions end. Without jobs left, it waits for those that run."""
    running: set[Future[SessionResult]] = set()
    while True:
        while jobs and len(running) < parallel:
            running.add(pool.submit(runner.run, *jobs.popleft()))
        if not running:
            return
        done, running = wait(running, return_when=FIRST_COMPLETED)
        yield from (future.result() for future in done)


def _print_progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
