from typing import Any

from registry.jsonschema import validator
from tests.support.loops import for_each
from tests.support.values.handler_calls import call_handler, get_field_error
from workspace.handlers.generic.fields import ENTITY_TYPES
from workspace.models import DocumentState, GoalState, MilestoneState, PlanState, ProjectState, RiskState, TaskState


def info(entity_type: str, **more: Any) -> dict[str, dict[str, Any]]:
    result = call_handler("get_field_info", subject="", entity_type=entity_type, **more).result
    assert result["entity_type"] == entity_type
    return {field["name"]: field for field in result["fields"]}


@for_each(
    "entity_type, states, default",
    [
        ("ontology_task", TaskState.values, "todo"),
        ("ontology_project", ProjectState.values, "planning"),
        ("ontology_document", DocumentState.values, "draft"),
        ("ontology_goal", GoalState.values, "draft"),
        ("ontology_plan", PlanState.values, "draft"),
        ("ontology_milestone", MilestoneState.values, "pending"),
        ("ontology_risk", RiskState.values, "identified"),
    ],
)
def test_state_field_has_an_enum_and_a_default(entity_type: str, states: list[str], default: str) -> None:
    field = info(entity_type, field_name="state_key")["state_key"]

    assert (field["type"], field["enum"], field["default"]) == ("string", states, default)
    assert "maxLength" not in field  # the enum is complete
    assert type(field["default"]) is str  # a plain value that any serialiser accepts


@for_each(
    "entity_type, name, expected",
    [
        (
            "ontology_task",
            "priority",
            {"type": "integer", "required": False, "default": 3, "minimum": 1, "maximum": 5, "example": 3},
        ),
        ("ontology_requirement", "text", {"required": True, "maxLength": 1_000}),
        ("ontology_task", "project_id", {"type": "string", "format": "uuid"}),
        ("ontology_task", "due_at", {"type": "string", "format": "date-time"}),
        ("ontology_task", "props", {"type": "object"}),
        ("ontology_task", "title", {"type": "string", "maxLength": 300}),
        ("ontology_task", "description", {"type": "string", "maxLength": 20_000}),
        ("ontology_task", "type_key", {"type": "string", "default": "task.execute"}),
        ("ontology_risk", "probability", {"type": "number", "minimum": 0, "maximum": 1, "example": 0.5}),
    ],
)
def test_field_types_are_json_schema_types(entity_type: str, name: str, expected: dict[str, Any]) -> None:
    field = info(entity_type, field_name=name)[name]

    assert {word: field[word] for word in expected} == expected
    assert field["description"]
    assert name != "type_key" or field["pattern"].startswith(r"^task\.(execute|create|")


@for_each("entity_type", ENTITY_TYPES)
def test_every_field_is_described_in_a_sentence_and_has_a_valid_example(entity_type: str) -> None:
    words = ("type", "format", "enum", "maxLength", "pattern", "minimum", "maximum")
    for name, field in info(entity_type).items():
        assert field["description"].endswith(".")
        assert len(field["description"]) <= 100
        schema = {"type": "object", "properties": {name: {word: field[word] for word in words if word in field}}}
        assert validator.find_instance_problems(schema, {name: field["example"]}) == []


def test_unknown_field_is_refused_with_the_names_that_exist() -> None:
    error = get_field_error(lambda: info("ontology_project", field_name="status_of_secrets"))

    assert (error.path, error.code, error.expected) == ("/field_name", "unknown_field", list(info("ontology_project")))
    assert "state_key" in error.message
    assert "status_of_secrets" not in error.message
