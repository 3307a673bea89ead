"""Running calls at the same moment."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from django.db import connection
from django.http import HttpResponse


def run_at_once(calls: list[Callable[[], HttpResponse]]) -> list[HttpResponse]:
    """Run calls at the same moment, each in its own thread with its own connection."""
    barrier = threading.Barrier(len(calls))

    def run(call: Callable[[], HttpResponse]) -> HttpResponse:
        barrier.wait()
        try:
            return call()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))
