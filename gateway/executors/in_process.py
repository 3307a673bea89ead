"""The executor of upstreams in this process: handlers of an app, or of the gateway itself."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Any, NoReturn

from core.handler_contract import (
    UNCHANGED,
    ArgumentError,
    EmbeddedUpstream,
    Forbidden,
    InvalidArgs,
    Lookups,
    NotFound,
    NotSetUp,
    OpRefusal,
    OpRequest,
    StateConflict,
    TookTooLong,
    Unavailable,
)
from gateway.contracts.errors import (
    ArgsCorrection,
    ConflictError,
    FieldError,
    GatewayError,
    InternalError,
    InvalidRequestError,
    NotFoundError,
    PermissionDeniedError,
    UpstreamUnreachableError,
    describe_invalid_args,
)
from gateway.executors.base import UpstreamCall, UpstreamResponse
from registry.catalog.connections import ConnectionConfig, UpstreamTarget
from registry.catalog.model import Catalog, Visibility
from registry.models import Connection

KINDS = frozenset((Connection.Kind.EMBEDDED, Connection.Kind.EXAMPLE))

# The error of the API for each refusal, and its status if it is not that of its class.
ERROR_CLASSES: dict[type[OpRefusal], type[GatewayError]] = {
    InvalidArgs: InvalidRequestError,
    Forbidden: PermissionDeniedError,
    NotFound: NotFoundError,
    StateConflict: ConflictError,
    NotSetUp: InternalError,
    Unavailable: UpstreamUnreachableError,
    TookTooLong: InternalError,
}
ERROR_STATUSES: dict[type[OpRefusal], int] = {NotSetUp: 503, TookTooLong: 504}


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayOpRequest(OpRequest):
    """A request with what only the gateway's own ops need: the release, and the part of it that the caller can see."""

    catalog: Catalog
    visibility: Visibility


class InProcessExecutor:
    """Runs an op with the handler of its tool name. There is one executor for each upstream."""

    is_remote = False

    def __init__(self, upstream: EmbeddedUpstream) -> None:
        self.upstream = upstream
        self.transactional = upstream.transactional

    def explain_missing(self, config: ConnectionConfig, target: UpstreamTarget) -> str:
        if target.tool_name in self.upstream.handlers:
            return ""
        return f'the connection "{config.name}" has no handler for the tool "{target.tool_name}"'

    def prepare(self, work: UpstreamCall) -> Any:
        handler = self.upstream.handlers[work.op.tool_name]
        if handler.prepare is None:
            return None
        try:
            return handler.prepare(_build_request(work, None))
        except OpRefusal as refusal:
            _raise_error(refusal, work)

    def authorize(self, work: UpstreamCall, prepared: Any) -> Any:
        return prepared

    def apply(self, work: UpstreamCall, prepared: Any) -> UpstreamResponse:
        handler = self.upstream.handlers[work.op.tool_name]
        try:
            outcome = handler.apply(_build_request(work, prepared, takes_fields=handler.takes_fields))
        except OpRefusal as refusal:
            _raise_error(refusal, work)
        return UpstreamResponse(
            outcome.result,
            tuple(outcome.warnings),
            outcome.entity_id,
            outcome.entity_name,
            () if UNCHANGED in outcome.warnings else outcome.changed_ids,
            outcome.entity,
            outcome.action,
            has_selected_fields=handler.takes_fields,
            undo=outcome.undo if outcome.undo and self._can_undo(work) else {},
        )

    def _can_undo(self, work: UpstreamCall) -> bool:
        """Return whether the caller sees the op that takes back a write of this upstream."""
        op = work.catalog.find_op(self.upstream.undo_tool)
        if op is None or op.connection != work.op.connection:
            return False
        return op.op in work.catalog.view_for(work.visibility).ops


_executors: dict[str, InProcessExecutor] = {}  # by the name of the connection


def add_upstream(upstream: EmbeddedUpstream) -> None:
    """Add an upstream to those that this process runs."""
    _executors[upstream.name] = InProcessExecutor(upstream)


def get_executor(connection: str) -> InProcessExecutor:
    """Return the executor of a connection. Without an upstream of this name, no tool has a handler."""
    return _executors.get(connection) or InProcessExecutor(EmbeddedUpstream(connection, {}))


def find_lookups(connection: str) -> Lookups | None:
    """Return what the upstream of a connection can look up, None if it can look up nothing."""
    return get_executor(connection).upstream.lookups


def find_row_connection(connection: str) -> str:
    """Return the connection whose upstream looks up rows for an op about rows of any kind: its own, or the first."""
    if find_lookups(connection) is not None:
        return connection
    return next((name for name, executor in _executors.items() if executor.upstream.lookups), connection)


def find_time_zone(subject: str) -> tzinfo:
    """Return the time zone of a subject from the first upstream that has one; UTC if none does."""
    return next((lookups.get_time_zone(subject) for lookups in _list_lookups()), UTC)


def find_title(entity: str, id: str, subject: str) -> str | None:
    """Return the title of the row of any embedded upstream with this id; None if the subject sees no such row."""
    titles = (lookups.find_title(entity, id, subject) for lookups in _list_lookups())
    return next((title for title in titles if title is not None), None)


def find_kind(id: str, subject: str) -> str | None:
    """Return the kind of the row with this id of any embedded upstream; None if the subject can see none."""
    kinds = (lookups.find_kind(id, subject) for lookups in _list_lookups())
    return next((kind for kind in kinds if kind), None)


def convert_errors(field_errors: Sequence[ArgumentError]) -> list[FieldError]:
    """Convert an upstream's errors of arguments for an answer."""
    return [FieldError(error.path, error.code, error.message, error.expected, error.got) for error in field_errors]


def build_correction(field_errors: Sequence[ArgumentError]) -> ArgsCorrection | None:
    """Return the correction of all errors, None if one of them has none."""
    if not field_errors or not all(error.swap or error.leave_out or error.send for error in field_errors):
        return None
    return ArgsCorrection(
        swaps=[error.swap for error in field_errors if error.swap],
        left_out=[error.leave_out for error in field_errors if error.leave_out],
        args={name: value for error in field_errors for name, value in (error.send or {}).items()},
    )


def _list_lookups() -> Iterator[Lookups]:
    return (each.upstream.lookups for each in _executors.values() if each.upstream.lookups)


def _build_request(work: UpstreamCall, prepared: Any, *, takes_fields: bool = False) -> GatewayOpRequest:
    fields = {"fields": list(work.fields)} if work.fields and takes_fields else {}
    return GatewayOpRequest(
        subject=work.subject,
        args=fields | work.args,
        at=work.at,
        deadline=work.deadline,
        prepared=prepared,
        catalog=work.catalog,
        visibility=work.visibility,
    )


def _raise_error(refusal: OpRefusal, work: UpstreamCall) -> NoReturn:
    # The field errors of invalid args say everything; the first one would be repeated.
    is_said = isinstance(refusal, InvalidArgs) and refusal.field_errors
    # An app may raise its own class, or the base class.
    kind = next((each for each in type(refusal).__mro__ if each in ERROR_CLASSES), StateConflict)
    raise ERROR_CLASSES[kind](
        describe_invalid_args(is_corrected=False) if is_said else refusal.message,
        status=ERROR_STATUSES.get(kind),
        reason=refusal.reason,
        field_errors=convert_errors(refusal.field_errors),
        details=refusal.details,
        help_path=work.op.op,
        correction=build_correction(refusal.field_errors),
    ) from refusal
