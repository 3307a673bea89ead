"""The scripted model against the real API: the suggested messages change rows, on several surfaces."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from chat.scripted_model import server
from chat.scripted_model.dates import read_days
from chat.scripted_model.outcomes import TOOL_NAME_BY_OP
from chat.scripted_model.plans import ScriptedToolCall
from chat.scripted_model.scripts import SUGGESTIONS
from registry.catalog import model
from tests.support.clients.api import Api
from tests.support.loops import for_each
from workspace.demo import DEMO_PROJECT_ID, DEMO_SUBJECT, DEMO_TASK_ID, DEMO_TASK_TO_DELETE_ID
from workspace.models import Document, Project, Task

PLATE, DETAILS, PROJECT, FREE, SCHEDULE, REPAIR, DELETE, OVERVIEW, RISKS, NOTE = (one.text for one in SUGGESTIONS)
MAX_CALLS = 12
ENDPOINTS = {"tool_help": "help", "tool_exec": "exec", "tool_batch": "batch"}


@dataclass
class MinimalChat:
    """The smallest loop of a chat: it runs the calls of the model until it answers with text, and agrees to all."""

    api: Api
    surface: str
    messages: list[dict[str, Any]] = field(default_factory=list)
    calls: list[ScriptedToolCall] = field(default_factory=list)  # of the last turn

    def send(self, message: str) -> str:
        """Send a message and return the text of the answer."""
        body = {"format": "openai", "surface": self.surface, "message": message}
        toolset = self.api.post("toolset", body).json()
        today = f"Today is {timezone.localdate(timezone=ZoneInfo('Europe/Berlin'))} in Europe/Berlin."
        self.messages[:1] = [{"role": "system", "content": f"{today}\n{toolset['prompt']}"}]
        self.messages.append({"role": "user", "content": message})
        self.calls = []
        while True:
            answer = server.plan_answer(self.messages, toolset["tools"])
            if not answer.tool_calls:
                self.messages.append({"role": "assistant", "content": answer.text})
                return answer.text
            assert len(self.calls) < MAX_CALLS, self.calls
            self._run(answer.tool_calls)

    def _run(self, calls: tuple[ScriptedToolCall, ...]) -> None:
        names = [f"call_{len(self.messages)}_{at}" for at in range(len(calls))]
        functions = [{"name": call.name, "arguments": json.dumps(call.arguments)} for call in calls]
        sent = [
            {"id": name, "type": "function", "function": function}
            for name, function in zip(names, functions, strict=True)
        ]
        self.messages.append({"role": "assistant", "content": None, "tool_calls": sent})
        for name, call in zip(names, calls, strict=True):
            self.calls.append(call)
            self.messages.append({"role": "tool", "tool_call_id": name, "content": json.dumps(self._call(call))})

    def _call(self, call: ScriptedToolCall) -> Any:
        endpoint = ENDPOINTS.get(call.name, "exec")
        body = call.arguments if call.name in ENDPOINTS else {"op": call.name, "args": call.arguments}
        envelope = self.api.post(endpoint, body).json()
        details = (envelope.get("error") or {}).get("details", {})
        if details.get("reason") == "confirmation_required":
            envelope = self.api.post(endpoint, body, Gateway_Confirm=details["confirmation"]["token"]).json()
        return envelope

    @property
    def called(self) -> list[str]:
        """The ops of the last turn's calls; a batch counts as one call of its ops."""
        return [_describe_call(call) for call in self.calls]


def _describe_call(call: ScriptedToolCall) -> str:
    if call.name == "tool_batch":
        return "+".join(entry["op"] for entry in call.arguments["ops"])
    return str(call.arguments["op"]) if call.name == "tool_exec" else call.name


@pytest.fixture
def start_chat(live_catalog: model.Catalog, make_key: Callable[..., str]) -> Callable[..., MinimalChat]:
    """Return a function that starts a chat on a surface. The gateway asks its users for confirmation."""
    return lambda surface="gateway": MinimalChat(Api(make_key(confirms=True)), surface)


