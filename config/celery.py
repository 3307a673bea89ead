"""The Celery app of workers (celery -A config.celery worker) and of web processes, which send tasks with it."""

import os
from typing import Any

from celery import Celery, signals
from django.conf import settings

from config import env
from core.background import poller, task_queue

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("gateway")


@app.on_configure.connect
def _load_settings(**_: Any) -> None:
    """Load the settings before Celery does, whose commands would show a traceback if one is invalid."""
    with env.exit_on_invalid_setting():
        env.load_settings()


app.config_from_object("django.conf:settings", namespace="CELERY")


def start_embedded_worker() -> None:
    """Run tasks in threads of this process if there is no broker, and so no worker."""
    if settings.EMBEDDED_BROKER:
        from gateway.batches import sweep

        sweep.is_worker = True
        task_queue.start_threads()


@signals.setup_logging.connect
def _keep_django_logging(**_: Any) -> None:
    """Keep Django's logging. A receiver of this signal keeps Celery from configuring its own."""


@signals.worker_init.connect
def _start_worker(**_: Any) -> None:
    """Start the threads, the poller and, in local mode, the jobs, and look for batches that no message announces."""
    from gateway.batches import sweep
    from gateway.jobs import job_loop

    sweep.is_worker = True
    task_queue.start_threads()
    poller.start()
    job_loop.start_locally()


@signals.worker_init.connect
def _reconnect_after_redis_loss(**_: Any) -> None:
    """Make a worker reconnect after it loses Redis while it works.

    Kombu (5.7) returns unacknowledged messages, and acknowledges those that finish later, over the lost connection,
    which ends the worker. Neither is needed: the work is in the database, and a message only wakes a worker.
    """
    if not settings.CELERY_BROKER_URL.startswith(("redis", "sentinel")):
        return
    from kombu.transport import redis

    class QoS(redis.QoS):
        restore_at_shutdown = False

        def ack(self, delivery_tag: str) -> None:
            if not self.channel.closed:
                super().ack(delivery_tag)

    redis.Channel.QoS = QoS
