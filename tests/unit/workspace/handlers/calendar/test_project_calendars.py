"""The calendar of a project: its name and colour; no external calendar is connected."""

import pytest

from core.handler_contract import StateConflict
from tests.support.loops import for_each
from tests.support.rows.factories import (
    MADE_AT,
    ProfileFactory,
    ProjectCalendarFactory,
    ProjectFactory,
)
from tests.support.values.handler_calls import AT, call_handler, list_field_errors
from workspace.models import ProjectCalendar


def test_get_returns_null_for_a_project_without_a_calendar(db: None) -> None:
    project = ProjectFactory()
    ProjectCalendarFactory(project=project, deleted_at=MADE_AT)

    result = call_handler("get_project_calendar", project_id=str(project.pk)).result

    assert result["calendar"] is None
    assert "cal.project.set" in result["message"]


def test_first_set_creates_a_calendar_named_after_its_project(db: None) -> None:
    ProfileFactory(subject="owner", time_zone="Europe/Berlin")
    project = ProjectFactory(name="Garden")

    outcome = call_handler("set_project_calendar", project_id=str(project.pk))

    calendar = ProjectCalendar.objects.get()
    assert outcome.result == {
        "calendar": {
            "id": str(calendar.pk),
            "project_id": str(project.pk),
            "project_name": "Garden",
            "name": "Garden - Tasks",
            "description": None,
            "color_id": "7",
            "sync_enabled": False,
            "time_zone": "Europe/Berlin",
            "created_by": "owner",
            "created_at": "2026-03-02T12:30:00Z",
            "updated_at": "2026-03-02T12:30:00Z",
        },
        "message": "Created the project's calendar.",
    }
    assert (outcome.entity_id, outcome.entity_name) == (str(calendar.pk), "Garden - Tasks")
    expected = outcome.result["calendar"]
    assert call_handler("get_project_calendar", project_id=str(project.pk)).result["calendar"] == expected


def test_next_set_changes_the_sent_fields(db: None) -> None:
    calendar = ProjectCalendarFactory(name="Old", description="d")
    id = str(calendar.project_id)

    changed = call_handler("set_project_calendar", project_id=id, color_id="11", description=None)
    again = call_handler("set_project_calendar", project_id=id, action="update", color_id="11")

    calendar.refresh_from_db()
    assert (calendar.name, calendar.description, calendar.color_id, calendar.updated_at) == ("Old", "", "11", AT)
    assert changed.result["message"] == "Changed “Old”: description d → none, color_id 7 → 11."
    assert again.warnings == ("unchanged",)


@for_each("action, there, reason", [("create", True, "calendar_exists"), ("update", False, "no_calendar")], undone=True)
def test_set_with_the_wrong_action_is_a_conflict(db: None, action: str, there: bool, reason: str) -> None:
    project = ProjectFactory()
    if there:
        ProjectCalendarFactory(project=project)

    with pytest.raises(StateConflict) as refused:
        call_handler("set_project_calendar", project_id=str(project.pk), action=action, name="Mine")

    assert refused.value.reason == reason
    assert not ProjectCalendar.objects.filter(name="Mine").exists()


def test_blank_name_is_refused(db: None) -> None:
    refused = {"project_id": str(ProjectFactory().pk), "name": "  "}

    assert list_field_errors(lambda: call_handler("set_project_calendar", **refused)) == [("/name", "blank")]
