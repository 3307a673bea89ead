"""How many streams a subject may follow at once in this process. Those of new turns are limited by their turns."""

from collections.abc import AsyncIterator
from typing import Any
from weakref import finalize

from django.http import StreamingHttpResponse

from chat.errors import ApiError

MAX_STREAMS = 8  # such as tabs that show the same answer
RETRY_AFTER = 5

_subjects: dict[object, str] = {}  # by a token of each open stream


class _CountedStream:
    """Content of a response. It counts until it ends or Django closes it, or drops it before it has begun."""

    def __init__(self, subject: str, content: AsyncIterator[bytes]) -> None:
        token = object()
        _subjects[token] = subject
        self._content = content
        self.close = finalize(self, _subjects.pop, token, None)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for part in self._content:
                yield part
        finally:
            self.close()


def limit_streams(response: StreamingHttpResponse, *, subject: str) -> StreamingHttpResponse:
    """Return a response that counts as a stream of a subject until it ends. Raises ApiError if there are too many."""
    if list(_subjects.values()).count(subject) >= MAX_STREAMS:
        message = f"{MAX_STREAMS} streams are open already. Close one, or try again in {RETRY_AFTER} s."
        raise ApiError(429, "rate_limited", message, retry_after=RETRY_AFTER)
    content: Any = _CountedStream(subject, response.streaming_content)  # type: ignore[arg-type]  # it is asynchronous
    response.streaming_content = content
    return response
