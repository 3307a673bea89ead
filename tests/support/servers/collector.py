"""A collector of spans on loopback, built from the protocol's own messages."""

from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SentSpan

from core import tracing
from tests.support.upstreams.http_servers import Server, build_response


class Collector:
    """What was sent. `status` is answered to every request."""

    def __init__(self) -> None:
        self.requests: list[ExportTraceServiceRequest] = []
        self.heads: list[str] = []
        self.status = "200 OK"
        self._server = Server(self._answer)

    @property
    def url(self) -> str:
        return self._server.url("")

    def stop(self) -> None:
        self._server.stop()

    def read(self) -> list[SentSpan]:
        """Return all spans so far, in the order in which they began."""
        tracing.flush()
        spans = [
            span
            for request in self.requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]
        return sorted(spans, key=lambda span: span.start_time_unix_nano)

    def find(self, name: str) -> SentSpan:
        """Return the span of this name, of which there must be one."""
        (span,) = [span for span in self.read() if span.name == name]
        return span

    def _answer(self, request: bytes) -> bytes:
        head, _, body = request.partition(b"\r\n\r\n")
        self.heads.append(head.decode())
        if self.status.startswith("200"):
            message = ExportTraceServiceRequest()
            message.ParseFromString(body)
            self.requests.append(message)
        return build_response(b"", self.status)


def read_attributes(span: SentSpan) -> dict[str, Any]:
    """Return the attributes of a span as Python values."""
    return {each.key: getattr(each.value, str(each.value.WhichOneof("value"))) for each in span.attributes}


@pytest.fixture
def collector(settings: Any) -> Iterator[Collector]:
    """Send all spans to a collector."""
    collector = Collector()
    settings.OTEL_EXPORTER_OTLP_ENDPOINT = collector.url
    yield collector
    tracing.forget_exporter()
    collector.stop()
