"""What Celery workers run."""

from typing import Any
from uuid import UUID

from celery import shared_task
from django.db import close_old_connections

from core import logs
from gateway.batches import queue, running


@shared_task(
    name=queue.TASK,
    acks_late=True,  # a message is done when its thread has done its turn
    reject_on_worker_lost=True,
    ignore_result=True,  # the rows hold it
)
def work(*, batch_id: str, trace_id: str, **_: Any) -> None:
    """Run entries of a batch that nobody else runs, for one turn."""
    logs.trace.set(trace_id)
    queue.heard()
    try:
        running.work(UUID(batch_id))
    finally:
        logs.clear()
        close_old_connections()
