"""The evaluation's tasks, done right through the real API, pass; and its workspaces are copies of the demo's."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.utils import timezone

from benchmarks.surfaces import workspaces
from benchmarks.surfaces.checks import SessionOutcome, find_problems
from benchmarks.surfaces.evaluation_tasks import load_tasks
from benchmarks.surfaces.relative_dates import RelativeDates
from benchmarks.surfaces.sessions import count_repairs
from benchmarks.surfaces.workspaces import WorkspaceTemplate
from tests.support.chat.chat import ChatHarness, exec_call
from tests.support.loops import for_each
from workspace.demo import DEMO_OTHER_PROJECT_ID, DEMO_PROJECT_ID, DEMO_SUBJECT
from workspace.demo.rows import get_demo_id
from workspace.models import Membership, Task

TASKS = {task.name: task for task in load_tasks()}
BERLIN = ZoneInfo("Europe/Berlin")
Call = tuple[str, dict[str, Any]]


def get_dates() -> RelativeDates:
    # The demo of the tests is loaded by the day in UTC.
    return RelativeDates(timezone.now().date(), BERLIN)


def day(days: int) -> str:
    return get_dates().get_date(days).isoformat()


def update_task(number: int, **fields: Any) -> Call:
    return ("onto.task.update", {"task_id": get_demo_id("task", number), **fields})


def create_in(project: str, op: str, **fields: Any) -> Call:
    return (op, {"project_id": project, **fields})


# What a model would call.
CALLS: dict[str, Callable[[], list[Call]]] = {
    "create_task": lambda: [
        create_in(DEMO_PROJECT_ID, "onto.task.create", title="Renew the certificate", priority=2, due_at=day(9))
    ],
    "create_subtask": lambda: [
        create_in(
            DEMO_PROJECT_ID, "onto.task.create", title="Print the phone list", parent_task_id=get_demo_id("task", 9)
        )
    ],
    "create_note": lambda: [
        create_in(
            DEMO_OTHER_PROJECT_ID,
            "onto.document.create",
            title="Paint colours",
            type_key="document.note",
            content="Walls are white, the door is dark blue.",
        )
    ],
    "create_event": lambda: [
        (
            "cal.event.create",
            {"title": "Dentist", "start_at": f"{day(6)}T15:00", "end_at": f"{day(6)}T16:00", "calendar_scope": "user"},
        )
    ],
    "create_project": lambda: [
        (
            "onto.project.create",
            {
                "project": {"name": "Summer party", "type_key": "project.personal.general"},
                "entities": [
                    {"temp_id": f"t{at}", "kind": "task", "title": title}
                    for at, title in enumerate(("Book the band", "Rent the tent", "Send the invitations"))
                ],
                "relationships": [],
            },
        )
    ],
    "create_goal": lambda: [
        create_in(DEMO_PROJECT_ID, "onto.goal.create", name="Answer every mail within a day", target_date=day(40))
    ],
    "mark_done": lambda: [update_task(28, state_key="done")],
    "rename_task": lambda: [update_task(28, title="Give the old fridge away")],
    "schedule_free_time": lambda: [
        ("cal.task.schedule", {"task_id": get_demo_id("task", 41), "start_at": f"{day(1)}T14:00"})
    ],
    "set_priority": lambda: [update_task(36, priority=1)],
    "move_deadline": lambda: [update_task(25, due_at=day(12))],
    "append_text": lambda: [update_task(1, details="Ms Wolf reads it first.", update_strategy="append")],
    "link_tasks": lambda: [
        (
            "onto.edge.link",
            {
                "src_kind": "task",
                "src_id": get_demo_id("task", 27),
                "dst_kind": "task",
                "dst_id": get_demo_id("task", 23),
                "rel": "depends_on",
            },
        )
    ],
    "schedule_at": lambda: [("cal.task.schedule", {"task_id": get_demo_id("task", 32), "start_at": f"{day(3)}T14:00"})],
    "move_event": lambda: [
        (
            "cal.event.update",
            {"event_id": get_demo_id("event", 21), "start_at": f"{day(1)}T14:30", "end_at": f"{day(1)}T15:30"},
        )
    ],
    "start_blocked": lambda: [update_task(4, state_key="in_progress"), update_task(42, state_key="in_progress")],
}
# What a model would answer, without any call: the context may have what is asked.
ANSWERS = {
    "list_urgent": "- Draft the homepage copy\n- Review the pricing page with legal\n- Order the worktop",
    "tell_more": "Four zones, 60 cm; the cheaper ones whistle.",
    "count_open": "There are **14** open tasks; the next is due on 27 November.",
    "find_in_texts": "It goes to one page.",
    "list_overdue": "- Review the pricing page with legal\n- Review the analytics consent banner\n"
    "- Write the imprint and the privacy page\n- Find a tap that fits under the window",
    "ask_back": "Order the worktop: the supplier has no oak.",
    "send_mail": "I cannot send e-mail here. You could write to Ines yourself.",
    "ambiguous_draft": "Which one do you mean: the homepage copy or the redirect map?",
}
# The rest needs the user's agreement.
CONFIRMED = {"delete_approved", "delete_declined"}


@for_each("name", [*CALLS, *ANSWERS], undone=True)
def test_task_that_is_done_right_passes(chat: ChatHarness, name: str) -> None:
    calls = CALLS[name]() if name in CALLS else []
    task, before = TASKS[name], workspaces.take_snapshot(DEMO_SUBJECT)

    turn = chat.say(
        "Do it", *([[exec_call(op, **args) for op, args in calls]] if calls else []), ANSWERS.get(name, "Done.")
    )

    assert [each.status for each in turn.calls] == ["success"] * len(calls), [each.envelope for each in turn.calls]
    after = workspaces.take_snapshot(DEMO_SUBJECT)
    changes = workspaces.compare_snapshots(before, after)
    outcome = SessionOutcome(before, after, changes, [turn.text], asked_to_confirm=False, errors=[])
    assert find_problems(task, outcome, get_dates()) == []


def test_every_task_fails_if_nothing_is_done_or_one_more_row_changes(live_catalog: Any) -> None:
    assert CALLS.keys() | ANSWERS.keys() | CONFIRMED == TASKS.keys()  # above, each can pass
    before = workspaces.take_snapshot(DEMO_SUBJECT)
    row = next(row for row in before.values() if row.title == "Water the plants")
    after = {**before, row.id: replace(row, fields={**row.fields, "location": "Roof"})}
    changes = workspaces.compare_snapshots(before, after)
    for name, task in TASKS.items():
        nothing = SessionOutcome(before, before, [], ["Done."], asked_to_confirm=False, errors=[])
        more = SessionOutcome(before, after, changes, ["Done."], asked_to_confirm=True, errors=[])
        assert find_problems(task, nothing, get_dates()), name
        assert "Unexpected: change event Water the plants (location)" in find_problems(task, more, get_dates()), name


def test_facts_of_questions_are_those_of_the_demo(live_catalog: Any) -> None:
    tasks = Task.objects.filter(project__memberships__subject=DEMO_SUBJECT, deleted_at=None).exclude(state_key="done")
    overdue = set(tasks.filter(due_at__lt=timezone.now()).values_list("title", flat=True))
    blocked = set(tasks.filter(state_key="blocked", project=DEMO_PROJECT_ID).values_list("title", flat=True))

    assert set(TASKS["list_urgent"].answer) == set(tasks.filter(priority=1).values_list("title", flat=True))
    assert set(TASKS["list_overdue"].answer) == overdue
    assert {change.title for change in TASKS["start_blocked"].rows} == blocked
    open_count = Task.objects.filter(project=DEMO_OTHER_PROJECT_ID).exclude(state_key="done").count()
    assert str(open_count) in TASKS["count_open"].answer[0]


def test_places_and_rows_of_all_tasks_are_in_the_demo(live_catalog: Any) -> None:
    rows = workspaces.take_snapshot(DEMO_SUBJECT).values()
    titles = {(row.kind, row.title) for row in rows}

    for task in TASKS.values():
        named = {(kind, task.place[kind]) for kind in ("project", "task") if kind in task.place}
        named |= {(change.kind, change.title) for change in task.rows if change.title}
        assert named <= titles, task.name


def test_copy_has_the_same_rows_under_new_ids_and_later_dates(live_catalog: Any) -> None:
    template = WorkspaceTemplate(timezone.now().date())

    template.copy_for("evaluation-a", today=timezone.now().date() + timedelta(days=3))

    original, copy = workspaces.take_snapshot(DEMO_SUBJECT), workspaces.take_snapshot("evaluation-a")
    assert len(copy) == len(original)
    assert not copy.keys() & original.keys()
    assert sorted(row.title for row in copy.values()) == sorted(row.title for row in original.values())
    source, task = (next(r for r in rows.values() if r.title == "Rent a van for the tip") for rows in (original, copy))
    assert task.fields["due_at"] == source.fields["due_at"] + timedelta(days=3)
    assert copy[task.fields["parent_task"]].title == "Take the old cabinets down"
    edges = [row for row in copy.values() if row.kind == "edge"]
    assert edges
    assert all({edge.fields["src_id"], edge.fields["dst_id"]} <= copy.keys() for edge in edges)


def test_deleted_workspace_leaves_the_others_alone(live_catalog: Any) -> None:
    before = workspaces.take_snapshot(DEMO_SUBJECT)
    WorkspaceTemplate(timezone.now().date()).copy_for("evaluation-a", today=timezone.now().date())

    workspaces.delete_workspace("evaluation-a")

    assert not workspaces.take_snapshot("evaluation-a")
    assert not Membership.objects.filter(subject__startswith="evaluation-a").exists()
    assert workspaces.take_snapshot(DEMO_SUBJECT) == before


def test_repairs_are_the_notes_that_the_model_got(chat: ChatHarness) -> None:
    wrong = [exec_call("onto.task.update", task_id=get_demo_id("task", 99), title=title) for title in ("A", "B")]

    turn = chat.say("Rename it", [wrong[0]], [wrong[1]], [exec_call("onto.task.list", limit=0)], "I cannot find it.")

    notes = [each["content"] for each in turn.requests[-1]["messages"][1:] if each["role"] == "system"]
    given_up = sum("failed again" in note for note in notes)
    assert count_repairs(turn.calls) == len(notes) - given_up == 2


def test_events_that_show_dates_are_no_change_of_their_own(chat: ChatHarness) -> None:
    before = workspaces.take_snapshot(DEMO_SUBJECT)

    chat.say("Move it", [exec_call("onto.task.update", task_id=get_demo_id("task", 25), due_at=day(12))], "Done.")

    (change,) = workspaces.compare_snapshots(before, workspaces.take_snapshot(DEMO_SUBJECT))
    assert str(change) == "change task Compare induction hobs (due_at)"
    assert change.fields["due_at"] > datetime.now(UTC)
