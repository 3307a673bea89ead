"""Points at which a gateway process can be killed: an app that only the crash settings load.

A file named role.point.signal in CRASH_FOLDER arms a point. The first thread in a process of that role that reaches the
point removes the file and sends its process the signal.
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
SHORT_LEASE = timedelta(seconds=2)  # a shorter lease than in production, so that tests need not wait
SHORT_GRACE = timedelta(seconds=1)  # likewise, for storing the outcome of a remote write


class FaultPointsConfig(AppConfig):
    """Adds a point before and after each relevant step."""

    name = "tests.support.servers.fault_points"

    def ready(self) -> None:
        """Wrap the steps in their modules."""
        from analytics.events import event_log
        from core.background import leases as leases
        from core.http.network import GuardedStream
        from gateway.batches import broker, entry_claims, responses, runner, store, sweep
        from gateway.execution import idempotency, local_write, pipeline, remote_write
        from gateway.executors.http import sending
        from tests.support.servers import probe

        _wrap(store, "create_batch", "taken")
        _wrap(broker, "wake_workers", "wake")
        _wrap(entry_claims, "claim_entry", "entry-claim")
        _wrap(idempotency, "claim_key", "key-claim")
        keep = probe.HANDLERS["probe_keep"]
        probe.HANDLERS["probe_keep"] = replace(keep, apply=_add_points(keep.apply, "handler"))
        _wrap(idempotency, "build_store_statement", "outcome")
        _wrap(entry_claims, "finish_entry", "entry-finish")
        _wrap(event_log, "record_event", "event")
        _wrap(local_write, "_write_once", "commit")
        _wrap(pipeline, "execute", "exec")
        _wrap(runner, "continue_batch", "go-on")
        _wrap(runner, "run_next_entry", "run")
        _wrap(runner, "run_turn", "turn")
        _wrap(responses, "build_results", "answer")
        _wrap(sweep, "sweep_batches", "sweep")
        _wrap(sweep, "start_helper", "help")
        _wrap(sweep, "_recover_entry", "take-over")
        _wrap(sending, "send", "send")
        _wrap(GuardedStream, "read", "upstream-read")  # of the upstream's answer, once the request was written
        if os.environ.get("CRASH_HASTE"):
            entry_claims.LEASE = store.NOTIFY_AFTER = SHORT_LEASE
            remote_write.STORE_GRACE = SHORT_GRACE
            sweep.INTERVAL = leases.INTERVAL = 0.5


def _wrap(module: ModuleType | type, name: str, point: str) -> None:
    setattr(module, name, _add_points(getattr(module, name), point))


def _add_points(step: Callable[..., Any], point: str) -> Callable[..., Any]:
    @wraps(step)
    def with_points(*args: Any, **kwargs: Any) -> Any:
        _die_if_armed(f"{point}-before")
        result = step(*args, **kwargs)
        _die_if_armed(f"{point}-after")
        return result

    return with_points


def _die_if_armed(point: str) -> None:
    """Die here if this point is armed for this process."""
    for sign in (signal.SIGKILL, signal.SIGTERM):
        try:
            (Path(os.environ["CRASH_FOLDER"]) / f"{os.environ['CRASH_ROLE']}.{point}.{sign.name}").unlink()
        except FileNotFoundError:
            continue
        os.kill(os.getpid(), sign)
        while sign == signal.SIGKILL:
            time.sleep(1)
