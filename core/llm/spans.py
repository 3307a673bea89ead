"""The spans of requests to models, by the conventions for GenAI clients. Prompts and answers are in none of them."""

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from core import tracing
from core.llm.endpoint import Endpoint, Usage
from core.tracing import TraceSpan


@contextmanager
def trace_request(endpoint: Endpoint) -> Iterator[TraceSpan]:
    """Trace what is asked of a model until there is an answer. What was sent again is in the same span."""
    url = urlsplit(endpoint.base_url)
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",  # whose API the endpoint speaks
        "gen_ai.request.model": endpoint.model.name,
        "server.address": url.hostname,
        "server.port": url.port,
    }
    with tracing.start_span(f"chat {endpoint.model.name}", "client", attributes) as span:
        yield span


def add_usage(span: TraceSpan, usage: Usage) -> None:
    """Say what the answer cost."""
    span.add({"gen_ai.usage.input_tokens": usage.input_tokens, "gen_ai.usage.output_tokens": usage.output_tokens})
