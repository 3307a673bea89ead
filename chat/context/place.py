"""Where the user is."""

from dataclasses import dataclass

PROJECT, TASK, CALENDAR, GLOBAL = "project", "task", "calendar", "global"


@dataclass(frozen=True, slots=True)
class Place:
    """The page from which the user writes: of one project, of one task, the calendar, or none of these."""

    type: str
    project_id: str | None = None
    entity_id: str | None = None  # of the task, if the type is task
