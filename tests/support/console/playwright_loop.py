"""Playwright's event loop, which tests without a browser do not see.

Playwright leaves a loop running in the thread of the tests. Django has other database connections inside of a loop
than outside, and code that starts a loop fails there.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

_hidden: asyncio.AbstractEventLoop | None = None


@contextmanager
def visible() -> Iterator[None]:
    """Have the loop running while the browser is used, if Playwright has started one."""
    global _hidden
    if asyncio._get_running_loop() is not None:  # inside of another block
        yield
        return
    asyncio._set_running_loop(_hidden)
    try:
        yield
    finally:
        _hidden = asyncio._get_running_loop()
        asyncio._set_running_loop(None)
