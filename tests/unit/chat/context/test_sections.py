"""What the layers of each place show."""

from collections.abc import Mapping
from typing import Any

from chat.context.service import load_context
from tests.support.loops import for_each
from tests.unit.chat.context.gateway_answers import (
    AT,
    CALENDAR,
    GATEWAY_TOOLSET,
    GLOBAL,
    HOMEPAGE,
    PROFILE,
    PROJECT,
    TASK,
    WEBSITE,
    GatewayAnswers,
    get_layer,
    load,
    make_project,
    make_row,
    make_task,
    read_layer,
)


def test_location_of_a_project_shows_its_facts_texts_and_tasks() -> None:
    answers = GatewayAnswers().answer(
        "onto.project.get",
        make_project(
            start_at="2026-02-01T09:00:00Z", executive_summary="On track.", description="A new site.", context="Staging"
        ),
    )
    answers.answer(
        "onto.task.list",
        {
            "tasks": [
                make_row(1, state_key="blocked", due_at="2026-03-06T23:30:00Z", is_overdue=True),
                make_row(2, state_key="todo"),
                make_row(3),
            ]
        },
    )
    assert read_layer(answers, PROJECT).splitlines() == [
        "## The user looks at the project Website relaunch",
        f"- Id: {WEBSITE}",
        "- State: active, 17% complete",
        "- Period: 2026-02-01 to not set",
        "- Tasks: 20 active, 4 done, 24 total",
        "- Summary: On track.",
        "- Description: A new site.",
        "- Context: Staging",
        "Open tasks by priority (all), [priority] title (state, date):",
        "- [2] Row 1 (blocked, 2026-03-07, overdue) 00000000-0000-4000-8000-000000000001",
        "- [2] Row 2 (todo) 00000000-0000-4000-8000-000000000002",
        "- [2] Row 3 00000000-0000-4000-8000-000000000003",
    ]


def test_location_of_a_project_shows_500_characters_of_its_context_with_a_marker() -> None:
    context = "".join(f"{number:04} " for number in range(200)).strip()
    text = read_layer(GatewayAnswers().answer("onto.project.get", make_project(context=context)), PROJECT)
    assert f"- Context: {context[:500]}… [500 of 999 characters]" in text
    assert "- The rest of a text: onto.project.get" in text
    truncated = {"context": {"shown": 600, "length": 90_000, "next_offset": 600}}  # by the gateway
    project = make_project(context="a" * 600, truncated=truncated)
    assert "a… [500 of 90,000 characters]" in read_layer(GatewayAnswers().answer("onto.project.get", project), PROJECT)


