"""The generic ops on risks."""

from typing import Any

from tests.support.loops import for_each
from tests.support.rows.factories import RiskFactory
from tests.support.values.handler_calls import AT, call_handler
from workspace.models import Project, Risk


def test_create_returns_the_stored_row(project: Project) -> None:
    sent = {"title": "Traffic drops", "impact": "high", "probability": 0.25, "content": "Redirect."}

    outcome = call_handler("create_onto_risk", project_id=str(project.pk), **sent, props={"seen": 1})

    row = outcome.result["risk"]
    assert {name: row[name] for name in sent} == sent
    assert (row["state_key"], row["type_key"], row["project_name"]) == ("identified", "risk.default", "Launch")
    assert (row["description"], row["mitigated_at"], row["props"]) == (None, None, {"seen": 1})
    assert outcome.entity_id == str(Risk.objects.get().pk)
    assert outcome.entity_name == "Traffic drops"


@for_each(
    "args, expected",
    [
        ({}, {"A", "B", "C"}),
        ({"impact": "high"}, {"A", "B"}),
        ({"state_key": "mitigated"}, {"B"}),
        ({"impact": "high", "state_key": "identified"}, {"A"}),
        ({"type_key": "risk.budget"}, {"C"}),
        ({"impact": "critical"}, set()),
    ],
)
@for_each("tool", ["list_onto_risks", "search_onto_risks"], undone=True)
def test_lists_filter_by_state_impact_and_type(
    project: Project, tool: str, args: dict[str, Any], expected: set[str]
) -> None:
    for title, fields in {
        "A": {"impact": "high"},
        "B": {"impact": "high", "state_key": "mitigated"},
        "C": {"impact": "low", "type_key": "risk.budget"},
    }.items():
        RiskFactory(project=project, title=title, description="word", **fields)

    result = call_handler(tool, query="word", project_id=str(project.pk), **args).result

    assert {row["title"] for row in result["risks"]} == expected
    assert result["total"] == len(expected)


def test_list_rows_are_abbreviated(project: Project) -> None:
    RiskFactory(project=project, description="d" * 200, content="c" * 50, props={"k": "v"}, probability=0.5)

    [row] = call_handler("list_onto_risks").result["risks"]

    assert (row["description_preview"], row["content_preview"]) == ("d" * 100 + "…", "c" * 50)
    assert (row["probability"], row["impact"]) == (0.5, "medium")
    assert row.keys().isdisjoint({"description", "content", "props", "created_by"})


def test_mitigated_at_is_set_and_cleared(project: Project) -> None:
    id = str(RiskFactory(project=project, probability=0.5).pk)

    mitigated = call_handler("update_onto_risk", risk_id=id, state_key="mitigated").result["risk"]
    again = call_handler("update_onto_risk", risk_id=id, state_key="identified", probability=None).result["risk"]

    assert mitigated["mitigated_at"] == AT.isoformat().replace("+00:00", "Z")
    assert (again["mitigated_at"], again["probability"]) == (None, None)


def test_closed_risk_ranks_below_an_open_one(project: Project) -> None:
    RiskFactory(project=project, title="flood", state_key="mitigated")
    RiskFactory(project=project, title="flood", state_key="occurred")

    rows = call_handler("search_ontology", query="flood", types=["risk"]).result["results"]

    assert [row["score"] for row in rows] == [1.0, 0.75]
