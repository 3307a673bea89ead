"""Plans without a model, on the shipped catalog: what messages want, and which tools are chosen for them."""

from typing import Any

import pytest
from django.apps import apps

from gateway.access.request_context import UserContext
from gateway.toolset.conversation import ToolsetConversation
from gateway.toolset.selection import candidates, heuristics, selector
from gateway.toolset.selection.candidates import ToolCategory, get_category
from gateway.toolset.selection.heuristics import SelectionMode, SelectionPlan
from gateway.toolset.selection.message_intent import Intent, detect_message_intent
from gateway.toolset.shown_tools import ToolsetRequest
from registry.catalog.builder import build_catalog
from registry.catalog.model import FULL_VISIBILITY, Catalog, Visibility
from registry.files import loader
from registry.help.typed_tools import TypedTools

if not apps.is_installed("workspace"):
    pytest.skip("by design: selects among the workspace's ops", allow_module_level=True)


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return build_catalog("v" * 64, loader.read_shipped_catalog())


def select(
    catalog: Catalog,
    message: str,
    context: str = "project",
    *,
    entity_type: str = "",
    visibility: Visibility = FULL_VISIBILITY,
    max_tokens: int = 6_000,
    plan: SelectionPlan | None = None,
) -> selector.ToolSelectionResult:
    request = ToolsetRequest(
        visibility, UserContext(context, entity_type=entity_type), conversation=ToolsetConversation(message)
    )
    pool = candidates.list_candidates(catalog, request)
    plan = plan or heuristics.plan_selection(request, pool, catalog)
    return selector.compose_selection(plan, pool, catalog, request, max_tokens=max_tokens)


def build_plan(**fields: Any) -> SelectionPlan:
    defaults = {
        "mode": SelectionMode.LLM,
        "intent": Intent.MIXED,
        "tool_categories": frozenset(),
        "required_tools": (),
        "optional_tools": (),
        "confidence": 0.9,
    }
    return SelectionPlan(**defaults | fields)


@pytest.mark.parametrize(
    ("message", "intent"),
    [
        ("What is overdue?", Intent.READ),
        ("Show me the risks and list the milestones", Intent.READ),
        ("Delete the old plan", Intent.WRITE),
        ("Which tasks are blocked? Create one for the plumber.", Intent.MIXED),
        ("get rid of the second one", Intent.WRITE),  # "get" alone would read
        ("What are my open tasks in this project?", Intent.READ),  # "open" is no verb here
        ("Find two hours on Thursday and book them", Intent.MIXED),
        ("Can you move it to Friday?", Intent.WRITE),
        ("thanks, that's perfect!", Intent.READ),
        ("Welche Aufgaben sind überfällig?", Intent.READ),
        ("Markiere die erste als erledigt", Intent.WRITE),
        ("Quelles sont les tâches en retard ?", Intent.READ),
        ("supprime la deuxième", Intent.WRITE),
        ("¿Qué riesgos hay?", Intent.READ),
        ("añade una tarea para comprar pan", Intent.WRITE),
        ("Hvilke oppgaver er forsinket?", Intent.READ),  # of an unknown language, reads are shown
        ("and this one too", Intent.MIXED),
    ],
)
def test_intent_of_a_message(message: str, intent: Intent) -> None:
    assert detect_message_intent(message).intent == intent


def test_read_shows_no_writes(catalog: Catalog) -> None:
    assert not any(op.is_write for op in select(catalog, "Which tasks are overdue?").ops)


def test_write_shows_the_op_with_its_lookups(catalog: Catalog) -> None:
    names = {op.tool_name for op in select(catalog, "Mark the printer task as done").ops}

    assert {"update_onto_task", "search_onto_tasks", "list_onto_tasks"} <= names


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("Rename the document", set()),
        ("Search the web for the opening hours of the town hall", {"web_search", "web_visit"}),
        ("What can you do for me?", {"get_buildos_overview", "get_buildos_usage_guide"}),
        ("How does BuildOS work?", {"get_buildos_overview", "get_buildos_usage_guide"}),
    ],
)
def test_web_and_product_help_only_when_asked_for(catalog: Catalog, message: str, shown: set[str]) -> None:
    gated = {
        op.tool_name for op in catalog.ops.values() if get_category(op) in (ToolCategory.WEB, ToolCategory.PRODUCT_HELP)
    }

    names = {op.tool_name for op in select(catalog, message).ops}

    assert names & gated <= shown
    assert not shown or names & shown


