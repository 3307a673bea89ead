"""Send a request to the endpoint, and send it again if it may succeed then, within the call's deadline."""

import random
import time
from datetime import UTC, datetime
from typing import Any

from core import http
from core.deadlines import Deadline, DeadlineExceeded
from core.llm.errors import LlmMalformed, LlmRefused, LlmUnavailable

MAX_RETRIES = 2
FIRST_WAIT_SECONDS = 0.5  # doubles with each retry
MAX_BYTES = 8_000_000  # of an answer
TEMPORARY_STATUSES = frozenset({408, 409, 425, 429})  # and all from 500; those that OpenAI's clients retry


def post_with_retries(url: str, *, key: str, body: Any, deadline: Deadline) -> bytes:
    """Return the body of the answer with status 200. Raises LlmUnavailable, LlmRefused, LlmMalformed."""
    for retry in range(MAX_RETRIES + 1):
        retry_after = None
        try:
            response = http.post_json(url, key=key, body=body, deadline=deadline, max_bytes=MAX_BYTES)
        except http.TooLarge:
            raise LlmMalformed("the response is too large") from None
        except (http.BadUrl, http.BadRequest, http.Untrusted) as error:
            raise LlmUnavailable(type(error).__name__) from None
        except (http.OutgoingError, DeadlineExceeded) as error:
            problem = type(error).__name__
        else:
            if response.status == 200:
                return response.body
            problem = f"status {response.status}"
            if response.status < 500 and response.status not in TEMPORARY_STATUSES:
                raise LlmRefused(problem)
            retry_after = http.parse_retry_after(response.headers.get("retry-after", ""), now=datetime.now(UTC))
        if retry == MAX_RETRIES or not _wait(choose_wait(retry, retry_after), deadline):
            raise LlmUnavailable(problem)
    raise AssertionError("unreachable: the last round returns or raises")


def choose_wait(retry: int, retry_after: float | None) -> float:
    """Return the seconds to wait: those that the endpoint asks for, or a random time that doubles with each retry."""
    if retry_after is not None:
        return retry_after
    return FIRST_WAIT_SECONDS * (1 << retry) * random.uniform(0.5, 1)


def _wait(seconds: float, deadline: Deadline) -> bool:
    """Wait, or return False at once if the deadline comes first."""
    if time.monotonic() + seconds >= deadline.at:
        return False
    time.sleep(seconds)
    return True
