"""Waiting for SQLite's single write lock, so that each waiter has the same chance.

SQLite's own handler tries less and less often: up to 100 ms apart. Under load, newcomers take the lock in between, and
an early waiter may see its deadline pass.
"""

import random
import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.db import OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper

from core.wait_limit import get_wait_until

PAUSE_SECONDS = (0.001, 0.003)  # between two tries; random, so that waiters do not keep in step


def wait_fairly_for_locks(*, connection: BaseDatabaseWrapper, **_: Any) -> None:
    """Install the waiting on a new connection (a receiver of connection_created)."""
    if connection.vendor == "sqlite" and _begin not in connection.execute_wrappers:
        # Before all others: a context manager that is open now removes the last one.
        connection.execute_wrappers.insert(0, _begin)


def _begin(execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: dict[str, Any]) -> Any:
    """Run BEGIN IMMEDIATE, and try again until the deadline while another connection writes."""
    if sql != "BEGIN IMMEDIATE":
        return execute(sql, params, many, context)
    inner = context["connection"].connection
    default_seconds = settings.DATABASES["default"]["OPTIONS"]["timeout"]
    until = get_wait_until() or time.monotonic() + default_seconds
    inner.execute("PRAGMA busy_timeout=0")
    try:
        while True:
            try:
                return execute(sql, params, many, context)
            except OperationalError as error:
                if "locked" not in str(error) or time.monotonic() >= until:
                    raise
            time.sleep(random.uniform(*PAUSE_SECONDS))
    finally:
        inner.execute(f"PRAGMA busy_timeout={int(default_seconds * 1000)}")
