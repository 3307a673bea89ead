"""docs/reference/jobs.md: what runs in the background, and how often, from the manifests of the apps."""

import inspect
from collections.abc import Callable, Iterable
from datetime import timedelta

from core import manifest
from core.background import poller
from core.manifest import PollerThread
from gateway.jobs import job_loop

THREADS = {
    PollerThread.MEMORY: "Then, each time, it calls these. They query only if they have to.",
    PollerThread.RELEASES: "A thread of its own loads releases, which takes longer.",
    PollerThread.UPKEEP: "Processes that answer calls have another thread, which may wait for others' writes.",
}
UNITS = (("day", timedelta(days=1)), ("hour", timedelta(hours=1)), ("minute", timedelta(minutes=1)))


def render_page(notice: str) -> str:
    """Return docs/reference/jobs.md."""
    jobs = [
        f"| `{job.name}` | {_describe_interval(job.interval)} | {_describe_function(job.function)} |"
        for job in manifest.get().jobs
    ]
    declared = manifest.get()
    watched = [f"`{each.model}`" for each in declared.watched]
    polled = "".join(
        f"\n{THREADS[thread]}\n\n{_build_table(declared.polled.get(thread, ()))}" for thread in PollerThread
    )
    return (
        f"# Background jobs\n\n{notice}\n\n"
        "No scheduler, cron or Celery beat is needed.\n\n"
        "## Periodic jobs\n\n"
        "In production, `manage.py run_jobs --forever` runs them, and no other process does. In local mode, each server"
        " process,\nCelery worker and `manage.py mcp_stdio` has a thread for them.\n\n"
        f"The process looks every {job_loop.POLL_SECONDS:g} seconds for jobs that are due. The first process that"
        " claims a job runs it, so\neach runs in one process at a time. A job that runs for longer than"
        f" {job_loop.PATIENCE_SECONDS:g} seconds does not hold up the others. If a job\nfails, it is logged as"
        " `job.failed` and runs again at its next time. A job that leaves work runs again immediately.\n\n"
        "| job | every | what it does |\n|---|---|---|\n" + "\n".join(jobs) + "\n\n"
        "## In every process\n\n"
        f"Every {poller.INTERVAL:g} seconds, a thread of each process reads the state version: a number that changes"
        f" with the rows of\n{', '.join(watched)}.\n\nIf it has changed, or after"
        f" {poller.MAX_AGE:g} seconds, the thread calls these functions, which refresh what the process holds in"
        " memory.\n\n" + _build_table(declared.refreshed) + polled
    )


def _build_table(functions: Iterable[Callable[..., object]]) -> str:
    rows = [f"| `{_shorten_name(function)}` | {_describe_function(function)} |\n" for function in functions]
    return f"| function | what it does |\n|---|---|\n{''.join(rows)}"


def _shorten_name(function: Callable[..., object]) -> str:
    return f"{function.__module__.rpartition('.')[2]}.{function.__name__}"


def _describe_function(function: Callable[..., object]) -> str:
    """Return the first sentence of the docstring."""
    first_line = (inspect.getdoc(function) or "").partition("\n")[0]
    return first_line.partition(". ")[0].removesuffix(".") + "."


def _describe_interval(interval: timedelta) -> str:
    for unit, length in UNITS:
        if interval >= length and not interval % length:
            count = interval // length
            return unit if count == 1 else f"{count} {unit}s"
    return f"{interval.total_seconds():g} seconds"
