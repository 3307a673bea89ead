"""Send a Celery task to a worker or, if no broker is set, to threads of this process.

A queue in memory loses nothing: a task looks for rows that are work, and periodic jobs find the rows of lost tasks.

The threads are those of a worker, too: one message can occupy several of them.
"""

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.util import Finalize
from typing import Any

from celery import current_app
from django.conf import settings

from core import logs

log = logging.getLogger(__name__)

_threads: ThreadPoolExecutor | None = None


def start_threads() -> None:
    """Start the threads that run tasks, as many as a worker has."""
    global _threads
    if _threads is None:
        current_app.loader.import_default_modules()
        _threads = ThreadPoolExecutor(settings.CELERY_WORKER_CONCURRENCY, thread_name_prefix="tasks")
        # Server workers are multiprocessing children. Stop before the finalizer that writes the last events.
        Finalize(_threads, _threads.shutdown, kwargs={"cancel_futures": True}, exitpriority=20)


def send(name: str, **options: Any) -> None:
    """Send a task, with the options of Celery's send_task, such as kwargs. Raises what the broker's client raises.

    Without a broker it neither waits nor raises, and a process without threads drops the task.
    """
    if not settings.EMBEDDED_BROKER:
        current_app.send_task(name, retry=False, ignore_result=True, **options)
    elif _threads is not None:
        with suppress(RuntimeError):  # the process is ending
            _threads.submit(_run, name, options.get("kwargs", {}))


def run_in_threads(work: Callable[[], object], count: int) -> None:
    """Run some work of a task `count` times at the same time, when so many threads are free, and wait for its end.

    A worker takes further messages while all its threads are busy. A task of a process without a broker is in one of
    the threads already.
    """
    if settings.EMBEDDED_BROKER or _threads is None:
        work()
        return
    for run in [_threads.submit(work) for _ in range(count)]:
        run.result()


def _run(name: str, arguments: dict[str, Any]) -> None:
    try:
        current_app.tasks[name](**arguments)
    except Exception as error:
        log.error("task.failed name=%s\n%s", name, logs.format_safely(error))
