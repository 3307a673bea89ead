"""How many streams a subject may follow at once."""

import asyncio
import gc
from collections.abc import AsyncIterator

import pytest
from django.http import StreamingHttpResponse

from chat.api import stream
from chat.api.stream import MAX_STREAMS, limit_streams
from chat.errors import ApiError
from tests.support.async_views import call_in_thread


@pytest.fixture(autouse=True)
def _no_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "_subjects", {})


async def iter_parts() -> AsyncIterator[bytes]:
    yield b"one"
    yield b"two"


def open_stream(subject: str = "a") -> StreamingHttpResponse:
    return limit_streams(StreamingHttpResponse(iter_parts()), subject=subject)


def test_streams_of_each_subject_are_limited_until_they_are_dropped() -> None:
    streams = [open_stream() for _ in range(MAX_STREAMS)]

    with pytest.raises(ApiError) as refusal:
        open_stream()
    assert (refusal.value.status, refusal.value.code, len(streams)) == (429, "rate_limited", MAX_STREAMS)
    assert open_stream("b")
    streams.clear()
    gc.collect()
    assert open_stream()


@pytest.mark.parametrize("number", [1, 9], ids=["reader leaves", "to its end"])
def test_stream_that_is_read_counts_no_more(number: int) -> None:
    streams = [open_stream() for _ in range(MAX_STREAMS)]

    async def read() -> list[bytes]:
        parts: list[bytes] = []
        async for part in streams[0]:
            parts.append(part)
            if len(parts) == number:
                break
        return parts

    assert call_in_thread(lambda: asyncio.run(read())) == [b"one", b"two"][:number]
    assert open_stream()
