"""The system layer names only what is on the surface."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from chat.context import budgets
from chat.context.sections.system_prompt import add_time, build_system_prompt
from chat.context.sections.tool_names import ToolNames
from core.text import token_budget

NOW = datetime(2026, 3, 4, 23, 30, tzinfo=ZoneInfo("Europe/Berlin"))
LIST_CALL = '{"priority":[1,2],"state_key":["todo","in_progress","blocked"]}'

# Surface, tools, what they stand for; then how the example calls a list and a get, and how texts name the get.
SURFACES: list[tuple[str, list[dict[str, Any]], dict[str, str], str, str, str]] = [
    (
        "gateway",
        [{"type": "function", "function": {"name": "tool_exec"}}],
        {},
        f'tool_exec {{"op":"onto.task.list","args":{LIST_CALL}}}',
        'tool_exec {"op":"onto.task.get","args":{"task_id":"<id from that list>"}}',
        "onto.task.get",
    ),
    (
        "legacy",
        [{"name": "list_onto_tasks"}, {"name": "get_onto_task_details"}],  # as Anthropic has it
        {"list_onto_tasks": "onto.task.list", "get_onto_task_details": "onto.task.get"},
        f"list_onto_tasks {LIST_CALL}",
        'get_onto_task_details {"task_id":"<id from that list>"}',
        "get_onto_task_details",
    ),
    (  # a pinned op is called as a tool, another by its path
        "hybrid",
        [{"name": "tool_exec"}, {"name": "list_onto_tasks"}],
        {"list_onto_tasks": "onto.task.list"},
        f"list_onto_tasks {LIST_CALL}",
        'tool_exec {"op":"onto.task.get","args":{"task_id":"<id from that list>"}}',
        "onto.task.get",
    ),
    (
        "discovery",
        [{"name": "tool_exec"}],
        {},
        "",
        "",
        "a get",
    ),
    # A search that has not found the tool yet: its definition is not among the tools.
    (
        "native",
        [{"type": "tool_search"}],
        {"list_onto_tasks": "onto.task.list"},
        "",
        "",
        "a get",
    ),
]


@pytest.mark.parametrize(
    ("surface", "tools", "ops", "list_call", "get_call", "get"), SURFACES, ids=lambda each: str(each)[:9]
)
def test_system_prompt_shows_calls_of_the_surface(
    surface: str, tools: list[dict[str, Any]], ops: dict[str, str], list_call: str, get_call: str, get: str
) -> None:
    names = ToolNames({"surface": surface, "tools": tools, "ops": {name: {"op": op} for name, op in ops.items()}})
    text = build_system_prompt(names, "How to act\nWith care.", now=NOW)
    if list_call:
        assert f": {list_call}; then the short list." in text
        assert f": {get_call}; nothing else." in text
    assert ("Example." in text) is bool(list_call)
    assert names.describe("onto.task.get") == get
    assert token_budget.count(text) <= budgets.SYSTEM
    shown = {name for tool in tools for name in (tool.get("name"), tool.get("function", {}).get("name")) if name}
    for name in ("tool_help", "tool_exec", "tool_batch", "list_onto_tasks", "get_onto_task_details"):
        assert name in shown or name not in text


def test_system_prompt_ends_with_the_prompt_of_the_toolset_and_the_day() -> None:
    text = build_system_prompt(ToolNames({}), "How to act\nWith care.", now=NOW)
    assert text.endswith(
        "How to act\nWith care.\n\nToday is Wednesday, 2026-03-04 in the user's time zone, Europe/Berlin."
    )
    assert "requires_user_action" in text
    assert "_preview" in text


def test_system_prompt_says_the_day_once_if_the_toolset_says_it_too() -> None:
    assert build_system_prompt(ToolNames({}), "Today is 2026-03-04.", now=NOW).count("2026-03-04") == 1


def test_time_stands_in_the_last_message_so_that_what_is_before_it_can_be_cached() -> None:
    assert add_time("Which tasks are late?", NOW) == "Which tasks are late?\n\n[Sent 2026-03-04 23:30, UTC+01:00]"
    later = NOW.replace(minute=45)
    assert build_system_prompt(ToolNames({}), "", now=NOW) == build_system_prompt(ToolNames({}), "", now=later)


@pytest.mark.parametrize(
    ("words", "has_example", "has_prompt"), [(150, True, True), (270, False, True), (900, False, False)]
)
def test_system_prompt_leaves_out_whole_parts_to_fit(words: int, has_example: bool, has_prompt: bool) -> None:
    tools = ToolNames({"surface": "gateway", "tools": [{"name": "tool_exec"}]})
    text = build_system_prompt(tools, "Care. " + "word " * words, now=NOW)
    assert ("Example." in text, "Care." in text) == (has_example, has_prompt)
    assert token_budget.count(text) <= budgets.SYSTEM
    assert "2026-03-04" in text
