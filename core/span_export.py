"""Send spans to a collector as OTLP over HTTP, with the SDK of OpenTelemetry, which the first span imports."""

import logging
import os
import threading
from collections.abc import Sequence
from multiprocessing.util import Finalize

from django.conf import settings
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import SpanKind, Status, StatusCode, TraceFlags
from opentelemetry.util.re import parse_env_headers

from core import logs
from core.background.write_behind import WriteBehindBuffer
from core.span_types import EndedSpan, SpanContext
from core.version import VERSION

log = logging.getLogger(__name__)

SCOPE = "tool-gateway"  # under which all spans are told
QUEUE_SIZE = 4_096  # spans that wait in a process; more are dropped
SEND_SECONDS = 5  # for a request to the collector
KINDS = {"internal": SpanKind.INTERNAL, "server": SpanKind.SERVER, "client": SpanKind.CLIENT}


class Exporter:
    """Sends the spans of one process from a thread. What the collector does not take in time is dropped."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)  # it would log each request that fails
        sender = OTLPSpanExporter(
            endpoint=f"{settings.OTEL_EXPORTER_OTLP_ENDPOINT.rstrip('/')}/v1/traces",
            headers=parse_env_headers(settings.OTEL_EXPORTER_OTLP_HEADERS, liberal=True),
            timeout=SEND_SECONDS,
        )
        self._ids = _ChosenIds()
        self._provider = TracerProvider(
            resource=Resource.create({"service.name": settings.OTEL_SERVICE_NAME, "service.version": VERSION}),
            sampler=ALWAYS_ON,  # what was not chosen does not get here
            id_generator=self._ids,
            shutdown_on_exit=False,
        )
        self._provider.add_span_processor(BatchSpanProcessor(_WatchedSender(sender), max_queue_size=QUEUE_SIZE))
        self._tracer = self._provider.get_tracer(SCOPE, VERSION)
        # Server workers are multiprocessing children, which run finalizers on SIGTERM, but not atexit.
        Finalize(None, self._provider.shutdown, exitpriority=5)

    def write(self, span: EndedSpan) -> None:
        """Queue a span that has just ended. The SDK takes most of a span's time, so it gets the span in a thread."""
        _buffer.put((self, span))

    def hand_over(self, span: EndedSpan) -> None:
        """Hand a span to the SDK, which sends it with others."""
        self._ids.choose(span.context)
        written = self._tracer.start_span(
            span.name,
            context=build_context(span.parent, is_sampled=True) if span.parent else Context(),
            kind=KINDS[span.kind],
            attributes=span.attributes,
            start_time=span.started,
        )
        if span.failure:
            written.set_status(Status(StatusCode.ERROR))
        written.end(span.ended)

    def flush(self) -> None:
        """Send what waits now."""
        _buffer.flush()
        self._provider.force_flush()

    def close(self) -> None:
        """Send what waits, and end the thread."""
        _buffer.flush()
        self._provider.shutdown()


def _hand_over_all(written: list[tuple[Exporter, EndedSpan]]) -> None:
    for exporter, span in written:
        try:
            exporter.hand_over(span)
        except Exception as error:  # the thread that writes events must go on
            log.error("tracing.failed\n%s", logs.format_safely(error))


_buffer = WriteBehindBuffer("spans", _hand_over_all, capacity=QUEUE_SIZE)


def build_context(span: SpanContext, *, is_sampled: bool | None = None) -> Context:
    """Return a span as the context of OpenTelemetry's API."""
    is_recorded = span.is_sampled if is_sampled is None else is_sampled
    flags = TraceFlags(TraceFlags.SAMPLED if is_recorded else TraceFlags.DEFAULT)
    known = trace.SpanContext(span.trace_id, span.span_id, is_remote=True, trace_flags=flags)
    return trace.set_span_in_context(trace.NonRecordingSpan(known), Context())


class _ChosenIds(IdGenerator):
    """Gives a span the ids that it got when it began."""

    def __init__(self) -> None:
        self._local = threading.local()

    def choose(self, context: SpanContext) -> None:
        """Set the ids of the next span of this thread."""
        self._local.chosen = context

    def generate_span_id(self) -> int:
        return int(self._local.chosen.span_id)

    def generate_trace_id(self) -> int:
        return int(self._local.chosen.trace_id)


class _WatchedSender(SpanExporter):
    """Logs once when the collector stops answering, and once when it answers again."""

    def __init__(self, sender: OTLPSpanExporter) -> None:
        self._sender = sender
        self._is_failing = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._sender.export(spans)
        is_failing = result is not SpanExportResult.SUCCESS
        if is_failing and not self._is_failing:
            log.warning("tracing.collector_unavailable")
        elif self._is_failing and not is_failing:
            log.info("tracing.collector_available")
        self._is_failing = is_failing
        return result

    def shutdown(self) -> None:
        self._sender.shutdown()  # type: ignore[no-untyped-call]  # the SDK has no types there
