"""Executor of embedded upstreams: handlers in this process, on this database."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Any, NoReturn

from core import handler_contract
from gateway.contracts.errors import (
    ArgsCorrection,
    ConflictError,
    FieldError,
    GatewayError,
    InvalidRequestError,
    NotFoundError,
    PermissionDeniedError,
    describe_invalid_args,
)
from gateway.executors.base import BuiltinHandler, UpstreamCall, UpstreamResponse
from registry.catalog.connections import ConnectionConfig, UpstreamTarget
from registry.catalog.model import CatalogOp

# The gateway error for each refusal of the workspace.
ERROR_CLASSES: dict[type[handler_contract.OpRefusal], type[GatewayError]] = {
    handler_contract.InvalidArgs: InvalidRequestError,
    handler_contract.Forbidden: PermissionDeniedError,
    handler_contract.NotFound: NotFoundError,
    handler_contract.StateConflict: ConflictError,
}


Handler = handler_contract.OpHandler | BuiltinHandler[Any]

_handlers_by_connection: dict[str, Mapping[str, Handler]] = {}
_lookups_by_connection: dict[str, handler_contract.Lookups] = {}


def add_upstream(
    connection: str, handlers: Mapping[str, Handler], lookups: handler_contract.Lookups | None = None
) -> None:
    """Add an embedded upstream: the name of its connection, its handlers by tool name, and what it can look up."""
    _handlers_by_connection[connection] = handlers
    if lookups:
        _lookups_by_connection[connection] = lookups


def explain_missing_handler(config: ConnectionConfig, target: UpstreamTarget, handlers: Collection[str]) -> str:
    """Return that no handler has the op's tool name; empty if one has."""
    if target.tool_name in handlers:
        return ""
    return f'the connection "{config.name}" has no handler for the tool "{target.tool_name}"'


def find_lookups(connection: str) -> handler_contract.Lookups | None:
    """Return what an embedded upstream can look up, None if it can look up nothing."""
    return _lookups_by_connection.get(connection)


def find_time_zone(subject: str) -> tzinfo:
    """Return the time zone of a subject by the first upstream that tells one; UTC if none does."""
    return next((lookups.get_time_zone(subject) for lookups in _lookups_by_connection.values()), UTC)


def find_title(entity: str, id: str, subject: str) -> str | None:
    """Return the title of the row of any embedded upstream with this id; None if the subject sees no such row."""
    titles = (lookups.find_title(entity, id, subject) for lookups in _lookups_by_connection.values())
    return next((title for title in titles if title is not None), None)


def find_kind(id: str, subject: str) -> str | None:
    """Return the kind of the row with this id of any embedded upstream; None if the subject can see none."""
    kinds = (lookups.find_kind(id, subject) for lookups in _lookups_by_connection.values())
    return next((kind for kind in kinds if kind), None)


class EmbeddedExecutor:
    """Runs an op with the handler registered for its tool name."""

    transactional = True
    is_remote = False

    def explain_missing(self, config: ConnectionConfig, target: UpstreamTarget) -> str:
        return explain_missing_handler(config, target, _handlers_by_connection.get(config.name, {}))

    def prepare(self, work: UpstreamCall) -> Any:
        return _get_handler(work.op).prepare(work)

    def authorize(self, work: UpstreamCall, prepared: Any) -> Any:
        return prepared

    def apply(self, work: UpstreamCall, prepared: Any) -> UpstreamResponse:
        return _get_handler(work.op).apply(work, prepared)


@dataclass(frozen=True, slots=True)
class ContractHandler:
    """Adapts an upstream's handler, which knows nothing of the gateway: converts requests, outcomes and refusals."""

    handler: handler_contract.OpHandler

    def prepare(self, work: UpstreamCall) -> Any:
        if self.handler.prepare is None:
            return None
        try:
            return self.handler.prepare(_build_request(work, None))
        except handler_contract.OpRefusal as refusal:
            _raise_refusal(refusal, work)

    def apply(self, work: UpstreamCall, prepared: Any) -> UpstreamResponse:
        try:
            outcome = self.handler.apply(_build_request(work, prepared))
        except handler_contract.OpRefusal as refusal:
            _raise_refusal(refusal, work)
        changed_ids = () if handler_contract.UNCHANGED in outcome.warnings else outcome.changed_ids
        return UpstreamResponse(
            outcome.result,
            tuple(outcome.warnings),
            outcome.entity_id,
            outcome.entity_name,
            changed_ids,
            outcome.entity,
            outcome.action,
        )


def _get_handler(op: CatalogOp) -> ContractHandler | BuiltinHandler[Any]:
    """Return the handler of an op that lacks nothing to run."""
    handler = _handlers_by_connection[op.connection][op.tool_name]
    return ContractHandler(handler) if isinstance(handler, handler_contract.OpHandler) else handler


def _build_request(work: UpstreamCall, prepared: Any) -> handler_contract.OpRequest:
    return handler_contract.OpRequest(
        subject=work.subject, args=work.args, at=work.at, prepared=prepared, deadline=work.deadline
    )


def _raise_refusal(refusal: handler_contract.OpRefusal, work: UpstreamCall) -> NoReturn:
    # The field errors of invalid args say all; the first of them would stand twice.
    is_said = isinstance(refusal, handler_contract.InvalidArgs) and refusal.field_errors
    raise ERROR_CLASSES[type(refusal)](
        describe_invalid_args(is_corrected=False) if is_said else refusal.message,
        reason=refusal.reason,
        field_errors=convert_errors(refusal.field_errors),
        details=refusal.details,
        help_path=work.op.op,
        correction=build_correction(refusal.field_errors),
    ) from refusal


def convert_errors(field_errors: Sequence[handler_contract.ArgumentError]) -> list[FieldError]:
    """Return an upstream's errors of arguments as those of an answer."""
    return [FieldError(error.path, error.code, error.message, error.expected, error.got) for error in field_errors]


def build_correction(field_errors: Sequence[handler_contract.ArgumentError]) -> ArgsCorrection | None:
    """Return the correction of all errors, None if one of them has none."""
    if not field_errors or not all(error.swap or error.leave_out or error.send for error in field_errors):
        return None
    return ArgsCorrection(
        swaps=[error.swap for error in field_errors if error.swap],
        left_out=[error.leave_out for error in field_errors if error.leave_out],
        args={name: value for error in field_errors for name, value in (error.send or {}).items()},
    )
