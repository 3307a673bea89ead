"""Celery tasks."""

from typing import Any
from uuid import UUID

from celery import shared_task
from django.db import close_old_connections

from core import logs
from core.background import task_queue
from gateway.batches import broker, runner


@shared_task(
    name=broker.TASK_NAME,
    acks_late=True,  # acknowledge only after the turn has ended
    reject_on_worker_lost=True,
    ignore_result=True,  # results are stored in the rows
)
def run_batch_turn(*, batch_id: str, trace_id: str, threads: int = 1, **_: Any) -> None:
    """Run unclaimed entries of a batch for one turn of each of these threads."""
    broker.record_message()
    task_queue.run_in_threads(lambda: _run_turn(UUID(batch_id), trace_id), threads)


def _run_turn(id: UUID, trace_id: str) -> None:
    logs.trace.set(trace_id)
    try:
        runner.run_turn(id)
    finally:
        logs.clear_context()
        close_old_connections()