def test_project_creation_always_has_its_tool(catalog: Catalog) -> None:
    assert select(catalog, "hello", "project_create").ops[0].op == "onto.project.create"
    assert "create_onto_project" in select(catalog, "Start a new project for the garden", "global").required
    assert "create_onto_project" in select(catalog, "Start a new project for the garden", "brain_dump").required


@pytest.mark.parametrize("context", ["project_audit", "project_forecast"])
def test_audits_and_forecasts_get_no_write(catalog: Catalog, context: str) -> None:
    assert not any(op.is_write for op in select(catalog, "Mark all tasks as done", context).ops)


def test_focus_keeps_the_tools_of_its_kind(catalog: Catalog) -> None:
    request = ToolsetRequest(
        FULL_VISIBILITY, UserContext("project", entity_type="risk"), conversation=ToolsetConversation("make it high")
    )
    named = ToolsetRequest(
        FULL_VISIBILITY,
        UserContext("project", entity_type="risk"),
        conversation=ToolsetConversation("make a task of it"),
    )

    pool = {op.tool_name for op in candidates.list_candidates(catalog, request)}

    assert {"update_onto_risk", "get_onto_task_details", "get_onto_project_details"} <= pool
    assert not {"update_onto_task", "search_onto_tasks", "create_onto_goal"} & pool
    assert "create_onto_task" in {op.tool_name for op in candidates.list_candidates(catalog, named)}


@pytest.mark.parametrize(
    ("message", "named"),
    [
        ("I need to call Anna about our target", set()),
        ("What action comes next, and who needs it?", set()),
        ("Add an action item and a note", {"task", "document"}),
        ("Two risks threaten the goal", {"risk", "goal"}),
    ],
)
def test_everyday_nouns_name_no_kind_of_row(catalog: Catalog, message: str, named: set[str]) -> None:
    assert candidates.find_named_entities(message, catalog) == named


def test_selection_stays_within_its_budget_but_keeps_what_is_required(catalog: Catalog) -> None:
    tools = TypedTools.of(catalog)
    small = select(catalog, "Which tasks are overdue?", max_tokens=1_500)
    plan = build_plan(required_tools=("create_onto_project",))

    assert sum(tools[op.op].tokens for op in small.ops) <= 1_500
    assert select(catalog, "x", plan=plan, max_tokens=500).required == ("create_onto_project",)


def test_plan_of_a_model_is_held_to_what_exists_and_is_allowed(catalog: Catalog) -> None:
    plan = build_plan(
        required_tools=("find_available_slots", "send_email", "delete_onto_task"),
        optional_tools=("list_onto_tasks", "list_onto_tasks", "fly"),
    )
    reader = Visibility(kinds=frozenset({"read"}))

    result = select(catalog, "x", "project_create", plan=plan, visibility=reader)

    assert result.added == ("find_available_slots", "list_onto_tasks")  # from outside the context
    assert result.dropped == ("send_email", "delete_onto_task", "fly")
    assert not any(op.is_write for op in result.ops)


def test_required_tool_that_the_intent_excludes_is_told(catalog: Catalog) -> None:
    plan = build_plan(intent=Intent.READ, required_tools=("list_onto_tasks", "delete_onto_task"))

    result = select(catalog, "x", plan=plan)

    assert (result.required, result.dropped) == (("list_onto_tasks",), ("delete_onto_task",))


def test_low_confidence_widens_the_pool(catalog: Catalog) -> None:
    sure = select(catalog, "x", plan=build_plan(optional_tools=("list_onto_tasks",)))
    unsure = select(catalog, "x", plan=build_plan(optional_tools=("list_onto_tasks",), confidence=0.5))

    assert sure.optional == ("list_onto_tasks",)
    assert len(unsure.ops) > 10


def test_every_shipped_op_has_a_category(catalog: Catalog) -> None:
    by_category = {
        category: [op.op for op in catalog.ops.values() if get_category(op) == category] for category in ToolCategory
    }

    assert all(by_category.values())
    assert by_category[ToolCategory.PRODUCT_HELP] == ["util.buildos.overview", "util.buildos.usage_guide"]
    assert "cal.task.schedule" in by_category[ToolCategory.CALENDAR]
