"""Build the request of a call that is not sent, for the check of imported ops."""

from collections.abc import Mapping
from typing import Any

from gateway.contracts.errors import GatewayError
from gateway.executors.http import request_builder
from registry.catalog.connections import ConnectionConfig
from registry.imports.self_check import UnsendableRequest
from registry.models import Connection
from registry.request_mapping import RecordedRequest, RequestMapping

_CONFIG = ConnectionConfig("trial", Connection.Kind.HTTP, base_url="https://service.example")


def build_trial_request(mapping: RequestMapping, args: Mapping[str, Any]) -> RecordedRequest:
    """Return the request of args that fit the op's schema. Any id of a file is one. Raises UnsendableRequest."""
    try:
        built = request_builder.build_request(
            mapping, args, _CONFIG, load_file=lambda _: ("sample.txt", "text/plain", b"sample")
        )
    except GatewayError as error:
        problems = [problem.message for problem in error.field_errors]
        raise UnsendableRequest(problems[0] if problems else str(error)) from None
    return RecordedRequest(built.method, built.url, built.headers, built.body)
