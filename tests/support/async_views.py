"""Calls of async views in tests, in a thread with the test's transaction.

Django runs an async view on an event loop of its own. It cannot where one runs already, and browser tests leave one in
the thread of their process.
"""

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from django.db import connections
from django.test import Client

T = TypeVar("T")


class AsyncViewClient(Client):
    """Django's test client for async views."""

    def request(self, **request: Any) -> Any:
        """Send a request from a thread."""
        return call_in_thread(lambda: super(AsyncViewClient, self).request(**request))


def call_in_thread(function: Callable[[], T]) -> T:
    """Call a function in a thread that uses this thread's database connections, and return its result."""
    shared = {alias: connections[alias] for alias in connections}
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        for alias, connection in shared.items():
            connections[alias] = connection
        try:
            results.append(function())
        except BaseException as error:
            errors.append(error)

    for connection in shared.values():
        connection.inc_thread_sharing()
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        for connection in shared.values():
            connection.dec_thread_sharing()
    if errors:
        raise errors[0]
    return results[0]
