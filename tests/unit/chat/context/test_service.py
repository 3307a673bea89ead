"""The layers of each place: what they show, what they do without what is missing, and that they fit."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chat.context import budgets
from chat.context.place import Place
from chat.context.service import Context, Layer, load_context
from tests.support.cpu_budget import examples
from tests.unit.chat.context.gateway_answers import GATEWAY_TOOLSET, HOMEPAGE, PROFILE, WEBSITE, GatewayAnswers

AT = datetime(2026, 3, 4, 22, 30, tzinfo=UTC)  # in Berlin, a Wednesday, half past eleven in the evening
PROJECT = Place("project", project_id=WEBSITE)
TASK = Place("task", project_id=WEBSITE, entity_id=HOMEPAGE)
CALENDAR, GLOBAL = Place("calendar"), Place("global")
PLACES = (PROJECT, TASK, CALENDAR, GLOBAL)


def _load(answers: GatewayAnswers, place: Place, **toolset: Any) -> Context:
    context = load_context(answers, place=place, toolset={**GATEWAY_TOOLSET, **toolset}, at=AT)
    assert [layer.name for layer in context.layers] == ["system", "profile", "location", "related"]
    for layer in context.layers:
        assert layer.tokens <= layer.budget, layer
    return context


def _get_layer(context: Context, name: str) -> Layer:
    return next(layer for layer in context.layers if layer.name == name)


def _read(answers: GatewayAnswers, place: Place, layer: str = "location") -> str:
    return _get_layer(_load(answers, place), layer).text


def _project(**fields: Any) -> Mapping[str, Any]:
    counts = {"task_count": 24, "active_task_count": 20, "completed_task_count": 4, "completion_percentage": 17}
    return {"project": {"id": WEBSITE, "name": "Website relaunch", "state_key": "active", **counts, **fields}}


def _task(**fields: Any) -> Mapping[str, Any]:
    row = {"id": HOMEPAGE, "title": "Draft the copy", "state_key": "todo", "priority": 1, "project_id": WEBSITE}
    return {"task": {**row, "project_name": "Website relaunch", "subtasks": [], "links": [], **fields}}


def _row(number: int, **fields: Any) -> dict[str, Any]:
    return {"id": f"00000000-0000-4000-8000-{number:012}", "title": f"Row {number}", "priority": 2, **fields}


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.type)
def test_load_context_loads_everything_in_one_batch_of_reads(place: Place) -> None:
    answers = GatewayAnswers()
    _load(answers, place)
    [entries] = answers.batches
    assert all(entry["type"] == "exec" for entry in entries)
    assert {entry["op"].rpartition(".")[2] for entry in entries} <= {"get", "list"}


def test_load_context_refers_to_the_project_of_the_task_that_the_batch_reads() -> None:
    answers = GatewayAnswers()
    _load(answers, TASK)
    [[_, task, siblings]] = answers.batches
    assert task["op"] == "onto.task.get"
    assert siblings["args"]["project_id"] == {"$result": "1#/result/task/project_id"}


def test_location_of_a_project_shows_its_facts_texts_and_tasks() -> None:
    answers = GatewayAnswers().answer(
        "onto.project.get",
        _project(
            start_at="2026-02-01T09:00:00Z", executive_summary="On track.", description="A new site.", context="Staging"
        ),
    )
    answers.answer("onto.task.list", {"tasks": [_row(1, due_at="2026-03-06T23:30:00Z", is_overdue=True), _row(2)]})
    assert _read(answers, PROJECT).splitlines() == [
        "## The user looks at the project Website relaunch",
        f"- Id: {WEBSITE}",
        "- State: active, 17% complete",
        "- Period: 2026-02-01 to not set",
        "- Tasks: 20 active, 4 done, 24 total",
        "- Summary: On track.",
        "- Description: A new site.",
        "- Context: Staging",
        "Most urgent open tasks, [priority] title (date):",
        "- [2] Row 1 (2026-03-07, overdue) 00000000-0000-4000-8000-000000000001",
        "- [2] Row 2 00000000-0000-4000-8000-000000000002",
    ]


def test_location_of_a_project_shows_500_characters_of_its_context_with_a_marker() -> None:
    context = "".join(f"{number:04} " for number in range(200)).strip()
    text = _read(GatewayAnswers().answer("onto.project.get", _project(context=context)), PROJECT)
    assert f"- Context: {context[:500]}… [500 of 999 characters]" in text
    assert "- The rest of a text: onto.project.get" in text


def test_location_counts_the_characters_that_the_gateway_left_out() -> None:
    truncated = {"context": {"shown": 600, "length": 90_000, "next_offset": 600}}
    text = _read(GatewayAnswers().answer("onto.project.get", _project(context="a" * 600, truncated=truncated)), PROJECT)
    assert "a… [500 of 90,000 characters]" in text


def test_location_of_a_task_shows_its_facts_and_100_characters_of_each_text() -> None:
    fields = {"due_at": "2026-03-06T17:00:00Z", "duration_minutes": 90, "recurrence": "weekly", "subtasks": [{}, {}]}
    text = _read(GatewayAnswers().answer("onto.task.get", _task(description="d" * 150, details="ok", **fields)), TASK)
    assert text.splitlines() == [
        "## The user looks at the task Draft the copy",
        f"- Id: {HOMEPAGE}",
        "- State: todo, priority 1",
        f"- Project: Website relaunch {WEBSITE}",
        "- Date: due 2026-03-06",
        "- Minutes: 90",
        "- Recurrence: weekly",
        f"- Description: {'d' * 100}… [100 of 150 characters]",
        "- Details: ok",
        "- The rest of a text: onto.task.get",
        "- Subtasks: 2",
    ]


def test_location_of_the_calendar_shows_hours_and_events_by_day() -> None:
    events = [
        {"id": "e1", "title": "Focus", "start_at": "2026-03-05T08:00", "end_at": "2026-03-05T10:00"},
        {"id": "e2", "title": "Rent", "start_at": "2026-03-06", "end_at": "2026-03-06", "is_all_day": True},
        {"id": "e1", "title": "Focus", "start_at": "2026-03-06T08:00", "end_at": "2026-03-06T10:00"},
    ]
    text = _read(GatewayAnswers().answer("cal.event.list", {"events": events, "total": 34}), CALENDAR)
    assert text.splitlines() == [
        "## The user looks at the calendar",
        "- Working hours: mon-thu 09:00-12:30, 13:30-17:30; fri 09:00-13:00; sat-sun off",
        "Next seven days:",
        "Thu 2026-03-05",
        "- 08:00-10:00 Focus e1",
        "Fri 2026-03-06",
        "- all day Rent e2",
        "- 08:00-10:00 Focus",
        "3 of 34 events; cal.event.list reads on.",
    ]


def test_location_without_a_place_shows_projects_tasks_and_the_events_of_the_users_day() -> None:
    project = {
        "id": WEBSITE,
        "name": "Website relaunch",
        "state_key": "active",
        "task_count": 24,
        "active_task_count": 20,
    }
    events = [
        {"id": "yesterday", "title": "A", "start_at": "2026-03-03T22:00", "end_at": "2026-03-04T00:00"},
        {"id": "night", "title": "B", "start_at": "2026-03-03T23:00", "end_at": "2026-03-04T01:00"},
        {"id": "days", "title": "C", "start_at": "2026-03-02", "end_at": "2026-03-04", "is_all_day": True},
        {"id": "tomorrow", "title": "D", "start_at": "2026-03-05T08:00", "end_at": "2026-03-05T09:00"},
    ]
    answers = (
        GatewayAnswers()
        .answer("onto.project.list", {"projects": [project]})
        .answer("cal.event.list", {"events": events})
    )
    assert _read(answers, GLOBAL).splitlines() == [
        "## The user looks at no project or task",
        "Projects updated last:",
        f"- Website relaunch (active, 20 active of 24 tasks) {WEBSITE}",
        "Most urgent open tasks, [priority] title (date): none.",
        "Events today:",
        "- 23:00-01:00 B night",
        "- all day C days",
    ]


def test_related_of_a_project_shows_the_next_milestone_notes_and_brain_dumps() -> None:
    def list_documents(args: Mapping[str, Any]) -> Mapping[str, Any]:
        return {
            "documents": [
                _row(number, title=f"{args['type_key']} {number}", content_preview="b" * 90) for number in range(4)
            ]
        }

    def list_milestones(args: Mapping[str, Any]) -> Mapping[str, Any]:
        days = {
            "pending": (None, "2026-01-01T00:00:00Z", "2026-05-01T00:00:00Z"),
            "in_progress": ("2026-04-01T00:00:00Z",),
        }
        return {"milestones": [_row(1, title="Live", due_at=day) for day in days[args["state_key"]]]}

    answers = GatewayAnswers().answer("onto.project.get", _project()).answer("onto.document.list", list_documents)
    lines = _read(answers.answer("onto.milestone.list", list_milestones), PROJECT, "related").splitlines()
    assert lines[1] == "- Next milestone: Live (2026-04-01) 00000000-0000-4000-8000-000000000001"
    names = ["Note: document.note", "Brain dump: document.brain_dump"]
    assert [line[2:].partition(" –")[0] for line in lines[2:]] == [f"{name} {n}" for name in names for n in range(3)]
    assert "b" * 79 + "… 0000" in lines[2]


def test_related_of_a_task_shows_links_in_both_directions_and_siblings_without_itself() -> None:
    links = [
        {"id": "g1", "kind": "goal", "name": "Visits", "rel": "supports_goal", "direction": "outgoing"},
        {"id": "t2", "kind": "task", "title": "Check", "rel": "depends_on", "direction": "incoming"},
    ]
    answers = GatewayAnswers().answer("onto.task.get", _task(links=links))
    answers.answer("onto.task.list", {"tasks": [{"id": HOMEPAGE, "title": "Draft"}, _row(1), _row(2)]})
    assert _read(answers, TASK, "related").splitlines() == [
        "## Related",
        "- This task supports_goal goal Visits g1",
        "- task Check t2 depends_on this task",
        "Other open tasks of its project:",
        "- [2] Row 1 00000000-0000-4000-8000-000000000001",
        "- [2] Row 2 00000000-0000-4000-8000-000000000002",
    ]


def test_related_leaves_out_whole_rows_and_says_who_has_them() -> None:
    links = [{**_row(n), "kind": "task", "rel": "depends_on", "direction": "outgoing"} for n in range(20)]
    layer = _get_layer(_load(GatewayAnswers().answer("onto.task.get", _task(links=links)), TASK), "related")
    *rows, last = layer.text.splitlines()
    assert layer.is_cut
    assert last == f"- {21 - len(rows)} more, not shown; onto.entity.links.get has them."
    assert all(row.endswith(f"{n:012}") for n, row in enumerate(rows[1:]))


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.type)
def test_load_context_of_an_empty_workspace_is_short(place: Place) -> None:
    context = _load(GatewayAnswers().answer("onto.project.get", _project()).answer("onto.task.get", _task()), place)
    assert not any(layer.is_cut for layer in context.layers)
    assert sum(layer.tokens for layer in context.layers) < 700


@pytest.mark.parametrize("place", [PROJECT, TASK], ids=lambda place: place.type)
def test_load_context_says_that_the_place_does_not_exist(place: Place) -> None:
    answers = GatewayAnswers().answer("onto.project.get", None).answer("onto.task.get", None)
    context = _load(answers, place)
    assert "does not exist or that they may not see" in _get_layer(context, "location").text
    assert _get_layer(context, "related").text == ""


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.type)
def test_load_context_survives_a_batch_in_which_everything_failed(place: Place) -> None:
    failed = {"ok": False, "error": {"code": "INTERNAL", "details": {"reason": "timeout"}}}
    for results in ([], [failed] * 20, [{"ok": True}] * 20, [{"ok": True, "result": {"project": [], "tasks": 7}}] * 20):
        context = load_context(lambda _entries, each=results: each, place=place, toolset=GATEWAY_TOOLSET, at=AT)
        text = context.system_message
        assert "profile could not be loaded" in text
        assert "time zone, UTC" in text


def test_load_context_keeps_the_rest_of_a_project_whose_lists_failed() -> None:
    answers = GatewayAnswers().answer("onto.project.get", _project())
    for op in ("onto.task.list", "onto.document.list", "onto.milestone.list"):
        answers.answer(op, None)
    context = _load(answers, PROJECT)
    assert "20 active" in _get_layer(context, "location").text
    assert _get_layer(context, "location").text.endswith("Its tasks could not be loaded.")
    assert _get_layer(context, "related").text.count("could not be loaded") == 3


def test_load_context_passes_on_that_the_gateway_failed() -> None:
    def fail(entries: Any) -> list[dict[str, Any]]:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        load_context(fail, place=GLOBAL, toolset=GATEWAY_TOOLSET, at=AT)


def test_profile_leaves_out_whole_preferences_that_do_not_fit() -> None:
    preferences = {f"habit {number}": "early in the morning, never late" for number in range(60)}
    answers = GatewayAnswers().answer("util.profile.get", {"profile": {**PROFILE, "preferences": preferences}})
    layer = _get_layer(_load(answers, GLOBAL), "profile")
    assert layer.is_cut
    assert layer.text.endswith("more preferences; util.profile.get has all.")
    assert layer.text.splitlines()[-2].endswith("early in the morning, never late")


def test_context_collects_the_names_of_all_rows_that_were_loaded() -> None:
    answers = GatewayAnswers().answer("onto.task.get", _task()).answer("onto.task.list", {"tasks": [_row(1)]})
    assert dict(_load(answers, TASK).names) == {
        HOMEPAGE: "Draft the copy",
        WEBSITE: "Website relaunch",
        _row(1)["id"]: "Row 1",
    }


def test_context_describes_its_layers_and_the_tool_definitions_apart() -> None:
    context = _load(GatewayAnswers(), GLOBAL)
    described = context.describe()
    assert [each["name"] for each in described] == ["system", "profile", "location", "related", "tools"]
    assert described[2] == {"name": "location", "tokens": context.layers[2].tokens, "budget": 1_000, "cut": False}
    assert described[-1]["budget"] == 900
    assert 700 < described[-1]["tokens"] < 800  # without the prompt, which the system layer has
    assert "## The user looks at" in context.system_message


def test_budgets_are_the_hard_limit_together() -> None:
    layers = budgets.SYSTEM + budgets.PROFILE + budgets.LOCATION + budgets.RELATED
    assert layers + budgets.HISTORY + budgets.TOOL_RESULTS + budgets.RESPONSE == budgets.HARD_LIMIT


_HOSTILE = st.builds(
    lambda text, times: text * times,
    st.sampled_from(("a", "word ", "𒀀𒐫", "ﷺ", "\n# Heading\n- ", "\x00", "👩🏽‍🚀", "ไทย", '"\\', "\ud800"))
    | st.text(min_size=1),
    st.integers(1, 500),
)


@settings(max_examples=examples(30))
@given(text=_HOSTILE, place=st.sampled_from(PLACES), count=st.integers(0, 50))
def test_layers_of_any_texts_fit_and_keep_what_the_place_is(text: str, place: Place, count: int) -> None:
    fields = {"name": text, "title": text, "description": text, "details": text, "content_preview": text, "rel": text}
    rows = [{**_row(number), **fields, "due_at": "2026-05-01T00:00:00Z"} for number in range(count)]
    events = [{**row, "start_at": f"2026-03-04T{number % 24:02}:00"} for number, row in enumerate(rows)]
    lists = {"projects": rows, "tasks": rows, "documents": rows, "milestones": rows, "events": events}
    answers = GatewayAnswers()
    for op in ("onto.project.list", "onto.task.list", "onto.document.list", "onto.milestone.list", "cal.event.list"):
        answers.answer(op, {**lists, "total": count})
    answers.answer("onto.project.get", _project(**fields, executive_summary=text, context=text, state_key=text))
    answers.answer("onto.task.get", _task(**fields, links=rows, subtasks=rows, project_name=text, recurrence=text))
    answers.answer(
        "util.profile.get", {"profile": {"name": text, "preferences": {text: text, "b": [text]}, "time_zone": text}}
    )
    context = _load(answers, place)
    location = _get_layer(context, "location").text
    assert location.startswith("## The user looks at")
    assert place.entity_id is None or f"- Id: {place.entity_id}" in location
    assert "\n#" not in location
