"""What an upstream answered, as the result of a call."""

from typing import Any

from gateway.contracts.errors import GatewayError
from gateway.executors.base import UpstreamResponse
from registry.text import cleanup

DONE = {"message": "Done."}


def build_unread_response(error: GatewayError) -> UpstreamResponse:
    """Return the answer of a write that the upstream says it did, in an answer that cannot be read."""
    return UpstreamResponse(dict(DONE), warnings=(f"It was done, but the answer to it is lost: {error}",))


def wrap_value(value: Any) -> dict[str, Any]:
    """Return a JSON value as a result, which is an object."""
    if isinstance(value, dict):
        return value
    return {"items": value} if isinstance(value, list) else {"value": value}


def clean_value(value: Any) -> Any:
    """Return a JSON value without invisible characters in its strings and member names."""
    if isinstance(value, str):
        return cleanup.strip_hidden_characters(value)
    if isinstance(value, list):
        return [clean_value(item) for item in value]
    if isinstance(value, dict):
        return {cleanup.strip_hidden_characters(name): clean_value(item) for name, item in value.items()}
    return value
