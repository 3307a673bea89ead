"""Errors of the example domains."""

from pathlib import Path

from django.conf import settings

from gateway.contracts.errors import ArgsCorrection, FieldError, InternalError, InvalidRequestError


def get_data_folder() -> Path:
    """Return the folder with all data of the example domains."""
    return Path(settings.VAR_DIR) / "examples"


def build_invalid_arg_error(
    path: str, code: str, message: str, *, correction: ArgsCorrection | None = None
) -> InvalidRequestError:
    """Return the error of one argument, by its JSON pointer."""
    problem = FieldError(path, code, message)
    return InvalidRequestError(message, reason="invalid_args", field_errors=[problem], correction=correction)


def build_not_loaded_error() -> InternalError:
    """Return the error for a machine on which the example data was never created."""
    return InternalError(
        "The example data does not exist; nothing was done. Ask the administrator to run load_demo --domains.",
        status=503,
        reason="not_configured",
    )
