"""The calendars that a call covers: the subject's own and its projects', one project's, or only its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workspace.errors import FieldError, invalid

USER, PROJECT, BY_ID = "user", "project", "calendar_id"

UNUSED = "Ignored project_id: calendar_scope or calendar_id selects other calendars."


@dataclass(frozen=True, slots=True)
class Scope:
    """The scope from calendar_scope, project_id and calendar_id, and warnings about ignored arguments."""

    name: str
    project_id: str | None = None
    warnings: tuple[str, ...] = ()


def read(args: Mapping[str, Any]) -> Scope:
    """Return the requested scope. Without calendar_scope the ids decide. Raises InvalidArgs."""
    project_id, calendar_id = args.get("project_id"), args.get("calendar_id")
    name = args.get("calendar_scope") or (BY_ID if calendar_id else PROJECT if project_id else USER)
    if name == PROJECT:
        if project_id is None:
            raise _missing("project_id", "calendar_scope project requires project_id; send it, or leave the scope out.")
        return Scope(PROJECT, project_id)
    if name == BY_ID and calendar_id is None:
        raise _missing("calendar_id", "calendar_scope calendar_id needs calendar_id; send primary for the user's own.")
    return Scope(name, warnings=(UNUSED,) if project_id else ())


def _missing(name: str, message: str) -> Exception:
    return invalid([FieldError(path=f"/{name}", code="required", message=message)])
