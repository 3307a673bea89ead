"""Running calls at the same moment."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import connection

T = TypeVar("T")


def run_at_once(calls: list[Callable[[], T]], *, connected: bool = False) -> list[T]:
    """Run calls at the same moment, each in its own thread with its own connection.

    With `connected`, the connections are open by then, so that the calls meet in the database.
    """
    barrier = threading.Barrier(len(calls))

    def run(call: Callable[[], T]) -> T:
        try:
            if connected:
                connection.ensure_connection()
            barrier.wait(60)
            return call()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))
