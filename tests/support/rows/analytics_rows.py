"""Types of the fixtures that write events and daily figures, and the time that they write for."""

from collections.abc import Callable
from datetime import UTC, datetime

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)

WriteEvent = Callable[..., None]
CreateRow = Callable[..., None]
