"""Checks of API keys: a gateway that is slow makes nobody wait but the keys that it has not judged yet."""

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from chat import access
from chat.api import base
from chat.errors import ApiError
from chat.gateway.client import Credentials, GatewayClient
from tests.support.async_views import call_in_thread

SECONDS = 20


@dataclass
class SlowGateway:
    """Answers when it is told to."""

    is_asked: threading.Event = field(default_factory=threading.Event)
    may_answer: threading.Event = field(default_factory=threading.Event)

    def check_access(self, _: GatewayClient) -> None:
        self.is_asked.set()
        assert self.may_answer.wait(SECONDS)


@pytest.fixture
def slow_gateway(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowGateway]:
    gateway = SlowGateway()
    monkeypatch.setattr(GatewayClient, "check_access", lambda client: gateway.check_access(client))
    access.clear_cache()
    yield gateway
    gateway.may_answer.set()
    access.clear_cache()


async def check(key: str) -> None:
    await access.check_with_gateway(Credentials(key, "somebody"), starts_turn=False)


def test_slow_gateway_holds_neither_people_nor_more_than_some_checks(slow_gateway: SlowGateway) -> None:
    async def run() -> tuple[ApiError, str, list[Any]]:
        waiting = [asyncio.create_task(check(f"key-{number}")) for number in range(access.MAX_CHECKS)]
        await asyncio.sleep(0)  # they begin
        with pytest.raises(ApiError) as refusal:
            await check("one-more")
        of_person = await asyncio.wait_for(base.run_in_thread(lambda: "answered"), SECONDS)
        slow_gateway.may_answer.set()
        return refusal.value, of_person, await asyncio.gather(*waiting)

    refusal, of_person, checks = call_in_thread(lambda: asyncio.run(run()))

    assert (refusal.status, refusal.code, refusal.retry_after) == (503, "gateway_unavailable", 2)
    assert of_person == "answered"
    assert checks == [None] * access.MAX_CHECKS


def test_check_counts_until_it_ends_even_if_its_caller_leaves(
    slow_gateway: SlowGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    free_checks = threading.BoundedSemaphore(1)
    monkeypatch.setattr(access, "_free_checks", free_checks)

    async def run() -> int:
        gone = asyncio.create_task(check("key-1"))
        await asyncio.to_thread(slow_gateway.is_asked.wait, SECONDS)
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        with pytest.raises(ApiError) as refusal:
            await check("key-2")
        return refusal.value.status

    assert call_in_thread(lambda: asyncio.run(run())) == 503
    slow_gateway.may_answer.set()
    assert free_checks.acquire(timeout=SECONDS)
