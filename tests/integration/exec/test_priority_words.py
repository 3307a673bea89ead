"""Priority in words: each word from urgent to lowest is read as its number, with a warning."""

from typing import Any

from tests.support.clients.api import Api
from tests.support.loops import for_each
from workspace.demo import DEMO_PROJECT_ID, DEMO_TASK_ID
from workspace.models import Requirement, Task

NUMBERS = {"urgent": 1, "critical": 1, "highest": 1, "high": 2, "medium": 3, "normal": 3, "low": 4, "lowest": 5}


def find_priority_schemas(schema: Any) -> list[dict[str, Any]]:
    """Return the schema of each argument named priority, at every level."""
    if not isinstance(schema, dict):
        return []
    properties = schema.get("properties", {})
    own = [properties["priority"]] if "priority" in properties else []
    return own + [
        inner for part in (*properties.values(), schema.get("items")) for inner in find_priority_schemas(part)
    ]


def test_every_priority_argument_accepts_words(live_catalog: Any) -> None:
    schemas = {path: schema for path, op in live_catalog.ops.items() for schema in find_priority_schemas(op.schema)}

    assert {"onto.task.create", "onto.task.update", "onto.project.create", "onto.requirement.list"} <= set(schemas)
    for schema in schemas.values():
        assert schema.get("items", schema)["x-aliases"] == NUMBERS


@for_each("word, number", [("urgent", 1), ("High", 2)], undone=True)
def test_priority_word_is_stored_as_its_number_with_a_warning(api: Api, word: str, number: int) -> None:
    task = api.exec("onto.task.update", {"task_id": DEMO_TASK_ID, "priority": word, "fields": ["priority"]})
    requirement = api.exec(
        "onto.requirement.create", {"project_id": DEMO_PROJECT_ID, "text": "Words are read", "priority": word}
    )

    assert Task.objects.get(pk=DEMO_TASK_ID).priority == number
    assert task["result"]["task"]["priority"] == number
    assert Requirement.objects.get(text="Words are read").priority == number
    for response in (task, requirement):
        assert f"Read priority as {number}." in response["meta"]["warnings"]


def test_priority_word_is_accepted_in_project_entities(api: Api) -> None:
    entity = {"temp_id": "t1", "kind": "task", "title": "Words", "priority": "high"}

    response = api.exec(
        "onto.project.create", {"project": {"name": "P", "type_key": "project.personal.garden"}, "entities": [entity]}
    )

    assert Task.objects.get(title="Words").priority == 2
    assert response["meta"]["warnings"] == ["Read priority as 2."]
