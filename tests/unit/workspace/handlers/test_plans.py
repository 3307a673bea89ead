from typing import Any

import pytest

from core.handler_contract import InvalidArgs
from tests.support.loops import for_each
from tests.support.rows.factories import PlanFactory
from tests.support.values.handler_calls import call_handler
from workspace.models import Project


def create(project: Project, **sent: Any) -> Any:
    return call_handler("create_onto_plan", project_id=str(project.pk), **sent).result["plan"]


def test_create_stores_the_sent_fields_and_update_clears_them(project: Project) -> None:
    sent = {"plan": "1. Invite\n2. Decide\n", "start_date": "2026-04-06", "end_date": "2026-04-06"}

    row = create(project, name="Beta", **sent)
    cleared = call_handler("update_onto_plan", plan_id=row["id"], **dict.fromkeys(sent)).result

    assert {name: row[name] for name in sent} == sent
    assert {name: cleared["plan"][name] for name in sent} == dict.fromkeys(sent)
    assert cleared["message"] == (
        "Changed “Beta”: plan (20 → 0 characters), start_date 2026-04-06 → none, end_date 2026-04-06 → none."
    )


@for_each("moved", [{"start_date": "2026-04-25"}, {"end_date": "2026-04-05"}], undone=True)
def test_plan_that_ends_before_it_starts_is_refused(project: Project, moved: dict[str, str]) -> None:
    id = create(project, name="Beta", start_date="2026-04-06", end_date="2026-04-24")["id"]

    with pytest.raises(InvalidArgs) as refused:
        call_handler("update_onto_plan", plan_id=id, **moved)

    [error] = refused.value.field_errors
    assert (error.path, error.code) == (f"/{next(iter(moved))}", "out_of_order")
    assert error.message == "end_date is before start_date; send a later end_date or an earlier start_date."


def test_list_returns_abbreviated_rows_and_filters_by_state_and_type(project: Project) -> None:
    plan = PlanFactory(project=project, name="Beta", state_key="active", type_key="plan.sprint", plan="s" * 201)
    PlanFactory(project=project, name="Draft", type_key="plan.sprint")
    PlanFactory(project=project, name="Usual", state_key="active")

    result = call_handler("list_onto_plans", state_key="active", type_key="plan.sprint").result

    assert result["plans"] == [
        {
            "id": str(plan.pk),
            "project_id": str(project.pk),
            "project_name": "Launch",
            "name": "Beta",
            "type_key": "plan.sprint",
            "state_key": "active",
            "plan_preview": "s" * 200 + "…",
        }
    ]
    assert result["message"].endswith("onto.plan.get returns the complete row.")


def test_search_covers_names_and_descriptions_and_search_all_the_steps(project: Project) -> None:
    PlanFactory(project=project, name="Beta", plan="1. Invite the customers")
    PlanFactory(project=project, name="Customers first")

    plans = call_handler("search_onto_plans", query="customers").result["plans"]

    assert [row["name"] for row in plans] == ["Customers first"]
    assert call_handler("search_ontology", query="customers").result["total"] == 2
