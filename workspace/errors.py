"""What the workspace refuses. Messages name arguments, never the values that were sent: a value may be a secret."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class FieldError:
    """What is wrong with one argument. `path` is a JSON pointer (RFC 6901) into args; `message` says what to send."""

    path: str
    code: str
    message: str
    expected: Any = None
    got: Any = None


class Refusal(Exception):
    """The domain's no. `reason` names the case in snake_case, `message` is a sentence that the caller can act on.

    `details` are JSON values that say more of the case to a program.
    """

    reason = "refused"

    def __init__(
        self,
        message: str,
        *,
        reason: str = "",
        field_errors: Sequence[FieldError] = (),
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason or type(self).reason
        self.field_errors = list(field_errors)
        self.details = dict(details or {})


class NotFound(Refusal):
    """No such row, or none that this subject can see: the two are told in the same words."""

    reason = "not_found"


class Forbidden(Refusal):
    """The subject can see the row, but not do this with it."""

    reason = "forbidden"


class Conflict(Refusal):
    """The row moved since the caller, or the handler's first step, read it."""

    reason = "conflict"


class Invalid(Refusal):
    """Arguments that fit the schema and still make no sense; `field_errors` names all of them."""

    reason = "invalid_args"


def invalid(field_errors: Sequence[FieldError]) -> Invalid:
    """Return the refusal of all these field errors, told by the first of them."""
    more = len(field_errors) - 1
    message = field_errors[0].message
    return Invalid(f"{message} ({more} more in field_errors.)" if more else message, field_errors=field_errors)
