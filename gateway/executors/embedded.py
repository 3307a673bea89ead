"""Executor of embedded upstreams: handlers in this process, on this database."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NoReturn

from django.conf import settings
from django.utils.module_loading import import_string

from gateway.errors import Conflict, Denied, Failed, FieldError, GatewayError, Invalid, Missing
from gateway.executors.base import Handler, Outcome, Work
from workspace import contract, errors

# The gateway error for each refusal of the workspace.
REFUSALS: dict[type[errors.Refusal], type[GatewayError]] = {
    errors.Invalid: Invalid,
    errors.Forbidden: Denied,
    errors.NotFound: Missing,
    errors.Conflict: Conflict,
}


class Embedded:
    """Runs an op with the handler registered for its tool name."""

    transactional = True

    def prepare(self, work: Work) -> Any:
        return _handler(work).prepare(work)

    def apply(self, work: Work, prepared: Any) -> Outcome:
        return _handler(work).apply(work, prepared)


@dataclass(frozen=True, slots=True)
class ByContract:
    """Adapts an upstream's handler, which knows nothing of the gateway: converts requests, outcomes and refusals."""

    handler: contract.Handler

    def prepare(self, work: Work) -> Any:
        if self.handler.prepare is None:
            return None
        try:
            return self.handler.prepare(_request(work, None))
        except errors.Refusal as refusal:
            _raise(refusal, work)

    def apply(self, work: Work, prepared: Any) -> Outcome:
        try:
            outcome = self.handler.apply(_request(work, prepared))
        except errors.Refusal as refusal:
            _raise(refusal, work)
        return Outcome(outcome.result, tuple(outcome.warnings), outcome.entity_id, outcome.entity_name)


@cache
def _handlers(connection: str) -> Mapping[str, contract.Handler | Handler[Any]]:
    path = settings.GATEWAY_EMBEDDED.get(connection)
    handlers: Mapping[str, contract.Handler | Handler[Any]] = import_string(path) if path else {}
    return handlers


def _handler(work: Work) -> ByContract | Handler[Any]:
    handler = _handlers(work.op.connection).get(work.op.tool_name)
    if handler is None:
        raise Failed(
            f"{work.op.op} has no handler at {work.op.connection}. Nothing was done; tell the administrator.",
            status=503,
            reason="not_connected",
        )
    return ByContract(handler) if isinstance(handler, contract.Handler) else handler


def _request(work: Work, prepared: Any) -> contract.Request:
    return contract.Request(subject=work.subject, args=work.args, at=work.at, prepared=prepared)


def _raise(refusal: errors.Refusal, work: Work) -> NoReturn:
    raise REFUSALS[type(refusal)](
        refusal.message,
        reason=refusal.reason,
        field_errors=[
            FieldError(error.path, error.code, error.message, error.expected, error.got)
            for error in refusal.field_errors
        ],
        details=refusal.details,
        help_path=work.op.op,
    ) from refusal
