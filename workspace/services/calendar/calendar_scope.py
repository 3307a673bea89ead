"""The calendars that a call covers: the subject's own and its projects', one project's, or only its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workspace.errors import ArgumentError, build_invalid_args

USER, PROJECT, BY_ID = "user", "project", "calendar_id"

UNUSED_PROJECT_WARNING = "Ignored project_id: calendar_scope or calendar_id selects other calendars."


@dataclass(frozen=True, slots=True)
class CalendarScope:
    """The scope from calendar_scope, project_id and calendar_id, and warnings about ignored arguments."""

    name: str
    project_id: str | None = None
    warnings: tuple[str, ...] = ()


def parse_scope(args: Mapping[str, Any]) -> CalendarScope:
    """Return the requested scope. Without calendar_scope the ids decide. Raises InvalidArgs."""
    project_id, calendar_id = args.get("project_id"), args.get("calendar_id")
    name = args.get("calendar_scope") or (BY_ID if calendar_id else PROJECT if project_id else USER)
    if name == PROJECT:
        if project_id is None:
            raise _build_missing_error(
                "project_id", "calendar_scope project requires project_id; send it, or leave the scope out."
            )
        return CalendarScope(PROJECT, project_id)
    if name == BY_ID and calendar_id is None:
        raise _build_missing_error(
            "calendar_id", "calendar_scope calendar_id needs calendar_id; send primary for the user's own."
        )
    return CalendarScope(name, warnings=(UNUSED_PROJECT_WARNING,) if project_id else ())


def _build_missing_error(name: str, message: str) -> Exception:
    return build_invalid_args([ArgumentError(path=f"/{name}", code="required", message=message)])
