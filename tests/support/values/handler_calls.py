"""Calling workspace handlers directly."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from core.database.deadlines import Deadline
from core.handler_contract import OpOutcome, OpRequest
from workspace.handlers import HANDLERS

AT = datetime(2026, 3, 2, 12, 30, tzinfo=UTC)  # a day after the rows of the factories


def call_handler(tool: str, *, subject: str = "owner", at: datetime = AT, **args: Any) -> OpOutcome:
    handler, request = HANDLERS[tool], OpRequest(subject, args, at, deadline=Deadline.after(milliseconds=600_000))
    return handler.apply(replace(request, prepared=handler.prepare(request)) if handler.prepare else request)
