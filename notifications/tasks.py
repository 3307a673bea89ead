"""The Celery task that sends notifications."""

from typing import Any

from celery import shared_task
from django.db import close_old_connections

from notifications import delivery, outbox


@shared_task(name=outbox.TASK_NAME, ignore_result=True)
def send_notifications(**_: Any) -> None:
    """Send the notifications that are due. The rows are the work, so a lost message only delays them."""
    try:
        delivery.send_due()
    finally:
        close_old_connections()
