"""Run calls at the same moment."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from django.db import connection
from django.http import HttpResponse


def at_once(calls: list[Callable[[], HttpResponse]]) -> list[HttpResponse]:
    """Make calls at the same moment, a thread and a connection each."""
    gate = threading.Barrier(len(calls))

    def run(call: Callable[[], HttpResponse]) -> HttpResponse:
        gate.wait()
        try:
            return call()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))
