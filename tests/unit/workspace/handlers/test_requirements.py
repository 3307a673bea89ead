"""The generic ops on requirements, which have no state and no description."""

from typing import Any

from tests.support.loops import for_each
from tests.support.rows.factories import RequirementFactory
from tests.support.values.handler_calls import call_handler, list_field_errors
from workspace.models import Project, Requirement


def test_create_returns_the_stored_row(project: Project) -> None:
    row = call_handler("create_onto_requirement", project_id=str(project.pk), text="Fast", priority=1).result[
        "requirement"
    ]

    assert (row["text"], row["priority"], row["type_key"], row["props"]) == ("Fast", 1, "requirement.default", {})
    assert row.keys().isdisjoint({"state_key", "description", "completed_at"})
    assert row["id"] == str(Requirement.objects.get().pk)


@for_each("tool", ["list_onto_requirements", "search_onto_requirements"], undone=True)
def test_lists_filter_by_priority_and_type(project: Project, tool: str) -> None:
    RequirementFactory(project=project, text="word A", priority=1)
    RequirementFactory(project=project, text="word B", priority=1, type_key="requirement.legal")
    RequirementFactory(project=project, text="word C", priority=5)

    def texts(**args: object) -> set[str]:
        return {row["text"] for row in call_handler(tool, query="word", **args).result["requirements"]}

    assert texts() == {"word A", "word B", "word C"}
    assert texts(priority=1) == {"word A", "word B"}
    assert texts(priority=1, type_key="requirement.legal") == {"word B"}
    assert texts(priority=2) == set()


def test_update_changes_the_sent_fields_and_refuses_blank_text(project: Project) -> None:
    id = str(RequirementFactory(project=project, text="Old", priority=2, props={"a": 1}).pk)

    def update(**sent: Any) -> Any:
        return call_handler("update_onto_requirement", requirement_id=id, **sent)

    row = update(text="New", props={"b": 2}, fields=["priority"]).result["requirement"]
    assert (row["text"], row["priority"], row["props"]) == ("New", 2, {"a": 1, "b": 2})
    assert list_field_errors(lambda: update(text=" ")) == [("/text", "blank")]
