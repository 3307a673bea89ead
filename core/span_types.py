"""What a span is, for the code that makes spans and the code that sends them."""

from typing import Any, Literal, NamedTuple

Kind = Literal["internal", "server", "client"]
SAMPLED = 1  # the flag of a trace that is recorded


class SpanContext(NamedTuple):
    """What identifies a span, and whether its trace was chosen to be recorded."""

    trace_id: int
    span_id: int
    is_sampled: bool

    def format(self) -> str:
        """Return the value of the header `traceparent`."""
        return f"00-{self.trace_id:032x}-{self.span_id:016x}-{SAMPLED if self.is_sampled else 0:02x}"


class EndedSpan(NamedTuple):
    """A span as it is written. Its times are in nanoseconds since 1970; `failure` is empty if it succeeded."""

    name: str
    kind: Kind
    context: SpanContext
    parent: SpanContext | None
    attributes: dict[str, Any]
    started: int
    ended: int
    failure: str