@for_each("surface", ["gateway", "hybrid", "legacy"], undone=True)
def test_plate_is_one_list_and_details_are_one_search_and_one_get(
    start_chat: Callable[..., MinimalChat], surface: str
) -> None:
    plate, details = start_chat(surface), start_chat(surface)

    tasks, description = plate.send(PLATE), details.send(DETAILS)

    assert plate.called == ["onto.task.list" if surface == "gateway" else "list_onto_tasks"]
    open_tasks = Task.objects.filter(priority__lte=2, deleted_at=None).exclude(state_key="done")
    visible = open_tasks.filter(project__memberships__subject=DEMO_SUBJECT)
    assert f"You have {visible.count()} open tasks" in tasks
    assert "**Draft the homepage copy** — in progress, priority 1" in tasks
    legacy = ["search_onto_tasks", "get_onto_task_details"]
    assert details.called == (legacy if surface == "legacy" else ["onto.task.search", "onto.task.get"])
    assert Task.objects.get(pk=DEMO_TASK_ID).description in description


@for_each("surface", ["gateway", "hybrid", "legacy"], undone=True)
def test_project_is_created_with_its_tasks_as_often_as_it_is_asked_for(
    start_chat: Callable[..., MinimalChat], surface: str
) -> None:
    chat = start_chat(surface)

    first, second = chat.send(PROJECT), chat.send(PROJECT)

    assert "Created the project “Team offsite” with 3 tasks" in first
    assert "Created the project “Team offsite 2” with 3 tasks" in second
    tasks = Task.objects.filter(project=Project.objects.get(name="Team offsite")).order_by("created_at", "title")
    assert {task.title for task in tasks} == {"Find a venue", "Book the travel", "Send the invitations"}


def test_free_time_is_of_next_week(start_chat: Callable[..., MinimalChat]) -> None:
    chat = start_chat()

    text = chat.send(FREE)

    days = read_days(chat.messages[0]["content"])
    assert chat.called == ["cal.slot.find"]
    assert chat.calls[0].arguments["args"].items() >= days.parse_range("next week").items()
    assert text.count("\n- ") == 3


@for_each("surface", ["gateway", "hybrid", "legacy"], undone=True)
def test_task_is_scheduled_into_free_time(start_chat: Callable[..., MinimalChat], surface: str) -> None:
    chat = start_chat(surface)

    text = chat.send(SCHEDULE)

    assert "Scheduled “Plan the launch day”" in text
    task = Task.objects.get(title="Plan the launch day")
    start = (chat.calls[-1].arguments.get("args") or chat.calls[-1].arguments)["start_at"]
    assert task.start_at == datetime.fromisoformat(start)


@for_each("surface", ["gateway", "hybrid", "legacy"], undone=True)
def test_refused_call_is_repaired_with_the_corrected_one(start_chat: Callable[..., MinimalChat], surface: str) -> None:
    chat = start_chat(surface)

    text = chat.send(REPAIR)

    assert len(chat.called) == 3
    assert chat.called[1] == chat.called[2]
    assert "I first used wrong names and corrected them: Unknown argument status; send state_key." in text
    assert "Changed “Collect partner logos”: state_key todo → in_progress" in text
    assert Task.objects.get(title="Collect partner logos").state_key == "in_progress"
    assert "Nothing changed" in chat.send(REPAIR)


def test_overview_reads_in_one_batch_and_risks_are_found_by_help(start_chat: Callable[..., MinimalChat]) -> None:
    overview, risks = start_chat(), start_chat()

    project, found = overview.send(OVERVIEW), risks.send(RISKS)

    assert overview.called == ["onto.project.search", "onto.project.get+onto.task.list+onto.milestone.list"]
    assert "**Website relaunch**: " in project
    assert "Review the analytics consent banner" in project
    assert "The new site is live" in project
    assert risks.called == ["tool_help", "onto.project.search", "onto.risk.list"]
    assert "Search engines drop the old addresses" in found


