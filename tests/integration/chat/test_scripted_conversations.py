"""Conversations with the scripted model through the chat's own turns: what the history leaves out, and where it is."""

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from analytics.flags import FlagKey
from analytics.rollout import assignment
from analytics.rollout.models import Cohort
from chat.gateway import client as gateway_client
from chat.scripted_model.scripts import SUGGESTIONS
from chat.scripted_model.server import ScriptedModelServer
from chat.turns import model_endpoint
from chat.turns.decisions import ASKED_AGAIN
from tests.support.chat.chat import ChatHarness, TurnResult
from tests.support.chat.fake_llm import FakeLlm
from tests.support.loops import for_each
from workspace.models import CalendarEvent, Project, Task

PLATE, DETAILS, PROJECT, FREE, SCHEDULE, REPAIR, DELETE, OVERVIEW, RISKS, NOTE = (one.text for one in SUGGESTIONS)
LAUNCH = "schedule “Plan the launch day” on Monday at 11:00"  # another time than SCHEDULE: tomorrow may be Monday

pytestmark = pytest.mark.django_db


class ScriptedConversation:
    def __init__(self, harness: ChatHarness) -> None:
        self.turn: TurnResult | None = None
        self._harness = harness

    def say(self, message: str, context: Any = None) -> str:
        """Send a message and return the answer."""
        session = str(self.turn.conversation.pk) if self.turn else None
        self.turn = self._harness.say(message, session=session, context=context)
        return self.turn.text

    def approve(self) -> str:
        """Agree to the call that waits and return the answer."""
        assert self.turn
        self.turn = self._harness.decide(self.turn, approve=True)
        return self.turn.text

    @property
    def ops(self) -> list[str]:
        """The tools or ops that the last turn called."""
        assert self.turn
        return [call.op or call.name for call in self.turn.calls]


@pytest.fixture
def start(
    live_catalog: Any, make_key: Callable[..., str], settings: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., ScriptedConversation]]:
    """Return a function that starts a conversation on a surface."""
    server = ScriptedModelServer(pace_ms=0)
    server.start()
    monkeypatch.setattr(model_endpoint, "_server", server)
    settings.AGENTIC_CHAT_TOOL_GATEWAY = True
    settings.CHAT_GATEWAY_URL = "http://gateway.test"

    def start_conversation(surface: str = "gateway", selection: str = "static") -> ScriptedConversation:
        for flag, variant in ((FlagKey.SURFACE, surface), (FlagKey.SELECTION, selection)):
            Cohort.objects.create(name=f"scripted {flag}", flag_id=flag, variant=variant, percentage=100)
        assignment.refresh_rollout()
        harness = ChatHarness(FakeLlm(), make_key(confirms=True))
        monkeypatch.setattr(gateway_client.http, "call_api", lambda *args, **kwargs: harness.gateway(*args, **kwargs))
        return ScriptedConversation(harness)

    yield start_conversation
    server.stop()


@pytest.mark.parametrize(
    ("surface", "selection"),
    [("gateway", "static"), ("hybrid", "static"), ("legacy", "static"), ("legacy", "dynamic"), ("discovery", "static")],
)
def test_delete_is_reported_after_the_user_agreed(start: Callable[..., Any], surface: str, selection: str) -> None:
    """The turn of the decision does not offer tools that were loaded for the turn before."""
    chat = start(surface, selection)

    chat.say(DELETE)

    assert chat.approve() == "Deleted the task “Try the confirmation”; ops no longer find it."
    assert Task.objects.get(title="Try the confirmation").deleted_at
    chat.say("delete it")
    assert not any("delete" in op for op in chat.ops), "what was deleted is no longer meant"


