"""Coroutines in tests that are plain functions."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import pytest

T = TypeVar("T")


def run_coroutine(function: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine in a thread of its own: in this one, the browser's tests may have left an event loop running."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(lambda: asyncio.run(function())).result()


@pytest.fixture
def no_running_loop() -> Iterator[None]:
    """Have no event loop in this thread, as in a server's threads: the browser's tests may have left one running."""
    running = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    yield
    asyncio._set_running_loop(running)