@for_each("surface", ["gateway", "hybrid", "legacy"], undone=True)
def test_status_note_is_created_from_results(start_chat: Callable[..., MinimalChat], surface: str) -> None:
    chat = start_chat(surface)

    text = chat.send(NOTE)

    assert "Created the document “Status of Website relaunch”." in text
    document = Document.objects.get(title="Status of Website relaunch")
    assert str(document.project_id) == DEMO_PROJECT_ID
    assert "Draft the homepage copy" in document.content
    assert "{" not in document.content


def test_update_without_a_row_asks_until_it_is_clear(start_chat: Callable[..., MinimalChat]) -> None:
    chat = start_chat()

    assert chat.send("update my task").startswith("Which task do you mean")
    assert chat.called == ["onto.task.list"]
    assert "What should I change about **Draft the homepage copy**?" in chat.send("the first one")
    assert chat.calls == []
    assert "Changed “Draft the homepage copy”" in chat.send("mark it as done")
    assert Task.objects.get(pk=DEMO_TASK_ID).state_key == "done"


def test_ambiguous_title_is_asked_about(start_chat: Callable[..., MinimalChat]) -> None:
    chat = start_chat()

    text = chat.send("Delete the logos task")

    assert text.startswith("2 tasks are named “logos”. Which of these do you mean?")
    assert "Deleted the task “Collect partner logos (entered twice)”" in chat.send("the second one")
    assert Task.objects.filter(pk=DEMO_TASK_TO_DELETE_ID, deleted_at=None).count() == 0


def test_deadline_is_moved_only_after_a_yes(start_chat: Callable[..., MinimalChat]) -> None:
    chat = start_chat()

    text = chat.send("Schedule “Review the analytics consent banner” next week for 1 hour")

    assert text.endswith("Shall I move its deadline, too?")
    assert Task.objects.get(title="Review the analytics consent banner").start_at is None
    assert "Scheduled “Review the analytics consent banner”" in chat.send("yes")
    task = Task.objects.get(title="Review the analytics consent banner")
    assert task.due_at == task.start_at + timedelta(hours=1)


@for_each(
    "messages, expected",
    [
        (["add a task “Call the printer”", "kitchen"], "Created the task “Call the printer”. It is in **Kitchen"),
        (["create a task", "Wash the car", "kitchen"], "Created the task “Wash the car”."),
        (["create a project Garden party with tasks: buy food and cook"], "“Garden party” with 2 tasks"),
        (["add a risk “Rain” to the roof garden", "delete it"], "Deleted the risk “Rain”"),
        (["add a goal “Tomatoes” to the roof garden", "mark it as done"], "state_key draft → achieved"),
        (["rename the project “Roof garden” to “Sky garden”"], "name “Roof garden” → “Sky garden”"),
        (["create an event “Dentist”", "tomorrow at 9:30"], "Created the event “Dentist”"),
        (["move the task Choose tiles to 2031-05-02"], "→ 2 May 2031 18:00"),
        (["delete the task zebra"], "I found no task named “zebra”."),
        (["tasks in the kitchen renovation"], "18 tasks in **Kitchen renovation**"),
        (["what is due tomorrow?"], "due then"),
        (["find launch"], "**Launch day runbook** — document"),
        (["when am I free tomorrow?"], "free"),
    ],
    undone=True,
)
def test_free_messages_are_answered_by_rules(
    start_chat: Callable[..., MinimalChat], messages: list[str], expected: str
) -> None:
    chat = start_chat()

    texts = [chat.send(message) for message in messages]

    assert expected in texts[-1], texts


def test_tool_names_are_those_of_the_catalog(live_catalog: model.Catalog) -> None:
    names = {op: live_catalog.ops[op].tool_name for op in TOOL_NAME_BY_OP}

    assert names == TOOL_NAME_BY_OP
