"""Arguments that cannot be put into a request."""

from collections.abc import Sequence

from core.text import json_pointer
from gateway.contracts.errors import FieldError, InvalidRequestError, describe_invalid_args


class UnsendableArgument(ValueError):
    """The value of an argument has no place in the request. The message is a sentence for the caller."""

    def __init__(self, argument: str, code: str, message: str) -> None:
        super().__init__(message)
        self.argument, self.code = argument, code

    def to_field_error(self) -> FieldError:
        """Return the field error at the argument."""
        return FieldError(build_pointer(self.argument), self.code, str(self))


def build_pointer(*path: str) -> str:
    """Return the JSON pointer of an argument, or of a value inside it, in the args."""
    return json_pointer.build(path)


def build_invalid_args_error(problems: Sequence[UnsendableArgument]) -> InvalidRequestError:
    """Return the error that lists all arguments that cannot be sent."""
    field_errors = [problem.to_field_error() for problem in problems]
    return InvalidRequestError(describe_invalid_args(is_corrected=False), field_errors=field_errors)