def test_location_of_a_task_shows_its_facts_and_100_characters_of_each_text() -> None:
    fields = {"due_at": "2026-03-06T17:00:00Z", "duration_minutes": 90, "recurrence": "weekly", "subtasks": [{}, {}]}
    text = read_layer(
        GatewayAnswers().answer("onto.task.get", make_task(description="d" * 150, details="ok", **fields)), TASK
    )
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
        {"id": "e1", "title": "Focus", "start_at": "2026-03-07T09:00", "end_at": "2026-03-07T11:00"},
        {"id": "e1", "title": "Focus", "start_at": "2026-03-08T08:00", "end_at": "2026-03-08T10:00"},
        {"id": "e1", "title": "Focus", "start_at": "2026-03-09T08:00", "end_at": "2026-03-09T10:00"},
    ]
    text = read_layer(GatewayAnswers().answer("cal.event.list", {"events": events, "total": 34}), CALENDAR)
    assert text.splitlines() == [
        "## The user looks at the calendar",
        "- Working hours: mon-thu 09:00-12:30, 13:30-17:30; fri 09:00-13:00; sat-sun off",
        "Next seven days:",
        "Thu 2026-03-05",
        "- 08:00-10:00 Focus (again Fri, Sun-Mon) e1",
        "Fri 2026-03-06",
        "- all day Rent e2",
        "Sat 2026-03-07",
        "- 09:00-11:00 Focus",
        "6 of 34 events; cal.event.list reads on.",
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
    assert read_layer(answers, GLOBAL).splitlines() == [
        "## The user looks at no project or task",
        "Projects updated last:",
        f"- Website relaunch (active, 20 open of 24 tasks) {WEBSITE}",
        "Open tasks: none.",
        "Events today:",
        "- 23:00-01:00 B night",
        "- all day C days",
    ]


@for_each("shared", [{}, {"project_name": "Website relaunch"}])
def test_overview_names_the_project_of_each_task(shared: dict[str, str]) -> None:
    tasks = [make_row(1, **({} if shared else {"project_name": "Website relaunch"}), due_at="2026-03-07T10:00:00Z")]
    answers = GatewayAnswers().answer("onto.task.list", {"tasks": tasks, **shared})

    assert "- [2] Row 1 (2026-03-07) 00000000-0000-4000-8000-000000000001, project Website relaunch" in read_layer(
        answers, GLOBAL
    )


def test_profile_names_the_users_own_id() -> None:
    context = load_context(GatewayAnswers(), place=GLOBAL, toolset=GATEWAY_TOOLSET, at=AT, subject="lena")

    assert "- Id as created_by shows it: lena" in get_layer(context, "profile").text


def _list_milestones(pending: list[Any], in_progress: list[Any], **more: Any) -> GatewayAnswers:
    days = {"pending": pending, "in_progress": in_progress}

    def answer(args: Mapping[str, Any]) -> Mapping[str, Any]:
        rows = [make_row(1, title="Live", due_at=day) for day in days[args["state_key"]]]
        shown = rows[: args["limit"]]
        return {"milestones": shown, "has_more": len(shown) < len(rows), **more}

    return GatewayAnswers().answer("onto.project.get", make_project()).answer("onto.milestone.list", answer)


def test_related_of_a_project_shows_the_next_milestone_notes_and_brain_dumps() -> None:
    def list_documents(args: Mapping[str, Any]) -> Mapping[str, Any]:
        titles = [f"{args['type_key']} {number}" for number in range(4)]
        return {"documents": [make_row(n, title=title, content_preview="b" * 90) for n, title in enumerate(titles)]}

    answers = _list_milestones([None, "2026-01-01T00:00:00Z", "2026-05-01T00:00:00Z"], ["2026-04-01T00:00:00Z"])
    lines = read_layer(answers.answer("onto.document.list", list_documents), PROJECT, "related").splitlines()
    assert lines[1] == "- Next milestone: Live (2026-04-01) 00000000-0000-4000-8000-000000000001"
    names = ["Note: document.note", "Brain dump: document.brain_dump"]
    assert [line[2:].partition(" –")[0] for line in lines[2:]] == [f"{name} {n}" for name in names for n in range(3)]
    assert "b" * 79 + "… 0000" in lines[2]


def test_next_milestone_is_found_behind_many_without_a_date_or_said_to_be_perhaps_not_loaded() -> None:
    answers = _list_milestones([None] * 45 + ["2026-05-01T00:00:00Z"], [])
    assert "- Next milestone: Live (2026-05-01)" in read_layer(answers, PROJECT, "related")
    hidden = [None] * 60 + ["2026-05-01T00:00:00Z"]
    reads_on = "may be among more than were loaded; onto.milestone.list reads on."
    assert read_layer(_list_milestones(hidden, []), PROJECT, "related").splitlines()[1:] == [
        f"- The next milestone {reads_on}"
    ]
    lines = read_layer(_list_milestones(hidden, ["2026-06-01T00:00:00Z"]), PROJECT, "related").splitlines()
    assert lines[1].startswith("- Next milestone: Live (2026-06-01)")
    assert lines[2] == f"- An earlier one {reads_on}"
    coming = ["2026-05-01T00:00:00Z"] * 60  # of a page in the order of dates, the first is the next
    assert "may be among" not in read_layer(_list_milestones(coming, []), PROJECT, "related")


def test_location_without_room_for_ids_says_who_has_them() -> None:
    answers = GatewayAnswers().answer("onto.task.list", {"tasks": [make_row(n, title="𒀀𒐫" * 50) for n in range(5)]})
    text = read_layer(answers, GLOBAL)
    assert "00000000-0000" not in text
    assert text.endswith("There is no room for the ids of these rows. A list or a search has them.")


def test_related_of_a_task_shows_links_in_both_directions_and_siblings_without_itself() -> None:
    links = [
        {"id": "g1", "kind": "goal", "name": "Visits", "rel": "supports_goal", "direction": "outgoing"},
        {"id": "t2", "kind": "task", "title": "Check", "rel": "depends_on", "direction": "incoming"},
    ]
    answers = GatewayAnswers().answer("onto.task.get", make_task(links=links))
    answers.answer("onto.task.list", {"tasks": [{"id": HOMEPAGE, "title": "Draft"}, make_row(1), make_row(2)]})
    assert read_layer(answers, TASK, "related").splitlines() == [
        "## Related",
        "- This task supports_goal goal Visits g1",
        "- task Check t2 depends_on this task",
        "Other open tasks of its project:",
        "- [2] Row 1 00000000-0000-4000-8000-000000000001",
        "- [2] Row 2 00000000-0000-4000-8000-000000000002",
    ]


def test_related_leaves_out_whole_rows_and_says_who_has_them() -> None:
    links = [{**make_row(n), "kind": "task", "rel": "depends_on", "direction": "outgoing"} for n in range(20)]
    layer = get_layer(load(GatewayAnswers().answer("onto.task.get", make_task(links=links)), TASK), "related")
    *rows, last = layer.text.splitlines()
    assert layer.is_cut
    assert last == f"- {21 - len(rows)} more, not shown; onto.entity.links.get has them."
    assert all(row.endswith(f"{n:012}") for n, row in enumerate(rows[1:]))


def test_profile_leaves_out_whole_preferences_that_do_not_fit() -> None:
    preferences = {f"habit {number}": "early in the morning, never late" for number in range(60)}
    answers = GatewayAnswers().answer("util.profile.get", {"profile": {**PROFILE, "preferences": preferences}})
    layer = get_layer(load(answers, GLOBAL), "profile")
    assert layer.is_cut
    assert layer.text.endswith("more preferences; util.profile.get has all.")
    assert layer.text.splitlines()[-2].endswith("early in the morning, never late")
