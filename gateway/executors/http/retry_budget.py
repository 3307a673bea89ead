"""Retry budgets: retries add at most a tenth to the calls of a connection, so that they cannot multiply an overload."""

from dataclasses import dataclass, field
from threading import Lock

SHARE = 0.1  # of a retry, earned by each call
MAX_RETRIES_SAVED = 10.0


@dataclass(slots=True)
class RetryBudget:
    """A token bucket. It starts full, so that a connection with few calls can retry, too."""

    _tokens: float = MAX_RETRIES_SAVED
    _lock: Lock = field(default_factory=Lock)

    def earn(self) -> None:
        """Count one call."""
        with self._lock:
            self._tokens = min(MAX_RETRIES_SAVED, self._tokens + SHARE)

    def spend(self) -> bool:
        """Take one retry, or return False if none is left."""
        with self._lock:
            if self._tokens < 1:
                return False
            self._tokens -= 1
            return True


_budgets: dict[str, RetryBudget] = {}


def get_budget(connection: str) -> RetryBudget:
    """Return the budget of a connection in this process, created on first use."""
    return _budgets.get(connection) or _budgets.setdefault(connection, RetryBudget())


def clear() -> None:
    """Forget all budgets, as in a new process."""
    _budgets.clear()
