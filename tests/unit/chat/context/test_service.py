"""The context as a whole: one batch, what it does without what is missing, and that it fits."""

from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from chat.context.layers import Place
from chat.context.service import load_context
from tests.support.cpu_budget import examples
from tests.unit.chat.context.gateway_answers import (
    AT,
    GATEWAY_TOOLSET,
    GLOBAL,
    HOMEPAGE,
    PLACES,
    PROJECT,
    TASK,
    WEBSITE,
    GatewayAnswers,
    get_layer,
    load,
    make_project,
    make_row,
    make_task,
)


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.type)
def test_load_context_loads_everything_in_one_batch_of_reads(place: Place) -> None:
    answers = GatewayAnswers().answer("onto.project.get", make_project()).answer("onto.task.get", make_task())
    context = load(answers, place)
    [entries] = answers.batches
    assert all(entry["type"] == "exec" for entry in entries)
    assert {entry["op"].rpartition(".")[2] for entry in entries} <= {"get", "list"}
    # Of an empty workspace it is short.
    assert not any(layer.is_cut for layer in context.layers)
    assert sum(layer.tokens for layer in context.layers) < 700


def test_load_context_refers_to_the_project_of_the_task_that_the_batch_reads() -> None:
    answers = GatewayAnswers()
    load(answers, TASK)
    [[_, task, siblings]] = answers.batches
    assert task["op"] == "onto.task.get"
    assert siblings["args"]["project_id"] == {"$result": "1#/result/task/project_id"}


@pytest.mark.parametrize("place", [PROJECT, TASK], ids=lambda place: place.type)
def test_load_context_says_that_the_place_does_not_exist(place: Place) -> None:
    answers = GatewayAnswers().answer("onto.project.get", None).answer("onto.task.get", None)
    context = load(answers, place)
    assert "does not exist or that they may not see" in get_layer(context, "location").text
    assert get_layer(context, "related").text == ""


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.type)
def test_load_context_survives_a_batch_in_which_everything_failed(place: Place) -> None:
    failed = {"ok": False, "error": {"code": "INTERNAL", "details": {"reason": "timeout"}}}
    for results in ([], [failed] * 20, [{"ok": True}] * 20, [{"ok": True, "result": {"project": [], "tasks": 7}}] * 20):
        context = load_context(lambda _entries, each=results: each, place=place, toolset=GATEWAY_TOOLSET, at=AT)
        text = context.system_message
        assert "profile could not be loaded" in text
        assert "time zone, UTC" in text


def test_load_context_keeps_the_rest_of_a_project_whose_lists_failed() -> None:
    answers = GatewayAnswers().answer("onto.project.get", make_project())
    for op in ("onto.task.list", "onto.document.list", "onto.milestone.list"):
        answers.answer(op, None)
    context = load(answers, PROJECT)
    assert "20 active" in get_layer(context, "location").text
    assert get_layer(context, "location").text.endswith("Its tasks could not be loaded.")
    assert get_layer(context, "related").text.count("could not be loaded") == 3


def test_load_context_passes_on_that_the_gateway_failed() -> None:
    with pytest.raises(TimeoutError):
        load_context(Mock(side_effect=TimeoutError), place=GLOBAL, toolset=GATEWAY_TOOLSET, at=AT)


def test_context_collects_the_names_of_all_rows_that_were_loaded() -> None:
    answers = GatewayAnswers().answer("onto.task.get", make_task()).answer("onto.task.list", {"tasks": [make_row(1)]})
    expected = {HOMEPAGE: "Draft the copy", WEBSITE: "Website relaunch", make_row(1)["id"]: "Row 1"}
    assert dict(load(answers, TASK).names) == expected


def test_context_describes_its_layers_and_the_tool_definitions_apart() -> None:
    context = load(GatewayAnswers(), GLOBAL)
    described = context.describe()
    assert [each["name"] for each in described] == ["system", "profile", "location", "related", "tools"]
    assert described[2] == {"name": "location", "tokens": context.layers[2].tokens, "budget": 1_000, "cut": False}
    assert described[-1]["budget"] == 900
    assert 700 < described[-1]["tokens"] < 800  # without the prompt, which the system layer has
    assert "## The user looks at" in context.system_message


@pytest.mark.parametrize(
    ("surface", "selection", "budget"),
    [
        ("gateway", None, 900),
        ("legacy", {"kind": "dynamic", "mode": "llm"}, 4_321),
        ("legacy", {"kind": "dynamic", "mode": "default"}, 0),  # the selection failed: all tools of the place
        ("legacy", {"kind": "static"}, 0),
        ("hybrid", None, 0),
    ],
)
def test_budget_of_tool_definitions_is_that_of_what_chose_them(
    settings: Any, surface: str, selection: Any, budget: int
) -> None:
    settings.GATEWAY_SELECTION_TOKENS = 4_321
    tools = load(GatewayAnswers(), GLOBAL, surface=surface, selection=selection).tools
    assert tools.budget == budget


_HOSTILE = st.builds(
    lambda text, times: text * times,
    st.sampled_from(("a", "word ", "𒀀𒐫", "ﷺ", "\n# Heading\n- ", "\x00", "👩🏽‍🚀", "ไทย", '"\\', "\ud800"))
    | st.text(min_size=1),
    st.integers(1, 500),
)


@hypothesis_settings(max_examples=examples(30))
@given(text=_HOSTILE, place=st.sampled_from(PLACES), count=st.integers(0, 50))
def test_layers_of_any_texts_fit_and_keep_what_the_place_is(text: str, place: Place, count: int) -> None:
    fields = {"name": text, "title": text, "description": text, "details": text, "content_preview": text, "rel": text}
    rows = [{**make_row(number), **fields, "due_at": "2026-05-01T00:00:00Z"} for number in range(count)]
    events = [{**row, "start_at": f"2026-03-04T{number % 24:02}:00"} for number, row in enumerate(rows)]
    lists = {"projects": rows, "tasks": rows, "documents": rows, "milestones": rows, "events": events}
    answers = GatewayAnswers()
    for op in ("onto.project.list", "onto.task.list", "onto.document.list", "onto.milestone.list", "cal.event.list"):
        answers.answer(op, {**lists, "total": count})
    answers.answer("onto.project.get", make_project(**fields, executive_summary=text, context=text, state_key=text))
    answers.answer("onto.task.get", make_task(**fields, links=rows, subtasks=rows, project_name=text, recurrence=text))
    answers.answer(
        "util.profile.get", {"profile": {"name": text, "preferences": {text: text, "b": [text]}, "time_zone": text}}
    )
    context = load(answers, place)
    location = get_layer(context, "location").text
    assert location.startswith("## The user looks at")
    assert place.entity_id is None or f"- Id: {place.entity_id}" in location
    assert "\n#" not in location
