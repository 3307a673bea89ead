"""What a client of the chat's API gets for what models do: each turn is sent and read over HTTP.

Turns run within the request that begins them, so that they see the test's transaction.
"""

from typing import Any

import pytest
from asgiref.sync import sync_to_async

from chat import access
from chat.api import base, stream
from chat.events import event_writer, failed_turns
from chat.turns import turn_runner
from tests.support.async_views import AsyncViewClient
from tests.support.chat.chat import ChatHarness, exec_call
from tests.support.chat.fake_llm import build_stream
from workspace.demo import DEMO_PROJECT_ID
from workspace.models import Task

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.support.chat.chat_urls")]
PLACE = {"type": "project", "project_id": DEMO_PROJECT_ID}


class HttpChat:
    """A client with a key, which speaks for the demo user."""

    def __init__(self, chat: ChatHarness) -> None:
        self.chat, self.browser, self.session = chat, AsyncViewClient(), ""
        credentials = chat.credentials
        self._headers = {"Authorization": f"Bearer {credentials.key}", "Gateway-Subject": credentials.subject}

    def send(self, body: dict[str, Any], *answers: Any) -> dict[str, Any]:
        """Send a body and return the last message of the conversation. `answers` are those of the model."""
        streams = [build_stream(each) if isinstance(each, str) else build_stream(calls=each) for each in answers]
        self.chat.llm.answers = streams or [build_stream("Done.")]
        self.chat.llm.bodies.clear()
        body = {**body, **({"session_id": self.session} if self.session else {"context": PLACE})}
        response = self.browser.post("/chat/api/stream", body, content_type="application/json", headers=self._headers)
        assert response.status_code == 200, response.content
        listed = self.browser.get("/chat/api/sessions", headers=self._headers).json()["conversations"]
        self.session = listed[0]["id"]
        whole = self.browser.get(f"/chat/api/sessions/{self.session}", headers=self._headers).json()
        return dict(whole["messages"][-1])

    def say(self, message: str, *answers: Any) -> dict[str, Any]:
        return self.send({"message": message}, *answers)


@pytest.fixture
def client(chat: ChatHarness, monkeypatch: pytest.MonkeyPatch) -> HttpChat:
    monkeypatch.setattr(turn_runner, "start_thread", lambda run, **_: run())
    monkeypatch.setattr(event_writer, "add_turn", lambda *_: None)
    monkeypatch.setattr(base, "run_in_thread", lambda work: sync_to_async(work)())
    monkeypatch.setattr(failed_turns, "_next_marking", 0.0)
    monkeypatch.setattr(access, "run_in_thread", lambda check: sync_to_async(check)())
    monkeypatch.setattr(stream, "_subjects", {})  # no test reads its streams to their end
    access.clear_cache()
    return HttpChat(chat)


def test_rows_of_a_list_are_changed_two_turns_later(client: HttpChat) -> None:
    listed = client.say("List all", [exec_call("onto.task.list", limit=40)], "Here they are.")
    rows = listed["calls"][0]["envelope"]["result"]["tasks"]
    client.say("Thanks", "You are welcome.")
    update = [exec_call("onto.task.update", task_id=rows[at]["id"], priority=1) for at in (2, 13)]
    done = client.say("Set number 3 and number 14 to priority 1", update, "Done.")

    request = next(body for body in client.chat.llm.bodies if body.get("stream"))
    read = "".join(each["content"] for each in request["messages"] if each["role"] == "tool")
    assert all(row["title"] in read for row in rows)
    assert [call["status"] for call in done["calls"]] == ["success", "success"]
    assert Task.objects.filter(pk__in=[rows[2]["id"], rows[13]["id"]], priority=1).count() == 2


def test_typed_answer_decides_nothing_and_the_button_does(client: HttpChat) -> None:
    task = Task.objects.filter(deleted_at=None, recurrence="").first()
    assert task is not None
    delete = [exec_call("onto.task.delete", task_id=str(task.pk))]
    asked = client.say("Delete it", delete)
    again = client.say("Yes please, drop it", delete)

    assert (asked["finish"], again["finish"], again["calls"][0]["status"]) == ("ask", "ask", "confirm")
    decision = {"call_id": again["calls"][0]["id"], "approve": True}
    done = client.send({"decisions": [decision]}, "Deleted.")
    task.refresh_from_db()
    assert (done["finish"], done["text"], task.deleted_at is not None) == ("stop", "Deleted.", True)
    assert [(each["action"], each["entity"]) for each in done["written"]] == [("delete", "task")]


def test_silence_ends_in_words(client: HttpChat) -> None:
    answer = client.say("Hello", "", "")

    assert answer["finish"] == "error"
    assert answer["error"]["message"]


def test_write_that_is_sent_twice_runs_once_and_the_ledger_names_it(client: HttpChat) -> None:
    create = exec_call("onto.task.create", project_id=DEMO_PROJECT_ID, title="Call the printer")
    answer = client.say("Add it", [create, ("again", *create[1:])], "Added.")

    assert Task.objects.filter(title="Call the printer").count() == 1
    assert [(each["action"], each["entity"], each["entity_name"]) for each in answer["written"]] == [
        ("create", "task", "Call the printer")
    ]
    assert "already done" in " ".join(answer["calls"][1]["envelope"]["meta"]["warnings"])
