"""Errors of the API: five codes and one envelope for the errors of all layers."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypedDict

from django.db import models

from core.database.watch import NOT_MIGRATED
from registry.models import ROOT

# Reasons of 5xx answers that are expected: nothing is broken until an administrator configures it. No log of errors.
EXPECTED_REASONS = frozenset({"not_configured"})

_WORD = re.compile(r"[\w-]+")


class ErrorCode(models.TextChoices):
    """All error codes of an envelope."""

    VALIDATION_ERROR = "VALIDATION_ERROR"
    PERMISSION_DENIED = "PERMISSION_DENIED"
    NOT_FOUND = "NOT_FOUND"
    CONFLICT = "CONFLICT"
    INTERNAL = "INTERNAL"


@dataclass(frozen=True, slots=True)
class FieldError:
    """What is wrong with one value of a body: where, which rule, and what to send instead.

    It never contains the value itself, which may be a secret.
    """

    path: str  # JSON pointer
    code: str
    message: str
    expected: Any = None  # usually a signature; the candidate rows if a name matches several
    got: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form, without members that are None or already in the message."""
        fields = {name: value for name, value in asdict(self).items() if value is not None}
        is_said = isinstance(self.expected, str) and _get_words(self.expected) in _get_words(self.message)
        if is_said and self.code != "unknown_argument":  # programs also need the argument to send instead
            del fields["expected"]
        return fields


def _get_words(text: str) -> str:
    return " ".join(_WORD.findall(text))


@dataclass(frozen=True, slots=True)
class ArgsCorrection:
    """How an upstream corrects args: pairs whose values are swapped, names to leave out, args to set."""

    swaps: Sequence[tuple[str, str]] = ()
    left_out: Sequence[str] = ()
    args: Mapping[str, Any] = field(default_factory=dict)

    def apply(self, args: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the corrected args, None if an argument to swap was not sent."""
        corrected = {name: value for name, value in args.items() if name not in self.left_out}
        for first, second in self.swaps:
            if first not in corrected or second not in corrected:
                return None
            corrected[first], corrected[second] = corrected[second], corrected[first]
        return {**corrected, **self.args}


class EnvelopeError(TypedDict):
    """An envelope's error. Its details have field_errors, reason, retryable, and what else the error knows."""

    code: str
    message: str
    details: dict[str, Any]
    help_path: str


class GatewayError(Exception):
    """An error for the caller. `details` are added to the envelope's details, `headers` to the response."""

    code = ErrorCode.INTERNAL
    status = 500
    reason = "internal"
    retryable = False
    # Whether a write's idempotency key is used up: not if nothing was applied and the same call may succeed later.
    is_final = True

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        reason: str | None = None,
        retryable: bool | None = None,
        field_errors: Sequence[FieldError] = (),
        help_path: str | None = None,
        retry_with: Mapping[str, Any] | None = None,
        details: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        correction: ArgsCorrection | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status if status is not None else self.status
        self.reason = reason if reason is not None else self.reason
        self.retryable = retryable if retryable is not None else self.retryable
        self.field_errors = list(field_errors)
        self.help_path = help_path
        self.retry_with = retry_with
        self.details = dict(details or {})
        self.headers = dict(headers or {})
        self.correction = correction

    def as_dict(self) -> EnvelopeError:
        """Return the envelope's `error`."""
        details: dict[str, Any] = {
            "field_errors": [error.as_dict() for error in self.field_errors],
            "reason": self.reason,
            "retryable": self.retryable,
            **self.details,
        }
        if self.retry_with is not None:
            details["retry_with"] = self.retry_with
        return {"code": self.code, "message": str(self), "details": details, "help_path": self.help_path or ROOT}


def describe_invalid_args(*, is_corrected: bool) -> str:
    """Return the message of an error whose details are in its field errors or its corrected call."""
    return (
        "The args are invalid. If retry_with is what you meant, send it."
        if is_corrected
        else "The args are invalid. Correct what field_errors lists."
    )


class InvalidRequestError(GatewayError):
    """The call is invalid. The caller can correct it and send it again."""

    code = ErrorCode.VALIDATION_ERROR
    status = 400
    reason = "invalid"


class PermissionDeniedError(GatewayError):
    """The caller is not allowed to run the call."""

    code = ErrorCode.PERMISSION_DENIED
    status = 403
    reason = "denied"


class NotFoundError(GatewayError):
    """The call names something that does not exist, or that this subject cannot see."""

    code = ErrorCode.NOT_FOUND
    status = 404
    reason = "not_found"


class ConflictError(GatewayError):
    """The call conflicts with the current state."""

    code = ErrorCode.CONFLICT
    status = 409
    reason = "conflict"


class InternalError(GatewayError):
    """The gateway or an upstream failed; the call itself may be valid."""


class UpstreamUnreachableError(InternalError):
    """An upstream has not seen the call, or refused it for now. Nothing was applied, so it can be sent again."""

    status = 503
    reason = "upstream_unreachable"
    retryable = True
    is_final = False


class UpstreamBusyError(UpstreamUnreachableError):
    """An upstream accepts no calls now, or the gateway sends it none for a while."""

    reason = "upstream_busy"


class OutcomeUnknownError(InternalError):
    """A write was sent to an upstream and no answer came. It may or may not have taken effect."""

    status = 504
    reason = "outcome_unknown"


def build_unavailable_error() -> InternalError:
    """Return the error for a database that cannot be reached."""
    return InternalError(
        "The service is briefly unavailable; nothing was done. Send the same call again.",
        status=503,
        reason="unavailable",
        retryable=True,
        headers={"Retry-After": "1"},
    )


def build_not_migrated_error() -> InternalError:
    """Return the error for a database without the tables of this version."""
    return InternalError(
        f"The gateway is not set up; nothing was done. {NOT_MIGRATED}",
        status=503,
        reason="not_migrated",
        retryable=True,
        headers={"Retry-After": "10"},
    )


def build_outcome_unknown_error() -> OutcomeUnknownError:
    """Return the error for a write that was sent and whose outcome the gateway does not know."""
    return OutcomeUnknownError(
        "The call was sent, but it is not known whether it took effect. It is not sent again. Check with a list, "
        "search or get op before you send a new call."
    )


def build_unsupported_media_type_error() -> InvalidRequestError:
    """Return the error for a body that is not application/json in UTF-8."""
    return InvalidRequestError(
        "Send the body as application/json, in UTF-8, uncompressed.", status=415, reason="unsupported_media_type"
    )


def build_too_large_error(limit: int) -> InvalidRequestError:
    """Return the error for a body over `limit` bytes."""
    return InvalidRequestError(
        f"The body is larger than {limit} bytes. Send less at a time.", status=413, reason="too_large"
    )
