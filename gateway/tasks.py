"""What Celery workers run."""

from uuid import UUID

from celery import shared_task
from django.db import close_old_connections

from core import logs
from gateway.batches import queue, running


@shared_task(
    name=queue.TASK,
    acks_late=True,  # a message is done when its entry is
    reject_on_worker_lost=True,
    ignore_result=True,  # the row holds it
)
def run_entry(batch_id: str, index: int, trace_id: str) -> None:
    """Run one entry of a batch, unless another runner has it."""
    logs.trace.set(trace_id)
    try:
        running.run(UUID(batch_id), index)
    finally:
        logs.clear()
        close_old_connections()
