"""Files in the chat: uploaded to the gateway, attached to messages, and what the model is told of them."""

from typing import Any

import orjson
import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.http import HttpResponse

from chat import access
from chat.api import base, files
from chat.conversations import transcript
from chat.events import event_writer
from chat.models import Message, Profile
from chat.pages.markdown_export import render_conversation
from chat.turns import turn_runner
from gateway.models import StoredFile
from tests.support.async_views import AsyncViewClient
from tests.support.chat.chat import ChatHarness
from tests.support.loops import for_each
from workspace.demo import DEMO_SUBJECT

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.support.chat.chat_urls")]

CSV = b"name,amount\nAna,1\n"
NAME = "attachment; filename*=UTF-8''Rechnung%20%C3%BC.csv"
FILE = {"id": "e5e91e93-5f0c-4d8e-9a55-0d6c3f1b7a10", "name": "a.csv", "content_type": "text/csv", "size": 52}


@pytest.fixture(autouse=True)
def _no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn_runner, "start_thread", lambda *_, **__: None)
    monkeypatch.setattr(event_writer, "add_turn", lambda *_: None)
    for module, name in ((base, "run_in_thread"), (access, "run_in_thread"), (files, "run_upload")):
        monkeypatch.setattr(module, name, lambda work: sync_to_async(work)())


@pytest.fixture
def person() -> AsyncViewClient:
    """A browser of a user who is the demo subject."""
    user = User.objects.create_user("ana")
    Profile.objects.create(user=user, subject=DEMO_SUBJECT)
    browser = AsyncViewClient()
    browser.force_login(user)
    return browser


def upload(person: AsyncViewClient, content: bytes = CSV, type: str = "text/csv", **headers: str) -> HttpResponse:
    sent = {"Content-Disposition": NAME} | {name.replace("_", "-"): value for name, value in headers.items()}
    return person.generic("POST", "/chat/api/files", content, content_type=type, headers=sent)


def test_a_file_is_stored_for_the_user(chat: ChatHarness, person: AsyncViewClient) -> None:
    response = upload(person)

    assert response.status_code == 200, response.content
    assert {**response.json(), "id": "", "url": ""} == {
        "id": "",
        "name": "Rechnung ü.csv",
        "content_type": "text/csv",
        "size": len(CSV),
        "url": "",
    }
    file = StoredFile.objects.get(pk=response.json()["id"])
    assert (file.subject, bytes(file.content)) == (DEMO_SUBJECT, CSV)


def test_strangers_and_other_sites_store_nothing(chat: ChatHarness, person: AsyncViewClient) -> None:
    assert upload(AsyncViewClient()).status_code == 401
    strict = AsyncViewClient(enforce_csrf_checks=True)
    strict.cookies = person.cookies
    assert upload(strict).json()["error"]["code"] == "csrf_failed"
    assert not StoredFile.objects.exists()


# what is sent, status, code
REFUSED: list[tuple[dict[str, Any], int, str]] = [
    ({"type": "multipart/form-data; boundary=x"}, 415, "unsupported_media_type"),
    ({"type": "application/x-www-form-urlencoded"}, 415, "unsupported_media_type"),
    ({"Content_Disposition": ""}, 400, "invalid_request"),
    ({"Content_Disposition": "attachment"}, 400, "invalid_request"),
    ({"type": "image/png"}, 415, "file_type_mismatch"),  # by the gateway
    ({"content": b""}, 400, "empty_file"),
]


@for_each("fields, status, code", REFUSED)
def test_a_wrong_upload_is_refused(
    chat: ChatHarness, person: AsyncViewClient, fields: dict[str, Any], status: int, code: str
) -> None:
    response = upload(person, **fields)
    assert (response.status_code, response.json()["error"]["code"]) == (status, code)


def test_the_model_is_told_of_files_now_and_later(chat: ChatHarness) -> None:
    first = chat.say("Send this on", files=[FILE])
    second = chat.say("And again", session=str(first.conversation.pk))

    told = "Send this on\n\nAttached files. An op that takes a file takes the id:\n- a.csv (text/csv, 52 bytes): #t"
    assert first.requests[0]["messages"][-1]["content"].startswith(told)
    assert any(each["content"].startswith(told) for each in second.requests[0]["messages"] if each["role"] == "user")
    assert second.requests[0]["messages"][-1]["content"].startswith("And again\n\n[Sent ")
    shown = transcript.read_shown(DEMO_SUBJECT, str(first.conversation.pk))["messages"]
    assert [each["files"] for each in shown if each["role"] == "user"] == [[FILE], []]
    assert "- File: a.csv" in render_conversation(first.conversation, transcript.load_shown(first.conversation))


def test_an_edited_question_keeps_its_files(chat: ChatHarness) -> None:
    first = chat.say("Send this on", files=[FILE])

    edited = chat.replace(first, message="Send this to Ana")

    assert "a.csv" in edited.requests[0]["messages"][-1]["content"]
    assert Message.objects.get(text="Send this to Ana").files == [FILE]


def send(person: AsyncViewClient, **body: Any) -> HttpResponse:
    return person.post("/chat/api/stream", orjson.dumps(body).decode(), content_type="application/json")


def test_a_message_has_the_files_that_were_uploaded(chat: ChatHarness, person: AsyncViewClient) -> None:
    stored = upload(person).json()

    assert send(person, message="Send this on", files=[stored]).status_code == 200

    described = {name: stored[name] for name in ("id", "name", "content_type", "size")}
    question = Message.objects.get(role="user")
    assert question.files == [described]
    page = person.get(f"/chat/c/{question.conversation_id}/").content.decode()
    assert '<li class="chip"><span>Rechnung ü.csv</span></li>' in page


WRONG_FILES = [
    [{**FILE, "id": "x"}],
    [{**FILE, "name": "a\nb"}],
    [{**FILE, "content_type": "text/ü"}],
    [{**FILE, "size": -1}],
    [{"id": FILE["id"]}],
    [FILE] * 11,
]


@for_each("wrong", WRONG_FILES)
def test_wrong_files_are_refused(chat: ChatHarness, person: AsyncViewClient, wrong: Any) -> None:
    response = send(person, message="Send this on", files=wrong)
    assert (response.status_code, response.json()["error"]["code"]) == (400, "invalid_request")
    assert "files" in response.json()["error"]["message"]


def test_files_need_a_message(chat: ChatHarness, person: AsyncViewClient) -> None:
    assert "Send either message or decision" in send(person, files=[FILE]).json()["error"]["message"]


def test_the_page_of_connections_opens_with_a_link(chat: ChatHarness, person: AsyncViewClient, settings: Any) -> None:
    settings.GATEWAY_URL = "https://gateway.example.com"

    response = person.get("/chat/connections/")

    assert (response.status_code, response.headers["Cache-Control"]) == (302, "no-store")
    assert response.headers["Location"].startswith("https://gateway.example.com/connect/user/open?token=")
    settings.GATEWAY_URL = ""
    assert person.get("/chat/connections/").status_code == 502
    assert "/chat/sign-in/" in AsyncViewClient().get("/chat/connections/").headers["Location"]
