"""Names of imported tools take over no calls that are meant for the ops that were there."""

from itertools import chain
from typing import Any

import pytest

from gateway.contracts import tool_definitions
from gateway.execution import op_guesses
from registry import search
from registry.catalog import builder
from registry.catalog.model import BUILT_IN_CONNECTIONS, FULL_VISIBILITY, Catalog
from registry.checks import surface_copy
from registry.files import loader
from registry.imports import mcp_import, run_import
from registry.models import Connection, Op, Vocabulary
from registry.search import tokenizer
from registry.snapshot import snapshot
from tests.support.upstreams.mcp_listing import build_tool

pytestmark = pytest.mark.django_db

TAKEN = ("onto_task_list", "OntoTaskList", "add_task", "task_create", "tool_exec", "Tool-Help", "search_tools")
FREE = ("wire_money", "get_weather_of_moon")
SUMMARY = "Create a task in a project."


@pytest.fixture
def shipped(db: None) -> None:
    loader.load_into_draft(loader.read_shipped_catalog())
    Connection.objects.create(name="todo", kind=Connection.Kind.MCP, base_url="https://todo.example/mcp")


def import_tools(*names: str, description: str = "Wire money.") -> run_import.ImportResult:
    tools = [build_tool(name, description) for name in names]
    source = mcp_import.build_source(tools, group="todo", needs_subject=False)
    return run_import.import_ops(source, group="todo", connection="todo")


def build_draft_catalog() -> Catalog:
    return builder.build_catalog("", snapshot.snapshot_draft())


def test_a_name_that_means_another_op_gets_the_connection_as_prefix(shipped: None) -> None:
    done = import_tools(*TAKEN, *FREE)

    tool_names = dict(Op.objects.filter(source="todo").values_list("upstream_name", "tool_name"))
    assert tool_names == {name: f"todo_{name}" for name in TAKEN} | {"": FREE[1]}
    assert set(Op.objects.filter(source="todo", upstream_name="").values_list("tool_name", flat=True)) == set(FREE)
    assert done.remarks[run_import.PREFIXED] == list(TAKEN)
    catalog = build_draft_catalog()
    for name in ("onto_task_list", "add_task", "task_create", "onto.task.list"):
        assert op_guesses.resolve_name(catalog, name).startswith("onto.task."), name
    assert not list(surface_copy.find_errors(snapshot.snapshot_draft(), names=catalog.names))


def test_a_name_in_words_of_the_vocabulary_gets_the_connection_as_prefix(shipped: None) -> None:
    Vocabulary.objects.filter(kind="entity", meaning="task").update(words=["errand"])

    import_tools("add_errand", "add_ticket")

    names = set(Op.objects.filter(source="todo").values_list("tool_name", flat=True))
    assert names == {"todo_add_errand", "add_ticket"}


def test_a_name_that_was_cleaned_or_numbered_too_takes_no_calls(shipped: None) -> None:
    import_tools("task/create", "add task", "add_task")

    catalog = build_draft_catalog()
    tool_names = set(Op.objects.filter(source="todo").values_list("tool_name", flat=True))
    assert tool_names == {"todo_task_create", "todo_add_task", "todo_add_task_2"}
    for name in ("task/create", "add task", "add_task", "task_create"):
        assert not str(catalog.names.get(name, "")).startswith("todo."), name
    assert not set(chain.from_iterable(Op.objects.filter(source="todo").values_list("keywords", flat=True)))


def test_importing_again_keeps_paths_and_names(shipped: None) -> None:
    import_tools(*FREE)
    before = set(Op.objects.filter(source="todo").values_list("op", "tool_name"))
    Op.objects.filter(op="onto.task.create").update(tool_name=FREE[0].upper())  # taken since then

    import_tools(*FREE, "add_task")

    after = set(Op.objects.filter(source="todo").values_list("op", "tool_name"))
    assert before < after
    assert {name for _, name in after - before} == {"todo_add_task"}


def test_tools_with_the_same_words_do_not_push_out_the_op_that_was_there(shipped: None) -> None:
    import_tools("create_task_in_project", "project_task_create", "new_task", description=SUMMARY)
    catalog = build_draft_catalog()

    found = search.find_ops(catalog, catalog.view_for(FULL_VISIBILITY), SUMMARY.rstrip("."), limit=3)

    assert "onto.task.create" in found


def test_a_copied_summary_holds_back_its_op_and_the_rest_is_imported(shipped: None) -> None:
    copied = Op.objects.get(op="onto.task.create").summary

    done = import_tools("wire_it", description=copied)

    held = Op.objects.get(source="todo")
    assert held.status == Op.Status.RETIRED
    assert done.remarks[run_import.HELD_BACK] == ["wire_it"]
    Op.objects.filter(pk=held.pk).update(summary="Wire a sum to the moon", status=Op.Status.ACTIVE)
    import_tools("wire_it", description=copied)
    held.refresh_from_db()
    assert (held.status, held.summary) == (Op.Status.ACTIVE, "Wire a sum to the moon")


def test_a_summary_that_becomes_a_copy_later_holds_back_its_op(shipped: None) -> None:
    copied = Op.objects.get(op="onto.task.create").summary
    import_tools("wire_it", "wire_own")
    Op.objects.filter(tool_name="wire_own").update(summary="Wire a sum to the moon")

    done = import_tools("wire_it", "wire_own", description=copied)

    states = dict(Op.objects.filter(source="todo").values_list("tool_name", "status"))
    assert states == {"wire_it": Op.Status.RETIRED, "wire_own": Op.Status.ACTIVE}
    assert done.remarks[run_import.HELD_BACK] == ["wire_it"]


@pytest.mark.parametrize(
    ("first_is_copy", "chosen"), [(True, Op.Status.ACTIVE), (False, Op.Status.ACTIVE), (False, Op.Status.RETIRED)]
)
def test_a_copy_keeps_the_status_that_an_admin_chose(shipped: None, first_is_copy: bool, chosen: Op.Status) -> None:
    first, second = (Op.objects.get(op=f"onto.task.{verb}").summary for verb in ("create", "delete"))
    import_tools("wire_it", description=first if first_is_copy else "Wire money.")
    if not first_is_copy and chosen == Op.Status.ACTIVE:  # held back by a later text
        import_tools("wire_it", description=first)
    Op.objects.filter(source="todo").update(status=chosen)

    done = import_tools("wire_it", description=second)

    assert run_import.HELD_BACK not in done.remarks
    assert done.remarks[run_import.SIMILAR] == ["wire_it"]
    for description in (second, "Wire money."):
        import_tools("wire_it", description=description)
        assert Op.objects.get(source="todo").status == chosen


def test_reserved_names_are_those_of_the_product() -> None:
    definitions: list[dict[str, Any]] = [*tool_definitions.GATEWAY_TOOLS, tool_definitions.SEARCH_TOOL]

    assert {each["name"] for each in definitions} | {surface_copy.DISCOVER_AGENTS} == surface_copy.PRODUCT_TOOLS
    assert {each["name"] for each in tool_definitions.GATEWAY_TOOLS} == surface_copy.GATEWAY_TOOLS
    assert {op["connection"] for op in loader.read_shipped_catalog()["ops"]} == BUILT_IN_CONNECTIONS
    assert tokenizer.normalise_name("Tool-Exec") == tokenizer.normalise_name("tool_exec")
