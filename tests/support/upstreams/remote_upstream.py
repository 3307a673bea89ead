"""An executor for a remote upstream, whose writes no transaction undoes."""

import http.client
from collections.abc import Callable
from typing import Any

import orjson

from gateway.contracts.errors import ConflictError, OutcomeUnknownError, UpstreamUnreachableError
from gateway.executors.base import UpstreamCall, UpstreamResponse
from registry.catalog.connections import ConnectionConfig, UpstreamTarget

OP = "remote.send"


class RemoteExecutor:
    """Sends a request to a loopback server and returns its JSON response."""

    transactional = False
    is_remote = True

    def __init__(self, port: int) -> None:
        self.port = port
        self.before_return: Callable[[], None] = lambda: None  # called after the response, before it is stored
        self.timeout = 2.0

    def explain_missing(self, config: ConnectionConfig, target: UpstreamTarget) -> str:
        """Run every tool."""
        return ""

    def prepare(self, work: UpstreamCall) -> None:
        """Prepare nothing."""

    def authorize(self, work: UpstreamCall, prepared: None) -> None:
        """Need no credentials."""

    def apply(self, work: UpstreamCall, prepared: Any) -> UpstreamResponse:
        upstream = http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.timeout)
        try:
            upstream.connect()
        except OSError:
            raise UpstreamUnreachableError("The upstream cannot be reached.") from None
        try:
            upstream.request("POST", "/", body=b"{}")
            response = upstream.getresponse()
            result = orjson.loads(response.read())
        except OSError:
            raise OutcomeUnknownError("The upstream did not answer.") from None
        finally:
            upstream.close()
        if response.status == 409:
            raise ConflictError("The upstream refused.", reason="refused_there")
        self.before_return()
        return UpstreamResponse(result)
