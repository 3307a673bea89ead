"""Calling a handler as the one who runs the workspace does."""

from datetime import UTC, datetime
from typing import Any

from workspace.contract import OpOutcome, OpRequest
from workspace.handlers import HANDLERS

AT = datetime(2026, 3, 2, 12, 30, tzinfo=UTC)  # a day after the factories' rows were made


def call(tool: str, *, subject: str = "owner", at: datetime = AT, **args: Any) -> OpOutcome:
    return HANDLERS[tool].apply(OpRequest(subject=subject, args=args, at=at))
