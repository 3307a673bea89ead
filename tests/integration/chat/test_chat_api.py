"""The chat's API: who may call it, what it refuses, and the conversations of a subject."""

import uuid
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any
from unittest.mock import Mock

import orjson
import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import RequestFactory
from django.utils import timezone

from analytics.events import event_log
from analytics.events.models import OperationEvent
from analytics.turns.models import Feedback, ToolSelection
from chat import access
from chat.api import base, stream
from chat.api.stream import MAX_STREAMS
from chat.conversations import retention, start_turn
from chat.conversations.start_turn import UserDecision
from chat.errors import ApiError
from chat.events import event_writer, failed_turns
from chat.models import Conversation, EventChunk, Message, Profile, ToolCall
from chat.turns import turn_runner
from core import http
from core.sign_in import second_factor
from core.text import lists
from gateway.jobs import subject_data
from tests.support.async_views import AsyncViewClient
from tests.support.chat.chat import ChatHarness, exec_call
from tests.support.loops import for_each
from workspace.demo import DEMO_PROJECT_ID, DEMO_SUBJECT

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.support.chat.chat_urls")]


@pytest.fixture(autouse=True)
def _no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start turns without running them: their threads would not see the test's transaction."""
    monkeypatch.setattr(turn_runner, "start_thread", lambda *_, **__: None)
    monkeypatch.setattr(event_writer, "add_turn", lambda *_: None)
    monkeypatch.setattr(base, "run_in_thread", lambda work: sync_to_async(work)())
    monkeypatch.setattr(failed_turns, "_next_marking", 0.0)
    monkeypatch.setattr(access, "run_in_thread", lambda check: sync_to_async(check)())
    monkeypatch.setattr(stream, "_subjects", {})  # no test reads its streams to their end
    access.clear_cache()


@pytest.fixture
def person() -> AsyncViewClient:
    """A browser of a user who is the demo subject."""
    user = User.objects.create_user("ana", password="a long pass phrase")
    Profile.objects.create(user=user, subject=DEMO_SUBJECT)
    browser = AsyncViewClient()
    browser.force_login(user)
    return browser


def send(client: AsyncViewClient, body: Any, **headers: str) -> HttpResponse:
    return client.post("/chat/api/stream", body, content_type="application/json", headers=headers)


def send_raw(client: AsyncViewClient, path: str, body: bytes) -> HttpResponse:
    return client.generic("POST", f"/chat/api/{path}", body, content_type="application/json")


def get_code(response: HttpResponse) -> tuple[int, str]:
    error = response.json()["error"]
    assert set(error) == {"code", "message", "retryable"}
    return response.status_code, error["code"]


def make_conversation(title: str = "Late tasks", subject: str = DEMO_SUBJECT, **fields: Any) -> Conversation:
    conversation = Conversation.objects.create(subject=subject, title=title, **fields)
    Message.objects.create(conversation=conversation, position=1, role="user", text=f"About {title}")
    Message.objects.create(conversation=conversation, position=2, role="assistant", text="Yes.", finish="stop")
    return conversation


# --- who may call -----------------------------------------------------------------------------------------------------


@for_each("body", [{"message": "Hello"}, {}])  # who asks is checked before what
def test_strangers_are_asked_to_sign_in(body: dict[str, str]) -> None:
    assert get_code(send(AsyncViewClient(), body)) == (401, "not_signed_in")


def test_user_without_a_profile_is_told_who_can_help() -> None:
    browser = AsyncViewClient()
    browser.force_login(User.objects.create_user("ben"))

    assert get_code(browser.get("/chat/api/sessions")) == (403, "no_profile")


def test_session_without_the_second_factor_of_its_user_is_none(person: AsyncViewClient) -> None:
    session = person.session
    request = RequestFactory().get("/chat/api/sessions")
    request.COOKIES[settings.SESSION_COOKIE_NAME] = session.session_key or ""
    assert access.identify_person(request).subject == DEMO_SUBJECT
    session[second_factor.ASKED_FOR] = ["totp"]
    session.save()

    with pytest.raises(ApiError) as refused:
        access.identify_person(request)

    assert (refused.value.status, refused.value.code) == (401, "not_signed_in")


