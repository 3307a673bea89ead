"""Errors of the workspace. Messages name arguments but never repeat the values sent: a value may be a secret."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ArgumentError:
    """An error in one argument. `path` is a JSON pointer (RFC 6901) into args; `message` says what to send instead.

    If one correction is certain, `swap` names two arguments whose values stand the wrong way round, `leave_out` the
    argument to send the call without, or `send` has the arguments to send with it.
    """

    path: str
    code: str
    message: str
    expected: Any = None
    got: Any = None
    swap: tuple[str, str] | None = None
    leave_out: str | None = None
    send: Mapping[str, Any] | None = None


class WorkspaceError(Exception):
    """Base class of all errors that the workspace raises on purpose.

    `reason` names the case in snake_case. `message` is a sentence that the caller can act on. `details` are JSON values
    for programs.
    """

    reason = "refused"

    def __init__(
        self,
        message: str,
        *,
        reason: str = "",
        field_errors: Sequence[ArgumentError] = (),
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason or type(self).reason
        self.field_errors = list(field_errors)
        self.details = dict(details or {})


class NotFound(WorkspaceError):
    """The row does not exist, or the subject cannot see it. The message must not reveal which."""

    reason = "not_found"


class Forbidden(WorkspaceError):
    """The subject can see the row but may not do this with it."""

    reason = "forbidden"


class StateConflict(WorkspaceError):
    """The call does not fit the current state, for example because the row changed after it was read."""

    reason = "conflict"


class InvalidArgs(WorkspaceError):
    """The args match the schema but are still invalid; `field_errors` lists every problem."""

    reason = "invalid_args"


def build_invalid_args(field_errors: Sequence[ArgumentError]) -> InvalidArgs:
    """Return the exception for these field errors. Its message is that of the first one, with a count of the others."""
    other_count = len(field_errors) - 1
    message = field_errors[0].message
    return InvalidArgs(
        f"{message} ({other_count} more in field_errors.)" if other_count else message, field_errors=field_errors
    )
