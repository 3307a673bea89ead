"""Spans: the header `traceparent`, the choice of traces, and what a span costs while tracing is off."""

import subprocess
import sys
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import span_export, tracing
from core.span_types import EndedSpan, SpanContext

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.fixture
def recorded(settings: Any, monkeypatch: pytest.MonkeyPatch) -> list[EndedSpan]:
    """Switch tracing on, and return the list to which its spans come instead of a collector."""
    settings.OTEL_EXPORTER_OTLP_ENDPOINT = "http://127.0.0.1:1"
    spans: list[EndedSpan] = []
    monkeypatch.setattr(tracing, "_record", lambda span: spans.append(span.end()))
    return spans


@given(st.integers(1, 2**128 - 1), st.integers(1, 2**64 - 1), st.booleans())
def test_header_names_what_it_was_made_from(trace: int, span: int, is_sampled: bool) -> None:
    context = SpanContext(trace, span, is_sampled)

    assert tracing._parse(context.format()) == context


@pytest.mark.parametrize(
    "header",
    [
        "",
        "junk",
        f"00-{TRACE}-{SPAN}",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()[:-1]}g-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-01-more",
    ],
)
def test_malformed_header_begins_a_trace_of_its_own(recorded: list[EndedSpan], header: str) -> None:
    with tracing.start_span("a", parent=header):
        pass

    assert recorded[0].parent is None


def test_spans_inside_each_other_are_parent_and_child(recorded: list[EndedSpan]) -> None:
    with tracing.start_span("outer", trace=f"tr_{TRACE}"):
        with tracing.start_span("inner"):
            assert tracing.build_headers()["traceparent"].startswith(f"00-{TRACE}-")
        with tracing.start_span("next"):
            pass

    inner, next, outer = recorded
    assert inner.parent == next.parent == outer.context
    assert outer.parent is None
    assert f"{outer.context.trace_id:032x}" == TRACE
    assert tracing.get_header() == ""


def test_only_the_chosen_share_of_traces_is_recorded_and_every_failure(
    recorded: list[EndedSpan], settings: Any
) -> None:
    settings.OTEL_TRACES_SAMPLER_ARG = 0.05
    for number in range(4_000):
        with tracing.start_span("call") as span:
            if number % 100 == 0:
                span.fail("refused")

    assert sum(bool(span.failure) for span in recorded) == 40
    assert 100 < len(recorded) - 40 < 320


def test_exception_is_the_failure_of_its_span_and_goes_on(recorded: list[EndedSpan], settings: Any) -> None:
    settings.OTEL_TRACES_SAMPLER_ARG = 0.0
    with pytest.raises(ValueError, match="secret"), tracing.start_span("call"):
        raise ValueError("secret")

    assert (recorded[0].failure, recorded[0].attributes) == ("ValueError", {"error.type": "ValueError"})


def test_a_span_that_cannot_be_written_harms_no_call(
    settings: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    settings.OTEL_EXPORTER_OTLP_ENDPOINT = "http://127.0.0.1:1"
    monkeypatch.setattr(span_export, "Exporter", Mock(side_effect=RuntimeError))
    monkeypatch.setattr(tracing, "_exporter", None)

    with tracing.start_span("call"):
        pass

    assert "tracing.failed" in caplog.text


def test_off_imports_nothing_of_the_sdk_and_shares_one_span() -> None:
    assert tracing.start_span("a") is tracing.start_span("b", "server")
    with tracing.start_span("a") as span:
        span.fail("x")
        assert (span.is_recorded, tracing.get_header()) == (False, "")

    code = "import django; django.setup(); import sys, gateway.api.urls; assert 'opentelemetry.sdk' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, env=None)