@for_each("surface", ["gateway", "hybrid", "legacy", "discovery"], undone=True)
def test_agreement_in_words_repeats_the_call_and_ends_with_what_was_done(
    start: Callable[..., Any], surface: str
) -> None:
    chat = start(surface)
    chat.say(DELETE)

    assert chat.say("Yes please, delete it.") == ASKED_AGAIN
    assert chat.approve() == "Deleted the task “Try the confirmation”; ops no longer find it."
    Cohort.objects.all().delete()


def test_refusal_in_words_leaves_the_row(start: Callable[..., Any]) -> None:
    chat = start()
    chat.say(DELETE)

    assert chat.say("No, leave it where it is.") == "All right. Nothing was changed."
    assert Task.objects.get(title="Try the confirmation").deleted_at is None


def test_scheduled_task_is_scheduled_again_by_its_own_id(start: Callable[..., Any]) -> None:
    """The answer of a schedule also has events, with the title of the task."""
    chat = start()

    assert "Scheduled “Plan the launch day”" in chat.say(SCHEDULE)
    assert "Scheduled “Plan the launch day” for Monday" in chat.say(LAUNCH)
    assert "14:00" in chat.say("and at 14:00 instead?")

    assert chat.ops == ["cal.task.schedule"]
    assert Task.objects.get(title="Plan the launch day").start_at.hour in (12, 13)  # in UTC


def test_rows_are_found_once_the_conversation_moved_to_another_project(start: Callable[..., Any]) -> None:
    chat = start()
    assert "Created the project “Team offsite”" in chat.say(PROJECT)

    assert "Scheduled “Plan the launch day” for Monday" in chat.say(LAUNCH)
    assert "in **Team offsite**" in chat.say(PLATE)
    assert chat.say(DETAILS).startswith("**Draft the homepage copy**")
    assert "Changed “Collect partner logos”" in chat.say(REPAIR)
    chat.say(DELETE)
    assert chat.ops.count("onto.task.delete") == 1
    assert "Deleted the task “Try the confirmation”" in chat.approve()
    assert "Created the document “Status of Website relaunch”" in chat.say(NOTE)
    assert Project.objects.filter(name="Team offsite", deleted_at=None).count() == 1


def test_follow_ups_go_on_from_the_answers_before_them(start: Callable[..., Any]) -> None:
    chat = start()
    chat.say("What's on my plate today?")

    # Its priority is 1, and it is overdue.
    assert "**Review the pricing page with legal**" in chat.say("which of these is most urgent?")
    assert chat.ops == []
    assert "open tasks due then" in chat.say("and tomorrow?")
    assert chat.say("tell me more about the first one").startswith("**")
    assert chat.ops[-1] == "onto.task.get"
    assert "state_key" in chat.say("mark it as done")
    chat.say("delete it")
    assert chat.ops == ["onto.task.delete"]
    assert chat.approve().startswith("Deleted the task")


def test_follow_ups_of_follow_ups_keep_what_was_changed(start: Callable[..., Any]) -> None:
    Task.objects.filter(title="Order the worktop").update(due_at=timezone.now() + timedelta(minutes=1))
    chat = start()
    chat.say("what is due next week?")
    chat.say("and this week?")

    assert "due then in **Kitchen renovation**:" in (kitchen := chat.say("and in the kitchen renovation?"))
    assert "Order the worktop" in kitchen, "which is due this week, on any day of it"
    assert "goals:" in chat.say("what about goals?")
    chat.say("Any blocked tasks in the website relaunch?")
    assert "Changed “Review the pricing page" in chat.say("set the first one to in progress")
    assert "Changed “Write the imprint" in chat.say("and the second one?")


def test_conversation_goes_on_when_its_project_was_deleted(start: Callable[..., Any]) -> None:
    chat = start()
    chat.say("Create a project “Garden party” with two tasks: buy food, invite neighbours")
    chat.say("delete the project “Garden party”")
    assert chat.approve().startswith("Deleted the project “Garden party”")

    assert "Website relaunch" in chat.say("what's on my plate?")


