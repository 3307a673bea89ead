"""Errors of the example domains."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings

from core.handler_contract import ArgumentError, InvalidArgs, NotSetUp, build_invalid_args


def get_data_folder() -> Path:
    """Return the folder with all data of the example domains."""
    return Path(settings.VAR_DIR) / "examples"


def build_invalid_arg_error(
    path: str, code: str, message: str, *, send: Mapping[str, Any] | None = None
) -> InvalidArgs:
    """Return the error of one argument, by its JSON pointer. `send` has the args that are certain to correct it."""
    return build_invalid_args([ArgumentError(path, code, message, send=send)])


def build_not_loaded_error() -> NotSetUp:
    """Return the error for a machine on which the example data was never created."""
    return NotSetUp(
        "The example data does not exist; nothing was done. Ask the administrator to run load_demo --domains."
    )
