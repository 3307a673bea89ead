"""Celery: the app that workers run (celery -A config.celery worker) and web processes send by."""

import logging
import os
import threading
from multiprocessing.util import Finalize
from typing import Any

from celery import Celery, signals
from django.conf import settings

from core import follower

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("gateway")
app.config_from_object("django.conf:settings", namespace="CELERY")


def start_embedded() -> None:
    """Run a worker in threads of this process, unless the broker is one that other processes reach, too."""
    if settings.EMBEDDED_BROKER:
        threading.Thread(target=_run_embedded, name="batches", daemon=True).start()


def _run_embedded() -> None:
    from celery.worker import WorkController

    logging.getLogger("celery.worker.consumer.connection").setLevel(logging.WARNING)  # there is nothing to connect to
    worker = WorkController(
        app=app, pool_cls="threads", without_heartbeat=True, without_mingle=True, without_gossip=True
    )
    # Of a server's worker, which is a multiprocessing child; before the finalizer by which the last events are written.
    Finalize(worker, worker.stop, exitpriority=20)
    worker.start()


@signals.setup_logging.connect
def _leave_logging(**_: Any) -> None:
    """Keep Django's logging: being connected is what tells Celery to set up none of its own."""


@signals.worker_init.connect
def _follow(**_: Any) -> None:
    """Follow releases and keys, hold on to what runs here, and look for what no message tells of."""
    from gateway.batches import sweep

    sweep.is_worker = True
    if not settings.EMBEDDED_BROKER:  # else this is a web process, which has a follower
        follower.start()


@signals.worker_init.connect
def _outlive_redis(**_: Any) -> None:
    """Have a worker that loses its Redis while it works connect again.

    Kombu (5.7) would give back what is not acknowledged, and acknowledge what ends later, over the connection that is
    lost, and the worker would end over that. Neither is needed: the rows are the work, and a message only wakes.
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