def test_other_sites_cannot_send_with_a_session(person: AsyncViewClient) -> None:
    strict = AsyncViewClient(enforce_csrf_checks=True)
    strict.cookies = person.cookies

    assert get_code(send(strict, {"message": "Hello"})) == (403, "csrf_failed")
    assert strict.get("/chat/api/sessions").status_code == 200


def test_service_speaks_for_a_subject_with_a_key_of_the_gateway(chat: ChatHarness) -> None:
    headers = {"Authorization": f"Bearer {chat.credentials.key}", "Gateway-Subject": "somebody"}

    assert send(AsyncViewClient(enforce_csrf_checks=True), {"message": "Hello"}, **headers).status_code == 200
    assert Conversation.objects.get().subject == "somebody"


@pytest.mark.parametrize(
    ("headers", "refusal"),
    [
        ({"Authorization": "Basic eDp5"}, (401, "not_signed_in")),
        ({"Authorization": "Bearer wrong", "Gateway-Subject": "a"}, (401, "not_signed_in")),
        ({"Authorization": "Bearer wrong"}, (400, "invalid_request")),
        ({"Authorization": "Bearer wrong", "Gateway-Subject": "zoë"}, (400, "invalid_request")),
        ({"Authorization": "Bearer wrong", "Gateway-Subject": "Ana M"}, (400, "invalid_request")),
        ({"Authorization": "Bearer wrong", "Gateway-Subject": "a" * 201}, (400, "invalid_request")),
    ],
)
def test_wrong_keys_are_refused(chat: ChatHarness, headers: dict[str, str], refusal: tuple[int, str]) -> None:
    assert get_code(send(AsyncViewClient(), {"message": "Hello"}, **headers)) == refusal


def list_as_service(chat: ChatHarness) -> HttpResponse:
    return AsyncViewClient().get("/chat/api/sessions", headers=get_service_headers(chat))


def get_service_headers(chat: ChatHarness) -> dict[str, str]:
    return {"Authorization": f"Bearer {chat.credentials.key}", "Gateway-Subject": chat.credentials.subject}


def answer_with(status: int, **headers: str) -> Callable[..., http.Response]:
    """Return a gateway that gives the same answer to each call."""
    body = orjson.dumps({"ok": False, "error": {"message": "The gateway's words.", "details": {"reason": "x"}}})
    return lambda _, url, **__: http.Response(status, url, headers, body, 0)


@pytest.mark.parametrize(
    ("status", "refusal", "retry_after"),
    [
        (401, (401, "not_signed_in"), None),
        (403, (403, "forbidden"), None),
        (404, (503, "gateway_unavailable"), "7"),  # not the gateway, but something else that listens there
        (429, (429, "rate_limited"), "7"),
        (429, (429, "rate_limited"), "5"),  # as long as a check may take: there is no time to wait
        (500, (503, "gateway_unavailable"), "7"),
        (503, (503, "gateway_unavailable"), "7"),
    ],
)
def test_answers_about_a_key_keep_their_meaning(
    chat: ChatHarness, status: int, refusal: tuple[int, str], retry_after: str | None
) -> None:
    chat.gateway = answer_with(status, **{"retry-after": retry_after or "7"})

    response = list_as_service(chat)

    assert get_code(response) == refusal
    assert response.json()["error"]["retryable"] is (retry_after is not None)
    assert retry_after is None or response.headers.get("Retry-After") == retry_after


