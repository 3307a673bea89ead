"""Which calendars a call is about: the subject's own with those of its projects, one project's, or the own alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workspace.errors import FieldError, invalid

USER, PROJECT, BY_ID = "user", "project", "calendar_id"

UNUSED = "Did not use project_id: calendar_scope or calendar_id asks for other calendars than the project's."


@dataclass(frozen=True, slots=True)
class Scope:
    """What calendar_scope, project_id and calendar_id say together, and what of them was not used."""

    name: str
    project_id: str | None = None
    warnings: tuple[str, ...] = ()


def read(args: Mapping[str, Any]) -> Scope:
    """Return the scope that a call asks for: without calendar_scope what the ids say. Raises Invalid."""
    project_id, calendar_id = args.get("project_id"), args.get("calendar_id")
    name = args.get("calendar_scope") or (BY_ID if calendar_id else PROJECT if project_id else USER)
    if name == PROJECT:
        if project_id is None:
            raise _missing("project_id", "calendar_scope project needs project_id; send it, or leave the scope out.")
        return Scope(PROJECT, project_id)
    if name == BY_ID and calendar_id is None:
        raise _missing("calendar_id", "calendar_scope calendar_id needs calendar_id; send primary for the user's own.")
    return Scope(name, warnings=(UNUSED,) if project_id else ())


def _missing(name: str, message: str) -> Exception:
    return invalid([FieldError(path=f"/{name}", code="required", message=message)])
