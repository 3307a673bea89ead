"""Spans: one trace of a call from a turn of the chat over the gateway to the service, by OpenTelemetry's conventions.

Off unless OTEL_EXPORTER_OTLP_ENDPOINT is set: nothing of its SDK is imported then, and a span is one object that does
nothing. A span is written when it ends, so a call that fails is recorded even if its trace was not chosen. Spans have
no args, results or texts, unless OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT says so.

Conventions: https://opentelemetry.io/docs/specs/semconv/gen-ai/
"""

import logging
import os
import random
import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any, Self

from django.conf import settings

from core import logs
from core.span_types import SAMPLED, EndedSpan, Kind, SpanContext

log = logging.getLogger(__name__)
Attributes = Mapping[str, str | int | float | bool | None]  # None is left out

HEADER = "traceparent"  # W3C Trace Context
_FORM = re.compile(r"00-(?P<trace>[0-9a-f]{32})-(?P<span>[0-9a-f]{16})-(?P<flags>[0-9a-f]{2})", re.ASCII)
_ID = re.compile(r"[0-9a-f]{32}$", re.ASCII)
_LOW_BITS = (1 << 64) - 1


_current: ContextVar[SpanContext | None] = ContextVar("span", default=None)


class TraceSpan:
    """One step of a trace, as a context manager. An exception that leaves it is its failure."""

    __slots__ = (
        "_attributes",
        "_context",
        "_failure",
        "_name",
        "_parent",
        "_started",
        "_token",
        "_trace",
        "kind",
    )

    def __init__(self, name: str, kind: Kind, attributes: Attributes, parent: SpanContext | None, trace: str) -> None:
        self.kind = kind
        self._name, self._attributes = name, dict(attributes)
        self._failure = ""
        self._parent, self._trace = parent, trace
        self._token: Token[SpanContext | None] | None = None

    def __enter__(self) -> Self:
        parent = self._parent = self._parent or _current.get()
        trace_id = parent.trace_id if parent else _read_id(self._trace) or random.getrandbits(128)
        is_sampled = (
            parent.is_sampled if parent else trace_id & _LOW_BITS < settings.OTEL_TRACES_SAMPLER_ARG * _LOW_BITS
        )
        self._context = SpanContext(trace_id, random.getrandbits(64) or 1, is_sampled)
        self._started = time.time_ns()
        self._token = _current.set(self._context)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._token is not None:
            _current.reset(self._token)
        if error is not None and not self._failure:
            self._failure = type(error).__name__
        if self._context.is_sampled or self._failure:
            _record(self)

    @property
    def is_recorded(self) -> bool:
        """Whether the span will be written, as far as is known now."""
        return self._context.is_sampled or bool(self._failure)

    def name(self, name: str) -> None:
        """Give the span another name."""
        self._name = name

    def add(self, attributes: Attributes) -> None:
        """Add attributes."""
        self._attributes |= attributes

    def fail(self, error_type: str) -> None:
        """Say that what the span is about failed: the code or the class of the error, never its message."""
        self._failure = error_type

    def end(self) -> EndedSpan:
        """Return the span as it is written."""
        failure = {"error.type": self._failure} if self._failure else {}
        attributes = self._attributes | failure
        told = {name: value for name, value in attributes.items() if value not in (None, "")}
        times = self._started, time.time_ns()
        return EndedSpan(self._name, self.kind, self._context, self._parent, told, *times, self._failure)


class _NoSpan(TraceSpan):
    """A span while tracing is off. All calls share it."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("", "internal", {}, None, "")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    @property
    def is_recorded(self) -> bool:
        return False

    def name(self, name: str) -> None:
        pass

    def add(self, attributes: Attributes) -> None:
        pass

    def fail(self, error_type: str) -> None:
        pass


_OFF = _NoSpan()


def is_on() -> bool:
    """Whether spans are sent anywhere."""
    return bool(settings.OTEL_EXPORTER_OTLP_ENDPOINT)


def start_span(
    name: str, kind: Kind = "internal", attributes: Attributes | None = None, *, parent: str = "", trace: str = ""
) -> TraceSpan:
    """Return a span to enter. `parent` is a received `traceparent`; without one, the span around it is its parent.

    A span without a parent begins a trace, whose id ends `trace`, such as tr_4bf92f3577b34da6a3ce929d0e0e4736.
    """
    if not settings.OTEL_EXPORTER_OTLP_ENDPOINT:
        return _OFF
    return TraceSpan(name, kind, attributes or {}, _parse(parent) if parent else None, trace)


def get_header() -> str:
    """Return the `traceparent` of the current span, empty if there is none."""
    context = _current.get()
    return context.format() if context else ""


def build_headers() -> dict[str, str]:
    """Return the headers by which another service goes on with the trace."""
    header = get_header()
    return {HEADER: header} if header else {}


@contextmanager
def continue_trace(header: str) -> Iterator[None]:
    """Let the spans inside belong to the trace of a `traceparent`, such as that of the request that sent a batch."""
    context = _parse(header) if header and is_on() else None
    token = _current.set(context) if context else None
    try:
        yield
    finally:
        if token is not None:
            _current.reset(token)


@contextmanager
def lend_to_libraries() -> Iterator[None]:
    """Make the current span known to OpenTelemetry's API. The SDK of MCP then writes `traceparent` into `_meta`."""
    current = _current.get()
    if current is None:
        yield
        return
    from opentelemetry import context

    from core import span_export

    token = context.attach(span_export.build_context(current))
    try:
        yield
    finally:
        context.detach(token)


def _read_id(trace: str) -> int:
    """Return the id at the end of a trace's name, 0 if there is none."""
    match = _ID.search(trace)
    return int(match[0], 16) if match else 0


def _parse(header: str) -> SpanContext | None:
    """Return the span that a `traceparent` names, None if it is malformed, as the specification says."""
    match = _FORM.fullmatch(header.strip().lower())
    if match is None:
        return None
    trace_id, span_id = int(match["trace"], 16), int(match["span"], 16)
    return SpanContext(trace_id, span_id, bool(int(match["flags"], 16) & SAMPLED)) if trace_id and span_id else None


_exporter: Any = None  # core.span_export.Exporter of this process
_starting = threading.Lock()


def flush() -> None:
    """Send the spans of this process that wait, for programs that end soon and for tests."""
    if _exporter is not None:
        _exporter.flush()


def forget_exporter() -> None:
    """Let the next span read the settings again, for tests."""
    global _exporter
    if _exporter is not None:
        _exporter.close()
    _exporter = None


def _record(span: TraceSpan) -> None:
    """Write a span. A call never fails because of its span. After a fork, each worker has an exporter of its own."""
    global _exporter
    try:
        exporter = _exporter
        if exporter is None or exporter.pid != os.getpid():
            from core import span_export

            with _starting:
                if _exporter is None or _exporter.pid != os.getpid():
                    _exporter = span_export.Exporter()
                exporter = _exporter
        exporter.write(span.end())
    except Exception as error:
        log.error("tracing.failed\n%s", logs.format_safely(error))
