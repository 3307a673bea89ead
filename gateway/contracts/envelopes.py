"""Envelopes: one shape for a success of exec, one for every error of the API."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NotRequired, TypedDict, Unpack, cast

from django.utils import timezone

from core.records import record
from gateway.contracts.errors import EnvelopeError, GatewayError


@dataclass(slots=True)
class Trace:
    """The trace of one request: its id, when it began and how long its handler took."""

    id: str
    started: float = field(default_factory=time.perf_counter)
    at: datetime = field(default_factory=timezone.now)
    handler_ms: float = 0.0
    source: str = "api"  # where the call came in, for the operation event
    release: str = ""  # version of the release that answered, if one did
    data_flow: str = ""  # mode and rule of data flow that held for the call, for its event
    hint: str = ""  # for a model that goes in circles; never part of a body

    def elapsed_ms(self) -> float:
        """Return the milliseconds since the request reached the view."""
        return (time.perf_counter() - self.started) * 1000

    def format_server_timing(self) -> str:
        """Return the Server-Timing header: total and handler milliseconds."""
        return f"total;dur={self.elapsed_ms():.2f}, handler;dur={self.handler_ms:.2f}"


class MoreMeta(TypedDict, total=False):
    """What an envelope's meta has only where it says something."""

    dry_run: bool
    applied_defaults: dict[str, Any]
    executed_op: str | None  # if it is not the op of the envelope
    operation: dict[str, str]  # entity, action, entity_id, entity_name
    next_cursor: str | None
    undo: Mapping[str, Any]  # args of the op that takes back the write
    replayed: bool
    original_trace_id: str
    rows: dict[str, int]  # of a loop in a batch: how many the list has (all), how many were chosen, how many ran


class Meta(MoreMeta):
    """An envelope's meta."""

    trace_id: str
    latency_ms: float
    warnings: list[str]


class Envelope(TypedDict):
    """The answer to one call. It has a result if it is ok, else an error."""

    op: str | None
    ok: bool
    result: NotRequired[dict[str, Any]]
    error: NotRequired[EnvelopeError]
    meta: Meta


@record
class EnvelopeResponse:
    """An envelope with its HTTP status and headers."""

    status: int
    envelope: Envelope
    headers: dict[str, str] = field(default_factory=dict)
    op_kind: str = ""  # "read" or "write"; empty if the op is unknown
    changed_ids: tuple[str, ...] | None = None  # for the event of a write, see UpstreamResponse
    progress: dict[str, float] | None = None  # for the event, see UpstreamResponse


def build_success(op: str, result: dict[str, Any], meta: Meta) -> Envelope:
    """Return the envelope of a call that succeeded."""
    return {"op": op, "ok": True, "result": result, "meta": meta}


def build_failure(op: str | None, error: GatewayError, meta: Meta) -> Envelope:
    """Return the envelope of a call that failed. `op` is None if it is unknown, and for errors of help."""
    return {"op": op, "ok": False, "error": error.as_dict(), "meta": meta}


def build_meta(trace: Trace, warnings: list[str] | None = None, **more: Unpack[MoreMeta]) -> Meta:
    """Return an envelope's meta: trace id, milliseconds, warnings, and the members of `more` that are not empty."""
    extra = {name: value for name, value in more.items() if value not in (None, False, {}, [])}
    meta = {"trace_id": trace.id, "latency_ms": round(trace.elapsed_ms(), 1), "warnings": warnings or [], **extra}
    return cast(Meta, meta)
