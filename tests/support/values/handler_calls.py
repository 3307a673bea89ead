"""Calling workspace handlers directly."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from core.database.deadlines import Deadline
from core.handler_contract import ArgumentError, InvalidArgs, OpOutcome, OpRequest
from workspace.handlers import HANDLERS

AT = datetime(2026, 3, 2, 12, 30, tzinfo=UTC)  # a day after the rows of the factories


def call_handler(tool: str, *, subject: str = "owner", at: datetime = AT, **args: Any) -> OpOutcome:
    handler, request = HANDLERS[tool], OpRequest(subject, args, at, deadline=Deadline.after(milliseconds=600_000))
    return handler.apply(replace(request, prepared=handler.prepare(request)) if handler.prepare else request)


def list_field_errors(call: Callable[[], object]) -> list[tuple[str, str]]:
    """Make a call whose args are refused, and return the pointer and the code of each field error."""
    with pytest.raises(InvalidArgs) as refused:
        call()
    return [(error.path, error.code) for error in refused.value.field_errors]


def get_field_error(call: Callable[[], object]) -> ArgumentError:
    """Make a call that is refused for one of its args, and return its error."""
    with pytest.raises(InvalidArgs) as refused:
        call()
    [error] = refused.value.field_errors
    return error
