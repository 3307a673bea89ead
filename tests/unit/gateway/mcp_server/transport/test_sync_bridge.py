"""The bridge between the SDK's coroutines and the gateway's synchronous code."""

import asyncio
import threading
from unittest.mock import Mock

import pytest

from gateway.mcp_server.transport.sync_bridge import SyncBridge


def test_calls_run_in_the_thread_of_the_request_and_outside_of_the_event_loop() -> None:
    bridge = SyncBridge()

    def call() -> tuple[threading.Thread, bool]:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return threading.current_thread(), False
        return threading.current_thread(), True

    async def handle() -> list[tuple[threading.Thread, bool]]:
        return [await bridge.call(call), await bridge.call(call)]

    assert bridge.run(handle()) == [(threading.current_thread(), False)] * 2


def test_calls_of_several_tasks_all_run() -> None:
    bridge = SyncBridge()

    async def handle() -> list[int]:
        return list(await asyncio.gather(*(bridge.call(lambda number=number: number) for number in range(5))))

    assert bridge.run(handle()) == [0, 1, 2, 3, 4]


def test_error_of_a_call_reaches_the_coroutine_that_waits_for_it() -> None:
    bridge = SyncBridge()

    async def handle() -> str:
        try:
            await bridge.call(Mock(side_effect=LookupError("gone")))
        except LookupError as error:
            return str(error)
        return "no error"

    assert bridge.run(handle()) == "gone"


def test_error_of_the_coroutine_reaches_the_request() -> None:
    async def handle() -> None:
        raise LookupError("gone")

    with pytest.raises(LookupError):
        SyncBridge().run(handle())
