"""Priority in words, wherever it is an argument: low, medium and high are 5, 3 and 1, and that is said."""

from typing import Any

import pytest

from tests.support.api import Api
from workspace.demo import DEMO_PROJECT_ID, DEMO_TASK_ID
from workspace.models import Requirement, Task

WORDS = [("low", 5), ("medium", 3), ("high", 1), ("High", 1)]


def priorities(schema: Any) -> list[dict[str, Any]]:
    """Return the schema of each priority among a schema's arguments, at every level."""
    if not isinstance(schema, dict):
        return []
    named = schema.get("properties", {})
    here = [named["priority"]] if "priority" in named else []
    return here + [found for part in (*named.values(), schema.get("items")) for found in priorities(part)]


def test_every_priority_is_accepted_in_words(live_catalog: Any) -> None:
    found = {path: schema for path, op in live_catalog.ops.items() for schema in priorities(op.schema)}

    assert {"onto.task.create", "onto.task.update", "onto.project.create", "onto.requirement.list"} <= set(found)
    for schema in found.values():
        assert schema.get("items", schema)["x-aliases"] == {"low": 5, "medium": 3, "high": 1}


@pytest.mark.parametrize(("word", "number"), WORDS)
def test_word_is_stored_as_its_number_with_a_warning(api: Api, word: str, number: int) -> None:
    task = api.exec("onto.task.update", {"task_id": DEMO_TASK_ID, "priority": word})
    made = api.exec(
        "onto.requirement.create", {"project_id": DEMO_PROJECT_ID, "text": "Words are read", "priority": word}
    )

    assert Task.objects.get(pk=DEMO_TASK_ID).priority == number
    assert task["result"]["task"]["priority"] == number
    assert Requirement.objects.get(text="Words are read").priority == number
    for answer in (task, made):
        assert f"Read priority as {number}." in answer["meta"]["warnings"]


def test_word_in_the_first_rows_of_a_project_is_read(api: Api) -> None:
    entity = {"temp_id": "t1", "kind": "task", "title": "Words", "priority": "high"}

    answer = api.exec(
        "onto.project.create", {"project": {"name": "P", "type_key": "project.personal.garden"}, "entities": [entity]}
    )

    assert Task.objects.get(title="Words").priority == 1
    assert answer["meta"]["warnings"] == ["Read priority as 1."]


def test_lists_are_narrowed_by_a_word(api: Api) -> None:
    in_words = api.exec("onto.requirement.list", {"priority": "high"})

    assert in_words["result"] == api.exec("onto.requirement.list", {"priority": 1})["result"]
    assert in_words["meta"]["warnings"] == ["Read priority as 1."]


def test_other_words_are_refused_and_help_stays_plain(api: Api) -> None:
    answer = api.exec("onto.task.update", {"task_id": DEMO_TASK_ID, "priority": "soon"})

    assert [each["path"] for each in answer["error"]["details"]["field_errors"]] == ["/priority"]
    assert api.help("onto.task.create")["args"]["priority"] == "integer = 3, 1..5"
    assert "x-aliases" not in str(api.help("onto.task.create", format="full", include_schemas=True))
