"""docs/reference/jobs.md: what runs in the background, and how often, from the manifests of the apps."""

import inspect
from collections.abc import Callable
from datetime import timedelta

from core import manifest
from core.background import poller
from gateway.jobs import runner

UNITS = (("day", timedelta(days=1)), ("hour", timedelta(hours=1)), ("minute", timedelta(minutes=1)))


def render_page(notice: str) -> str:
    """Return docs/reference/jobs.md."""
    jobs = [
        f"| `{job.name}` | {_describe_interval(job.interval)} | {_describe_function(job.function)} |"
        for job in manifest.get().jobs
    ]
    functions = [
        f"| `{_shorten_name(function)}` | {_describe_function(function)} |" for function in manifest.get().polled
    ]
    return (
        f"# Background jobs\n\n{notice}\n\n"
        "No scheduler, cron or Celery beat is needed. Each web process, Celery worker and `manage.py mcp_stdio` has a\n"
        "background thread, which runs what this page lists.\n\n"
        "## Periodic jobs\n\n"
        f"The thread looks every {runner.POLL_SECONDS:g} seconds for jobs that are due. The first process that claims a"
        " job runs\nit, so each runs in one process at a time. If a job fails, it is logged as `job.failed` and runs"
        " again at its next\ntime. A job that leaves work runs again immediately.\n\n"
        "| job | every | what it does |\n|---|---|---|\n" + "\n".join(jobs) + "\n\n"
        "## In every process\n\n"
        f"The thread of each process calls these functions every {poller.INTERVAL:g} seconds, in this order. Most of"
        " them refresh what\nthe process holds in memory.\n\n"
        "| function | what it does |\n|---|---|\n" + "\n".join(functions) + "\n"
    )


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