def test_key_that_may_not_serve_turns_reads_no_conversation(
    chat: ChatHarness, make_key: Callable[..., str], person: AsyncViewClient
) -> None:
    conversation = make_conversation()
    headers = {"Authorization": f"Bearer {make_key(scopes=['help'])}", "Gateway-Subject": DEMO_SUBJECT}
    path = f"/chat/api/sessions/{conversation.pk}"

    for response in (
        AsyncViewClient().get("/chat/api/sessions", headers=headers),
        AsyncViewClient().get(f"{path}/export", headers=headers),
        AsyncViewClient().delete(path, headers=headers),
    ):
        assert get_code(response) == (403, "forbidden")
        assert "scope toolset" in response.json()["error"]["message"]
    assert person.get(path).status_code == 200


def test_revoked_key_reads_nothing_after_two_seconds(chat: ChatHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    send_as_service = partial(send, AsyncViewClient(), {"message": "Hello"}, **get_service_headers(chat))
    assert list_as_service(chat).status_code == 200
    chat.gateway = answer_with(401)

    assert list_as_service(chat).status_code == 200  # remembered
    monkeypatch.setattr(access, "REMEMBERED_SECONDS", 0.0)  # as if they were over
    assert send_as_service().status_code == 200  # the gateway judges the calls of the turn
    assert get_code(list_as_service(chat)) == (401, "not_signed_in")
    assert get_code(send_as_service()) == (401, "not_signed_in")  # once the refusal is known


def test_check_of_a_key_leaves_no_trace_in_the_gateway(chat: ChatHarness) -> None:
    assert list_as_service(chat).status_code == 200

    assert chat.gateway_calls == [("POST", "telemetry", {})]
    event_log.flush()
    assert not OperationEvent.objects.exists()
    assert not ToolSelection.objects.exists()


# --- requests ---------------------------------------------------------------------------------------------------------


@for_each(
    "body",
    [
        {},
        [],
        {"message": ""},
        {"message": "x" * 20_001},
        {"message": "Hello", "sesion_id": "x"},
        {"message": "Hello", "session_id": "x"},
        {"message": "Hello", "context": {"type": "project"}},
        {"message": "Hello", "context": {"type": "moon"}},
        {"message": "Hello", "decision": {"call_id": str(uuid.uuid4()), "approve": True}},
        {"decision": {"call_id": str(uuid.uuid4()), "approve": True}},
        {"decisions": [{"call_id": str(uuid.uuid4()), "approve": True}]},
        {"session_id": str(uuid.uuid4()), "decisions": []},
        {"session_id": str(uuid.uuid4()), "decisions": 2 * [{"call_id": str(uuid.UUID(int=1)), "approve": True}]},
        {"replaces": str(uuid.uuid4())},
        {"message": 5},
    ],
)
def test_malformed_requests_are_refused_and_store_nothing(person: AsyncViewClient, body: Any) -> None:
    assert get_code(send(person, body)) == (400, "invalid_request")
    assert not Conversation.objects.exists()


def test_body_that_is_too_large_is_refused(person: AsyncViewClient, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000

    assert get_code(send(person, {"message": "x" * 2_000})) == (413, "too_large")
    assert get_code(send_raw(person, "ag-ui", b"x" * 2_000)) == (413, "too_large")


def test_events_of_an_old_turn_are_gone(person: AsyncViewClient) -> None:
    turn = make_conversation().messages.get(role="assistant")

    assert get_code(person.get("/chat/api/stream", headers={"Last-Event-ID": f"{turn.pk}:3"})) == (404, "not_found")


@pytest.mark.parametrize(
    ("finish", "number", "status"),
    [
        ("stop", 1, 200),
        ("stop", 2, 204),
        ("stop", 99, 204),
        ("interrupted", 2, 200),
        ("interrupted", 3, 204),
        ("", 2, 200),
    ],
)
def test_nothing_comes_after_the_last_event(person: AsyncViewClient, finish: str, number: int, status: int) -> None:
    turn = make_conversation().messages.get(role="assistant")
    Message.objects.filter(pk=turn.pk).update(finish=finish)
    EventChunk.objects.create(message=turn, first=1, last=2, events='[["text", {"delta": "a"}], ["done", {}]]')

    response = person.get("/chat/api/stream", headers={"Last-Event-ID": f"{turn.pk}:{number}"})

    assert response.status_code == status


def test_message_begins_a_conversation_at_its_place(person: AsyncViewClient) -> None:
    context = {"type": "project", "project_id": DEMO_PROJECT_ID}

    response = send(person, {"message": "  Which tasks are late?\n", "context": context})

    assert response.headers["Content-Type"] == "text/event-stream; charset=utf-8"
    conversation = Conversation.objects.get()
    assert (conversation.title, conversation.context) == ("Which tasks are late?", context)
    assert [(each.role, each.finish) for each in conversation.messages.all()] == [("user", ""), ("assistant", "")]


def test_conversation_answers_one_message_at_a_time(person: AsyncViewClient) -> None:
    send(person, {"message": "One"})
    session = str(Conversation.objects.get().pk)

    assert get_code(send(person, {"message": "Two", "session_id": session})) == (409, "turn_running")
    assert Message.objects.count() == 2


def test_conversations_of_others_do_not_exist(person: AsyncViewClient) -> None:
    foreign = make_conversation(subject="somebody-else")
    turn = foreign.messages.get(role="assistant")
    path = f"/chat/api/sessions/{foreign.pk}"

    assert get_code(send(person, {"message": "Hello", "session_id": str(foreign.pk)})) == (404, "not_found")
    assert get_code(person.get(path)) == (404, "not_found")
    assert get_code(person.delete(path)) == (404, "not_found")
    assert get_code(person.post(f"{path}/cancel", content_type="application/json")) == (404, "not_found")
    assert get_code(person.get("/chat/api/stream", headers={"Last-Event-ID": f"{turn.pk}:0"})) == (404, "not_found")


def test_messages_of_a_minute_are_limited(person: AsyncViewClient) -> None:
    for _ in range(start_turn.MAX_MESSAGES_A_MINUTE):
        make_conversation()

    response = send(person, {"message": "One more"})

    assert get_code(response) == (429, "rate_limited")
    assert 1 <= int(response.headers["Retry-After"]) <= 61
    assert not Message.objects.filter(text="One more").exists()


def test_streams_that_follow_a_turn_are_limited(person: AsyncViewClient) -> None:
    turn = make_conversation().messages.get(role="assistant")
    EventChunk.objects.create(message=turn, first=1, last=1, events='[["done", {}]]')
    follow = partial(person.get, "/chat/api/stream", headers={"Last-Event-ID": f"{turn.pk}:0"})
    streams = [follow() for _ in range(MAX_STREAMS)]

    refused = follow()

    assert {each.status_code for each in streams} == {200}
    assert get_code(refused) == (429, "rate_limited")
    assert int(refused.headers["Retry-After"]) > 0


def test_streams_of_other_protocols_and_subjects_are_counted_apart_from_those_of_turns(
    chat: ChatHarness, person: AsyncViewClient
) -> None:
    post(person, "ai-sdk", {"id": "chat-1", "messages": [AI_SDK_MESSAGE]})
    streams = [person.get("/chat/api/ai-sdk/chat-1/stream") for _ in range(MAX_STREAMS + 1)]

    assert [each.status_code for each in streams] == [200] * MAX_STREAMS + [429]
    assert send(person, {"message": "Hello"}).status_code == 200
    turn = make_conversation(subject="somebody").messages.get(role="assistant")
    EventChunk.objects.create(message=turn, first=1, last=1, events='[["done", {}]]')
    headers = get_service_headers(chat) | {"Gateway-Subject": "somebody", "Last-Event-ID": f"{turn.pk}:0"}
    assert AsyncViewClient().get("/chat/api/stream", headers=headers).status_code == 200


def test_dead_turn_does_not_block_the_next_message(person: AsyncViewClient, monkeypatch: pytest.MonkeyPatch) -> None:
    send(person, {"message": "One"})
    Message.objects.filter(role="assistant").update(held_until=timezone.now() - timedelta(seconds=60))
    monkeypatch.setattr(failed_turns, "_next_marking", 0.0)

    response = send(person, {"message": "Two", "session_id": str(Conversation.objects.get().pk)})

    assert response.status_code == 200
    assert [each.finish for each in Message.objects.filter(role="assistant")] == ["interrupted", ""]


def test_other_methods_and_paths_are_errors_in_json(person: AsyncViewClient) -> None:
    response = person.put("/chat/api/stream")

    assert (get_code(response), response.headers["Allow"]) == ((405, "method_not_allowed"), "POST, GET")
    assert get_code(person.get("/chat/api/nothing")) == (404, "not_found")


# --- conversations ----------------------------------------------------------------------------------------------------


def test_list_search_and_pages(person: AsyncViewClient) -> None:
    for number in range(60):
        make_conversation(f"Topic {number}", updated_at=timezone.now() - timedelta(minutes=number))

    first = person.get("/chat/api/sessions").json()
    second = person.get("/chat/api/sessions", {"cursor": first["next_cursor"]}).json()

    titles = [each["title"] for each in first["conversations"] + second["conversations"]]
    assert titles == [f"Topic {number}" for number in range(60)]
    assert "next_cursor" not in second
    matches = person.get("/chat/api/sessions", {"q": "about topic 7"}).json()["conversations"]
    assert [each["title"] for each in matches] == ["Topic 7"]


@pytest.mark.both_databases
@for_each(
    "parameters",
    [
        {"cursor": "x"},
        {"cursor": lists.encode_cursor("2026-01-01T00:00:00+00:00 no-id")},
        {"cursor": lists.encode_cursor(f"yesterday {DEMO_PROJECT_ID}")},
        {"cursor": lists.encode_cursor(f"0001-01-01T00:00:00+14:00 {DEMO_PROJECT_ID}")},  # before the first year of UTC
        {"cursor": lists.encode_cursor("\x00")},
        {"q": "a\x00b"},
    ],
)
def test_list_refuses_what_it_cannot_look_for(person: AsyncViewClient, parameters: dict[str, str]) -> None:
    assert get_code(person.get("/chat/api/sessions", parameters)) == (400, "invalid_request")


def test_whole_conversation_has_its_cards(chat: ChatHarness, person: AsyncViewClient) -> None:
    turn = chat.say("Urgent?", [exec_call("onto.task.list", limit=1)], "One.")

    whole = person.get(f"/chat/api/sessions/{turn.conversation.pk}").json()

    question, answer = whole["messages"]
    assert (question["text"], answer["text"], answer["finish"]) == ("Urgent?", "One.", "stop")
    assert answer["calls"][0]["op"] == "onto.task.list"
    assert answer["calls"][0]["envelope"] == turn.of_type("tool")[1]["envelope"]
    assert answer["layers"] == turn.of_type("context")[0]["layers"]
    exported = person.get(f"/chat/api/sessions/{turn.conversation.pk}/export")
    stored = {"version_of": None, "hidden_under": None}
    for message in whole["messages"]:
        assert message.pop("versions") == [message["id"]]
    assert exported.json() == {**whole, "messages": [each | stored for each in whole["messages"]]}
    assert "attachment" in exported.headers["Content-Disposition"]


def test_thumb_is_passed_on_to_the_gateway_and_stored(chat: ChatHarness, person: AsyncViewClient) -> None:
    turn = chat.say("Which tasks are late?", "None.")
    session = f"/chat/api/sessions/{turn.conversation.pk}"
    path = f"{session}/messages/{turn.message.pk}/feedback"
    rate = partial(person.post, content_type="application/json")

    assert rate(path, {"thumb": "up"}).status_code == 204
    assert rate(path, {"thumb": "down", "reason": "One is."}).status_code == 204
    row = Feedback.objects.get()
    assert (row.session, row.turn, row.subject) == (str(turn.conversation.pk), str(turn.message.pk), DEMO_SUBJECT)
    assert (row.thumb, row.reason, row.cohort) == ("down", "One is.", "demo")
    answer = person.get(session).json()["messages"][-1]
    assert (answer["thumb"], answer["thumb_reason"]) == ("down", "One is.")

    assert get_code(rate(path, {"thumb": "sideways"})) == (400, "invalid_request")
    assert get_code(rate(f"{session}/messages/{uuid.uuid4()}/feedback", {"thumb": "up"})) == (404, "not_found")
    chat.gateway = answer_with(500)
    assert get_code(rate(path, {"thumb": "up"})) == (503, "gateway_refused")
    assert Message.objects.get(pk=turn.message.pk).thumb == "down"


def test_token_of_a_confirmation_is_never_shown(chat: ChatHarness, person: AsyncViewClient) -> None:
    turn = chat.say("Delete", [exec_call("onto.task.delete", task_id="7e3b9f20-1c4d-4a8b-8e55-2d90c6fa3b01")])

    assert turn.calls[0].confirmation
    assert b'"token"' not in person.get(f"/chat/api/sessions/{turn.conversation.pk}").content


def test_title_of_a_person_stays(chat: ChatHarness, person: AsyncViewClient) -> None:
    conversation = make_conversation()
    path = f"/chat/api/sessions/{conversation.pk}"

    renamed = person.patch(path, {"title": "Mine"}, content_type="application/json").json()

    assert (renamed["title"], renamed["title_by"]) == ("Mine", "person")
    assert get_code(person.patch(path, {"title": " "}, content_type="application/json")) == (400, "invalid_request")


def test_deleted_conversation_is_gone_and_its_rows_follow(person: AsyncViewClient) -> None:
    conversation = make_conversation()

    assert person.delete(f"/chat/api/sessions/{conversation.pk}").status_code == 204
    assert person.get("/chat/api/sessions").json() == {"conversations": []}
    retention.delete_conversations(timezone.now() + timedelta(days=2))
    assert not Message.objects.exists()


def test_decision_about_a_call_that_does_not_wait_is_refused(person: AsyncViewClient) -> None:
    conversation = make_conversation()
    body = {"session_id": str(conversation.pk), "decision": {"call_id": str(uuid.uuid4()), "approve": True}}

    assert get_code(send(person, body)) == (409, "not_waiting")


def test_old_rows_are_deleted(settings: Any) -> None:
    settings.CHAT_DAYS = 30
    old = make_conversation(updated_at=timezone.now() - timedelta(days=31))
    new = make_conversation()
    for conversation in (old, new):
        turn = conversation.messages.get(role="assistant")
        EventChunk.objects.create(message=turn, first=1, last=2, events="[]", written_at=conversation.updated_at)

    retention.delete_conversations(timezone.now())
    retention.delete_event_chunks(timezone.now())

    assert list(Conversation.objects.all()) == [new]
    assert EventChunk.objects.count() == 1


def test_forgotten_subject_has_no_conversations(person: AsyncViewClient) -> None:
    make_conversation()
    kept = make_conversation(subject="somebody-else")

    exported = list(subject_data.export_subject(DEMO_SUBJECT))
    subject_data.forget(DEMO_SUBJECT, by="tests", at=timezone.now())

    assert {row["row"] for row in exported} >= {"conversations", "messages"}
    assert list(Conversation.objects.all()) == [kept]


# --- clients of other protocols ---------------------------------------------------------------------------------------


def post(client: AsyncViewClient, path: str, body: Any) -> HttpResponse:
    return client.post(f"/chat/api/{path}", body, content_type="application/json")


def test_clients_bring_their_own_ids_of_conversations(person: AsyncViewClient) -> None:
    for path, body in (
        ("ai-sdk", {"id": "chat-1", "messages": [AI_SDK_MESSAGE], "trigger": "submit-message"}),
        ("ag-ui", AG_UI | {"messages": [AG_UI_MESSAGE]}),
    ):
        assert post(person, path, body).status_code == 200
        assert get_code(post(person, path, body)) == (409, "turn_running")
        Message.objects.filter(finish="").update(finish="stop")
        assert post(person, path, body).status_code == 200
        Message.objects.filter(finish="").update(finish="stop")

    assert Conversation.objects.count() == 2
    assert person.get("/chat/api/ai-sdk/chat-1/stream").status_code == 204


AG_UI = {"threadId": "t", "runId": "r"}
AG_UI_MESSAGE = {"id": "m", "role": "user", "content": "Hello"}
AI_SDK_MESSAGE = {"id": "m", "role": "user", "parts": [{"type": "text", "text": "Hello"}]}


def build_long_thread() -> list[dict[str, Any]]:
    """Return the messages of a client that keeps every answer whole, as both protocols do."""
    rows = [{"id": number, "title": f"Task {number}", "state_key": "todo", "tags": []} for number in range(800)]
    return [{"id": "m", "role": "assistant", "content": "", "parts": [{"output": rows}]} for _ in range(4)]


@pytest.mark.parametrize(
    ("path", "fields", "last"), [("ai-sdk", {"id": "c"}, AI_SDK_MESSAGE), ("ag-ui", AG_UI, AG_UI_MESSAGE)]
)
def test_long_threads_of_clients_are_read(
    person: AsyncViewClient, path: str, fields: dict[str, Any], last: dict[str, Any], settings: Any
) -> None:
    body = {**fields, "messages": [*build_long_thread(), last]}

    assert post(person, path, body).status_code == 200
    assert Message.objects.filter(role="user").get().text == "Hello"
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 10_000
    refused = post(person, path, body)
    assert get_code(refused) == (413, "too_large")
    assert "Send only the last message" in refused.json()["error"]["message"]


def make_waiting_calls(person: AsyncViewClient, path: str, body: dict[str, Any]) -> list[str]:
    """Begin a conversation of another protocol in which two calls wait, and return their ids."""
    assert post(person, path, body).status_code == 200
    turn = Message.objects.get(role="assistant")
    Message.objects.filter(pk=turn.pk).update(finish="ask")
    fields = {"message": turn, "round": 1, "text_before": 0, "name": "tool_exec", "args": "{}", "status": "confirm"}
    return [str(ToolCall.objects.create(position=number, call_id=f"c{number}", **fields).pk) for number in (1, 2)]


@pytest.fixture
def begin(monkeypatch: pytest.MonkeyPatch) -> Mock:
    """Watch the function that begins turns."""
    begin = Mock(wraps=turn_runner.run_in_thread)
    monkeypatch.setattr(turn_runner, "run_in_thread", begin)
    return begin


def test_all_decisions_of_the_page_are_read(person: AsyncViewClient, begin: Mock) -> None:
    first, second = make_waiting_calls(person, "stream", {"message": "Delete them"})
    session = str(ToolCall.objects.get(pk=first).message.conversation_id)
    decisions = [{"call_id": first, "approve": True}, {"call_id": second, "approve": False}]

    assert post(person, "stream", {"session_id": session, "decisions": decisions}).status_code == 200
    assert begin.call_args.args[0].decisions == (UserDecision(first, True), UserDecision(second, False))


def test_all_decisions_of_an_ag_ui_client_are_read(person: AsyncViewClient, begin: Mock) -> None:
    first, second = make_waiting_calls(person, "ag-ui", {**AG_UI, "messages": [AG_UI_MESSAGE]})

    resume = [
        {"interruptId": first, "status": "resolved", "payload": {"approved": True}},
        {"interruptId": second, "status": "cancelled"},
    ]

    assert post(person, "ag-ui", {**AG_UI, "messages": build_long_thread(), "resume": resume}).status_code == 200
    assert begin.call_args.args[0].decisions == (UserDecision(first, True), UserDecision(second, False))


def test_all_approvals_of_an_ai_sdk_client_are_read(person: AsyncViewClient, begin: Mock) -> None:
    first, second = make_waiting_calls(person, "ai-sdk", {"id": "c", "messages": [AI_SDK_MESSAGE]})
    answer = build_long_thread()[0]
    for call_id, approved in ((first, False), (second, True)):
        approval = {"id": call_id, "approved": approved}
        answer["parts"].append({"type": "dynamic-tool", "state": "approval-responded", "approval": approval})

    assert post(person, "ai-sdk", {"id": "c", "messages": [answer]}).status_code == 200
    assert begin.call_args.args[0].decisions == (UserDecision(first, False), UserDecision(second, True))


CALL_ID = "0d9a4c1e-5b7f-4e2a-9c31-6f8e2b7d1aff"
CANCEL = {"interruptId": CALL_ID, "status": "cancelled"}


def build_ai_sdk_body(*parts: Any, **message: Any) -> dict[str, Any]:
    return {"id": "c", "messages": [{"parts": [*parts]} | message]}


def build_approval(approval: Any) -> dict[str, Any]:
    return build_ai_sdk_body({"state": "approval-responded", "approval": approval})


@for_each(
    "path, body, text",
    [
        ("ag-ui", [], "The body must be a JSON object."),
        ("ag-ui", {"threadId": "t", "messages": [AG_UI_MESSAGE]}, "Send runId, a text."),
        ("ag-ui", {"runId": "r", "messages": [AG_UI_MESSAGE]}, "Send threadId, a text"),
        ("ag-ui", AG_UI | {"messages": []}, "The last message must be from the user."),
        ("ag-ui", AG_UI | {"messages": [{"role": "user"}]}, "messages: This field may not be"),
        (
            "ag-ui",
            AG_UI | {"messages": [AG_UI_MESSAGE], "forwardedProps": {"context": {"type": "moon"}}},
            "forwardedProps.context: type: ",
        ),
        ("ag-ui", AG_UI | {"resume": CANCEL}, "Send resume as a list of {interruptId"),
        ("ag-ui", AG_UI | {"resume": ["x"]}, "Send resume as a list of {interruptId"),
        ("ag-ui", AG_UI | {"resume": [CANCEL | {"status": "resolved"}]}, "resume: payload.approved: "),
        ("ag-ui", AG_UI | {"resume": [CANCEL | {"interruptId": "x"}]}, "resume: interruptId: "),
        ("ag-ui", AG_UI | {"resume": [CANCEL] * 2}, "resume: Decide about each call once."),
        ("ag-ui", AG_UI | {"resume": [CANCEL]}, "Send another threadId to begin a new one."),
        ("ai-sdk", {}, "The last message must be from the user, or have an approval."),
        ("ai-sdk", {"messages": [AI_SDK_MESSAGE]}, "Send id, a text"),
        ("ai-sdk", build_ai_sdk_body(role="user", parts=5), "messages: This field may not be blank"),
        ("ai-sdk", build_approval({"id": CALL_ID}), "messages: approval.approved: "),
        ("ai-sdk", build_approval({"approved": True}), "messages: approval.id: "),
        ("ai-sdk", build_ai_sdk_body({"type": "text", "text": "Hi\x00"}, role="user"), "messages: Null characters"),
    ],
)
def test_refusals_name_the_fields_of_the_protocol(person: AsyncViewClient, path: str, body: Any, text: str) -> None:
    response = post(person, path, body)

    message = response.json()["error"]["message"]
    assert response.status_code in (400, 404)
    assert text in message
    assert not any(name in message for name in ("session_id", "call_id", "decision:", "decisions"))
    assert not Conversation.objects.exists()


@for_each("path", ["stream", "ag-ui", "ai-sdk"])
def test_body_that_is_not_json_is_explained_once(person: AsyncViewClient, path: str) -> None:
    message = send_raw(person, path, b'{"a": ').json()["error"]["message"]

    assert message.startswith("The body is not valid JSON: ")
    assert message.endswith(". Send one JSON object.")
    assert message.count("JSON") == 2
    assert get_code(send_raw(person, path, b'{"a": "\\ud800"}')) == (400, "invalid_request")
    assert get_code(send_raw(person, path, b"[" * 5_000)) == (400, "invalid_request")
