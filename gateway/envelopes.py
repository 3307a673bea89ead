"""What exec answers: one shape for success, one for every error of the API."""

import time
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils import timezone

from core import metrics
from gateway.errors import GatewayError


@dataclass(slots=True)
class Trace:
    """One request's identity in time: its trace id, when it began, and how long its handler took."""

    id: str
    started: float = field(default_factory=time.perf_counter)
    at: datetime = field(default_factory=timezone.now)
    handler_ms: float = 0.0
    source: str = "api"  # the door, for the operation event
    release: str = ""  # the version that decided the answer, where one did
    told: metrics.Told | None = None  # how the call ended, for its metrics; None for what is no call

    def elapsed_ms(self) -> float:
        """Return the milliseconds since the request reached the view."""
        return (time.perf_counter() - self.started) * 1000

    def timing(self) -> str:
        """Return the header Server-Timing: milliseconds in all, and those of the handler."""
        return f"total;dur={self.elapsed_ms():.2f}, handler;dur={self.handler_ms:.2f}"


@dataclass(frozen=True, slots=True)
class Answer:
    """An envelope with its HTTP status and headers."""

    status: int
    envelope: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)


def success(op: str, result: dict[str, Any], meta: dict[str, Any]) -> dict[str, Any]:
    """Return the envelope of a call that did what it said."""
    return {"op": op, "ok": True, "result": result, "meta": meta}


def failure(op: str | None, error: GatewayError, meta: dict[str, Any]) -> dict[str, Any]:
    """Return the envelope of a call that did not. `op` is null where none is known and in help's errors."""
    return {"op": op, "ok": False, "error": error.as_dict(), "meta": meta}


def meta(trace: Trace, warnings: list[str] | None = None, **more: Any) -> dict[str, Any]:
    """Return an envelope's meta: trace id, milliseconds, warnings, and what else says something."""
    said = {name: value for name, value in more.items() if value not in (None, False, {}, [])}
    return {"trace_id": trace.id, "latency_ms": round(trace.elapsed_ms(), 1), "warnings": warnings or [], **said}
