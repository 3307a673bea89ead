"""Plans without a model, on the shipped catalog: what messages want, and which tools are chosen for them."""

from typing import Any

import pytest
from django.apps import apps

from gateway.access.request_context import UserContext
from gateway.toolset.conversation import ToolsetConversation
from gateway.toolset.selection import candidates, heuristics, selector
from gateway.toolset.selection.candidates import ToolCategory, get_category
from gateway.toolset.selection.heuristics import Intent, SelectionMode, SelectionPlan
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


def plan(
    catalog: Catalog, message: str, *earlier: str, recent_tools: tuple[str, ...] = (), context: str = "project"
) -> SelectionPlan:
    messages = tuple((("user", "assistant")[at % 2], text) for at, text in enumerate(earlier))
    conversation = ToolsetConversation(message, messages, recent_tools)
    request = ToolsetRequest(FULL_VISIBILITY, UserContext(context), conversation=conversation)
    return heuristics.plan_selection(request, candidates.list_candidates(catalog, request), catalog)


@pytest.mark.parametrize(
    ("message", "is_read"),
    [
        ("What is overdue?", True),
        ("Show me the risks and list the milestones", True),
        ("Delete the old plan", False),
        ("Which tasks are blocked? Create one for the plumber.", False),
        ("get rid of the second one", False),  # "get" alone would read
        ("What are my open tasks in this project?", True),  # "open" is no verb here
        ("Find two hours on Thursday and book them", False),
        ("Can you move it to Friday?", False),
        ("what did we agree on, it must be in some note", True),
        ("no need for the raffle any more", False),
        ("thanks, that's perfect!", True),
        ("Welche Aufgaben sind überfällig?", True),
        ("Markiere die erste als erledigt", False),
        ("Quelles sont les tâches en retard ?", True),
        ("supprime la deuxième", False),
        ("¿Qué riesgos hay?", True),
        ("añade una tarea para comprar pan", False),
    ],
)
def test_intent_of_a_message(catalog: Catalog, message: str, is_read: bool) -> None:
    assert (plan(catalog, message).intent == Intent.READ) == is_read


@pytest.mark.parametrize(
    ("message", "asked", "question"),
    [
        ("yes do", "Delete the rain risk", "Shall I delete it?"),
        ("ja, kann weg", "Lösch das Risiko Regen", "Soll ich es löschen?"),
        ("oui oui", "supprime le risque", "Je supprime ?"),
        ("claro que sí", "borra el riesgo", "¿Lo elimino?"),
    ],
)
def test_answer_to_a_question_continues_the_request_before(
    catalog: Catalog, message: str, asked: str, question: str
) -> None:
    answered = plan(catalog, message, asked, question, recent_tools=("search_onto_risks", "delete_onto_risk"))

    assert answered.intent != Intent.READ
    assert "delete_onto_risk" in answered.required_tools


@pytest.mark.parametrize("message", ["he prefers 4", "no, only the morning", "thursday after all", "15, sorry"])
def test_statement_after_a_change_corrects_it(catalog: Catalog, message: str) -> None:
    corrected = plan(catalog, message, "Add a call with Jon", "Added.", recent_tools=("create_calendar_event",))

    assert "update_calendar_event" in corrected.required_tools


@pytest.mark.parametrize("message", ["what else is on that day?", "show me the others", "thanks, very kind"])
def test_question_and_thanks_after_a_change_only_read(catalog: Catalog, message: str) -> None:
    asked = plan(catalog, message, "Add a call with Jon", "Added.", recent_tools=("create_calendar_event",))

    assert asked.intent == Intent.READ


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


def test_thanks_for_a_created_project_only_read(catalog: Catalog) -> None:
    earlier = "a project for the shed", "Created Shed."

    thanked = plan(
        catalog, "thanks, that's all", *earlier, recent_tools=("create_onto_project",), context="project_create"
    )

    assert thanked.intent == Intent.READ


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

    whole = sum(tools[op.op].tokens for op in small.ops if op.tool_name in small.required)
    brief = sum(tools[op.op].brief_tokens for op in small.ops if op.tool_name in small.optional)
    assert brief
    assert whole + brief <= 1_500
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
