from tests.support.rows.factories import GoalFactory
from tests.support.values.handler_calls import call_handler
from workspace.models import Goal, Project


def test_create_stores_the_sent_fields_and_update_clears_them(project: Project) -> None:
    sent = {"priority": 2, "target_date": "2026-05-31", "measurement_criteria": "95% of the visits"}

    args = {"project_id": str(project.pk), "name": "Keep the visits", "type_key": "goal.outcome.traffic"}
    row = call_handler("create_onto_goal", **args, **sent).result["goal"]
    cleared = call_handler("update_onto_goal", goal_id=row["id"], **dict.fromkeys(sent)).result

    assert {name: row[name] for name in sent} == sent
    assert row["type_key"] == "goal.outcome.traffic"
    assert {name: cleared["goal"][name] for name in sent} == dict.fromkeys(sent)
    assert cleared["message"] == (
        "Changed “Keep the visits”: priority 2 → none, target_date 2026-05-31 → none,"
        " measurement_criteria “95% of the visits” → none."
    )
    goal = Goal.objects.get()
    assert (goal.priority, goal.target_date, goal.measurement_criteria) == (None, None, "")


def test_list_returns_abbreviated_rows_and_filters_by_state_and_type(project: Project) -> None:
    goal = GoalFactory(
        project=project, name="Keep", state_key="active", type_key="goal.outcome.traffic", description="x" * 101
    )
    GoalFactory(project=project, name="Draft")
    GoalFactory(project=project, name="Usual", state_key="active")

    result = call_handler("list_onto_goals", state_key="active", type_key="goal.outcome.traffic").result

    assert result["goals"] == [
        {
            "id": str(goal.pk),
            "project_id": str(project.pk),
            "project_name": "Launch",
            "name": "Keep",
            "type_key": "goal.outcome.traffic",
            "state_key": "active",
            "description_preview": "x" * 100 + "…",
        }
    ]
    assert result["message"].endswith("onto.goal.get returns the complete row.")


def test_search_covers_names_and_descriptions_only(project: Project) -> None:
    GoalFactory(project=project, name="Keep the visits")
    GoalFactory(project=project, name="Traffic", description="as many VISITS as before")
    GoalFactory(project=project, name="Speed", measurement_criteria="visits in two seconds")

    goals = call_handler("search_onto_goals", query="visits").result["goals"]

    assert sorted(row["name"] for row in goals) == ["Keep the visits", "Traffic"]
