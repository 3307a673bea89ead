"""Points at which a process of the gateway can be made to die: an app that only tests/services/crash_settings.py loads.

A file named role.point.signal in CRASH_FOLDER arms a point. The first thread of a process of that role that comes by
takes the file away and sends its process the signal.
"""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import wraps
from pathlib import Path
from types import ModuleType
from typing import Any

from django.apps import AppConfig

WEB, WORKER = "web", "worker"
HASTE = timedelta(seconds=2)  # what a runner is held for, where it is not to take as long as in production


class SabotageConfig(AppConfig):
    """Puts a point before and after each step that matters."""

    name = "tests.support.servers.fault_points"

    def ready(self) -> None:
        """Wrap the steps in the modules that hold them."""
        from analytics.events import event_log as events
        from gateway.execution import pipeline as execution, idempotency, local_write as writes
        from gateway.batches import (
            responses as answers,
            leases as holds,
            broker as queue,
            runner as running,
            store,
            sweep,
        )
        from tests.support.servers import probe

        _wrap(store, "create", "taken")
        _wrap(queue, "wake", "wake")
        _wrap(holds, "claim", "entry-claim")
        _wrap(idempotency, "claim", "key-claim")
        keep = probe.HANDLERS["probe_keep"]
        probe.HANDLERS["probe_keep"] = replace(keep, apply=_pointed(keep.apply, "handler"))
        _wrap(idempotency, "finish", "outcome")
        _wrap(holds, "finish", "entry-finish")
        _wrap(events, "record", "event")
        _wrap(writes, "_written", "commit")
        _wrap(execution, "execute", "exec")
        _wrap(running, "go_on", "go-on")
        _wrap(running, "run", "run")
        _wrap(running, "work", "turn")
        _wrap(answers, "final", "answer")
        _wrap(sweep, "sweep", "sweep")
        _wrap(sweep, "help_out", "help")
        _wrap(sweep, "_take_over", "take-over")
        if os.environ.get("CRASH_HASTE"):
            holds.LEASE = store.NOTIFY_AFTER = HASTE
            sweep.INTERVAL = 0.5


def _wrap(module: ModuleType, name: str, point: str) -> None:
    setattr(module, name, _pointed(getattr(module, name), point))


def _pointed(step: Callable[..., Any], point: str) -> Callable[..., Any]:
    @wraps(step)
    def with_points(*args: Any, **kwargs: Any) -> Any:
        _pass(f"{point}-before")
        result = step(*args, **kwargs)
        _pass(f"{point}-after")
        return result

    return with_points


def _pass(point: str) -> None:
    """Die here, if this is where this process is to die."""
    for sign in (signal.SIGKILL, signal.SIGTERM):
        try:
            (Path(os.environ["CRASH_FOLDER"]) / f"{os.environ['CRASH_ROLE']}.{point}.{sign.name}").unlink()
        except FileNotFoundError:
            continue
        os.kill(os.getpid(), sign)
        while sign == signal.SIGKILL:
            time.sleep(1)
