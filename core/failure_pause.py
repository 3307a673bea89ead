"""Stop asking a service that does not answer, so that its callers do not wait for nothing."""

import logging
import time
from dataclasses import dataclass

log = logging.getLogger(__name__)

MAX_FAILURES = 3  # in a row
PAUSE_SECONDS = 10.0


@dataclass(slots=True)
class FailurePause:
    """Counts a service's failures in this process. After three in a row it is paused for ten seconds.

    Threads share it without a lock: a lost count only delays a pause by one failure. `name` stands in the log.
    """

    name: str
    _failures: int = 0
    _paused_until: float = 0.0

    def is_active(self) -> bool:
        """Return whether the service is paused."""
        return time.monotonic() < self._paused_until

    def count_failure(self, reason: object) -> None:
        """Count one failure, and begin or prolong the pause if there were three in a row."""
        self._failures += 1
        if self._failures >= MAX_FAILURES:
            self._paused_until = time.monotonic() + PAUSE_SECONDS
            log.warning("%s.paused reason=%s seconds=%d", self.name, reason, PAUSE_SECONDS)

    def count_success(self) -> None:
        """Forget the failures: the service answers."""
        self._failures = 0

    def clear(self) -> None:
        """Forget everything, as in a new process."""
        self._failures, self._paused_until = 0, 0.0
