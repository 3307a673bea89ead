from datetime import timedelta
from typing import Any

from pytest_django.fixtures import DjangoAssertNumQueries

from tests.support.rows.factories import MADE_AT, MilestoneFactory
from tests.support.values.handler_calls import AT, call_handler
from workspace.models import Milestone, Project


def test_milestone_becomes_missed_as_time_passes(project: Project) -> None:
    id = str(MilestoneFactory(project=project, due_at=AT).pk)

    def read_is_missed(after: timedelta) -> set[bool]:
        at = AT + after
        [listed] = call_handler("list_onto_milestones", at=at).result["milestones"]
        [hit] = call_handler("search_onto_milestones", at=at, query="milestone").result["milestones"]
        detail = call_handler("get_onto_milestone_details", at=at, milestone_id=id).result["milestone"]
        return {row.get("is_missed", False) for row in (listed, hit, detail)}

    assert read_is_missed(timedelta(0)) == {False}
    assert read_is_missed(timedelta(seconds=1)) == {True}
    assert Milestone.objects.get().state_key == "pending"


def test_update_returns_the_new_is_missed(project: Project, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    id = str(MilestoneFactory(project=project, title="Live", due_at=MADE_AT).pk)

    def update(**sent: Any) -> tuple[bool, str]:
        with django_assert_num_queries(2):
            result = call_handler("update_onto_milestone", milestone_id=id, fields=["is_missed"], **sent).result
        return result["milestone"]["is_missed"], result["message"]

    assert update(state_key="in_progress") == (False, "Changed “Live”: state_key pending → in_progress.")
    assert update(state_key="pending") == (True, "Changed “Live”: state_key in_progress → pending.")
    assert update(due_at=None) == (False, "Changed “Live”: due_at 2026-03-01T09:00:00Z → none.")