def test_free_time_that_was_offered_can_be_chosen_by_number(start: Callable[..., Any]) -> None:
    CalendarEvent.objects.all().delete()  # on some days they fill the afternoon
    days = (timezone.now() + timedelta(days=number) for number in range(2, 7))
    day = next(day for day in days if day.weekday() < 4)  # on Fridays only the morning is working time
    chat = start()

    offered = chat.say(f"Do I have time on {day:%A} afternoon?")
    answer = chat.say("book the first one for “Measure the loading time on a slow phone”")

    slot = re.search(rf"- {day:%a} (\d+ \w+), (\d\d:\d\d)–", offered)
    assert slot, offered
    assert f"{slot[1]} {slot[2]}" in answer, offered


def test_task_that_the_user_looks_at_is_meant_by_this(start: Callable[..., Any]) -> None:
    chat = start()
    task = Task.objects.get(title="Paint the ceiling")

    chat.say("Set the priority of this task to 1.", {"type": "task", "entity_id": str(task.pk)})

    task.refresh_from_db()
    assert (chat.ops, task.priority) == (["onto.task.update"], 1)


@for_each(
    "message, expected",
    [
        ("What should I do first today?", "open tasks due by then"),
        (
            "I need a project for my birthday party with tasks invite friends, order cake",
            "“Birthday party” with 2 tasks",
        ),
        ("put “Sell the old fridge” in my calendar tomorrow at 3pm", "Scheduled “Sell the old fridge”"),
        ("start working on “Collect partner logos”", "state_key todo → in_progress"),
        ("Make “Collect partner logos” high priority", "priority 3 → 2"),
        ("postpone “Order the worktop” by a week", "Changed “Order the worktop”: due_at"),
        ("Schedule Plan the launch day for two hours", "Scheduled “Plan the launch day”"),
        ("how is the website relaunch going?", "**Website relaunch** — active"),
        ("What are the biggest risks?", "8 risks:"),
        ("write a note “Paint” for the kitchen renovation. It says: white.", "Created the document “Paint”"),
        ("add a task “A” to the project “Moon base”", "I found no project named “Moon base”. Which project"),
        ("Can you send an email to Ines?", "I cannot do that."),
        ("What's the weather like?", "I did not understand that."),
        ("Zeig mir meine Aufgaben", "in English"),
        ("🙂", "I did not understand that."),
        ("thanks!", "You are welcome."),
        ("move the event “Lunch with Jonas” tomorrow to 14:30", "end_at"),
        ("delete all tasks", "I change one row at a time."),
        ("Add a subtask “A” to “Plan the launch day”", "I cannot do that."),
    ],
    undone=True,
)
def test_messages_of_curious_people_are_done_or_answered_plainly(
    start: Callable[..., Any], message: str, expected: str
) -> None:
    chat = start()

    assert expected in chat.say(message)


@for_each("time", ["at 5pm", "17:00", "by 5 pm"], undone=True)
def test_due_date_keeps_its_time_of_day(start: Callable[..., Any], time: str) -> None:
    chat = start()

    chat.say(f"Add a task “Call mom” due tomorrow {time}")
    chat.say("2")

    due = Task.objects.get(title="Call mom").due_at
    assert due is not None
    assert due.astimezone(ZoneInfo("Europe/Berlin")).hour == 17


def test_tip_of_a_suggestion_works_as_it_stands(start: Callable[..., Any]) -> None:
    chat = start()
    tip = chat.say("Find a free hour next week.").rpartition("for example: ")[2]

    assert "Scheduled “Plan the launch day”" in chat.say(tip)


def test_question_about_open_tasks_keeps_to_the_project_that_it_names(start: Callable[..., Any]) -> None:
    chat = start()

    kitchen = chat.say("What is on my plate in the kitchen renovation?")

    assert "in **Kitchen renovation**" in kitchen
    assert "Review the pricing page" not in kitchen
    assert "Review the pricing page" in chat.say("What is on my plate today?")
