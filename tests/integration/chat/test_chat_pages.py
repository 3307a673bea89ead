"""The chat's pages as the server renders them: who may see them, what they show, and that no text becomes markup."""

import re
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import Mock

import pytest
import time_machine
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client as HttpClient
from django.test import override_settings
from django.urls import clear_url_caches

from chat.models import Conversation, Message, Profile, ToolCall
from config import csp
from core.sign_in import second_factor, throttle
from core.sign_in.throttle import PAIR_LIMIT
from tests.support.chat.fake_llm import LLM_KEY, FakeLlm, build_stream
from tests.support.console.totp import build_code
from tests.support.upstreams.http_servers import build_response

pytestmark = pytest.mark.django_db

PASSWORD = "a password of ana"
SUBJECT = "subject-of-ana"
HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>\"'&"
AT = datetime(2030, 1, 1, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _chat_urls() -> Any:
    with override_settings(ROOT_URLCONF="config.chat.urls", LOGIN_URL="chat_sign_in"):
        clear_url_caches()
        yield
    clear_url_caches()


@pytest.fixture
def ana(db: None) -> User:
    user = User.objects.create_user("ana", password=PASSWORD)
    Profile.objects.create(user=user, subject=SUBJECT)
    return user


@pytest.fixture
def http(client: HttpClient, ana: User) -> HttpClient:
    client.force_login(ana, backend="django.contrib.auth.backends.ModelBackend")
    return client


def create_answer(*, text: str = "", question: str = "A question", calls: Any = (), **fields: Any) -> Conversation:
    conversation = Conversation.objects.create(subject=SUBJECT, title="A title")
    Message.objects.create(conversation=conversation, position=1, role="user", text=question)
    answer = Message.objects.create(
        **{"conversation": conversation, "position": 2, "role": "assistant", "text": text, "finish": "stop"} | fields
    )
    for position, call in enumerate(calls, start=1):
        values = {"message": answer, "position": position, "round": 1, "text_before": 0, "call_id": f"call_{position}"}
        ToolCall.objects.create(**values | {"name": "tool_exec", "args": "{}", "status": "success"} | call)
    return conversation


def read_page(http: HttpClient, conversation: Conversation) -> str:
    response = http.get(f"/chat/c/{conversation.pk}/")
    assert response.status_code == 200
    return response.content.decode()


# --- who may see them -------------------------------------------------------------------------------------------------


def test_strangers_sign_in_and_come_back(client: HttpClient, ana: User) -> None:
    page = f"/chat/c/{create_answer().pk}/"
    response = client.get(page)
    assert response.headers["Location"] == f"/chat/sign-in/?next={page.replace('/', '%2F')}"

    form = client.get(response.headers["Location"])
    assert f'name="next" value="{page}"' in form.content.decode()
    signed_in = client.post("/chat/sign-in/", {"username": "ana", "password": PASSWORD, "next": page})
    assert signed_in.headers["Location"] == page
    assert client.get(page).status_code == 200
    assert client.get("/chat/sign-in/").headers["Location"] == "/chat/"
    assert client.post("/chat/sign-out/").headers["Location"] == "/chat/sign-in/"
    assert client.get(page).status_code == 302


def test_second_factor_is_asked_for_before_any_page(client: HttpClient, ana: User) -> None:
    secret = generate_totp_secret()
    TOTP.activate(ana, secret)
    page = f"/chat/c/{create_answer().pk}/"
    client.post("/chat/sign-in/", {"username": "ana", "password": PASSWORD})

    asked = client.get(page).headers["Location"]
    assert asked == f"/chat/second-factor/?next={page.replace('/', '%2F')}"
    assert "Enter the code that your authenticator app shows" in client.get(asked).content.decode()
    assert second_factor.is_pending(client.session)

    answer = client.post("/chat/second-factor/", {"code": build_code(secret), "next": page})
    assert (answer.status_code, answer.headers["Location"]) == (302, page)
    assert client.get(page).status_code == 200


def test_passkey_is_asked_for_if_there_is_no_app(client: HttpClient, ana: User) -> None:
    Authenticator.objects.create(user=ana, type=Authenticator.Type.WEBAUTHN, data={"name": "A key", "credential": {}})
    client.post("/chat/sign-in/", {"username": "ana", "password": PASSWORD})

    assert client.get("/chat/").headers["Location"] == "/chat/second-factor/passkey/?next=%2Fchat%2F"


def test_sign_in_leads_to_no_other_site(client: HttpClient, ana: User) -> None:
    fields = {"username": "ana", "password": PASSWORD, "next": "https://evil.example/"}
    assert client.post("/chat/sign-in/", fields).headers["Location"] == "/chat/"


def test_wrong_password_is_said_on_the_form(client: HttpClient, ana: User) -> None:
    response = client.post("/chat/sign-in/", {"username": "ana", "password": "wrong"})

    assert response.status_code == 200
    assert "The user name or the password is wrong." in response.content.decode()
    assert "wrong</" not in response.content.decode()


def test_locked_sign_in_says_until_when(client: HttpClient, ana: User) -> None:
    with time_machine.travel(AT, tick=False) as clock:
        responses = [client.post("/chat/sign-in/", {"username": "ana", "password": "wrong"}) for _ in range(PAIR_LIMIT)]
        clock.shift(timedelta(minutes=5, seconds=1))
        responses.append(client.post("/chat/sign-in/", {"username": "ana", "password": PASSWORD}))

    assert [each.status_code for each in responses[-2:]] == [429, 429]
    page = responses[-1].content.decode()
    assert re.search(r"Try again after \d\d:\d\d UTC, in \d+ minute", page)
    assert 'value="ana"' in page
    assert int(responses[-1].headers["Retry-After"]) > 0


def test_busy_password_hashing_is_said_on_the_form(
    client: HttpClient, ana: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chat.pages.sign_in.LoginView.post", Mock(side_effect=throttle.PasswordHashingBusy))
    response = client.post("/chat/sign-in/", {"username": "ana", "password": PASSWORD})

    assert response.status_code == 429
    assert "The server is checking other passwords." in response.content.decode()


def test_user_without_profile_is_told_who_can_help(client: HttpClient) -> None:
    client.force_login(User.objects.create(username="bob"), backend="django.contrib.auth.backends.ModelBackend")
    response = client.get("/chat/")

    assert response.status_code == 403
    assert "Ask an administrator to add one in the console under Chat profiles." in response.content.decode()


def test_conversations_of_others_do_not_exist(http: HttpClient) -> None:
    foreign = Conversation.objects.create(subject="somebody else", title="Foreign")
    deleted = Conversation.objects.create(subject=SUBJECT, title="Deleted", deleted_at=AT)

    for conversation in (foreign, deleted):
        response = http.get(f"/chat/c/{conversation.pk}/")
        assert response.status_code == 404
        assert "This conversation does not exist" in response.content.decode()
    assert "Foreign" not in http.get("/chat/").content.decode()
    assert http.get("/chat/nothing/").status_code == 404


# --- what they may load, and who may embed them -----------------------------------------------------------------------


def get_policy(response: HttpResponse) -> dict[str, str]:
    parts = (each.strip().partition(" ") for each in response.headers[csp.HEADER].split(";"))
    return {name: value for name, _, value in parts}


def test_other_addresses_lead_to_the_chat_or_to_a_page_with_its_style(client: HttpClient) -> None:
    assert client.get("/").headers["Location"] == "/chat/"
    unknown = client.get("/nothing/")

    assert unknown.status_code == 404
    assert get_policy(unknown)["style-src"] == "'self'"


def test_pages_load_from_their_own_host_only(http: HttpClient) -> None:
    policy = get_policy(http.get("/chat/"))

    assert policy["default-src"] == "'none'"
    assert {policy[name] for name in ("script-src", "style-src", "img-src", "connect-src")} == {"'self'"}
    assert policy["frame-ancestors"] == "'none'"
    page = http.get("/chat/").content.decode()
    assert " style=" not in page
    assert not re.search(r"<[^>]*\son\w+=", page)
    assert all("src=" in tag or "application/json" in tag for tag in re.findall(r"<script[^>]*>", page))


@override_settings(CHAT_FRAME_ANCESTORS=["https://desk.acme.com"])
def test_panel_may_be_embedded_by_the_configured_origins(http: HttpClient) -> None:
    panel = http.get("/chat/panel/")

    assert get_policy(panel)["frame-ancestors"] == "https://desk.acme.com"
    assert "X-Frame-Options" not in panel.headers
    assert http.get("/chat/").headers["X-Frame-Options"] == "DENY"


def test_panel_knows_its_place_and_is_for_its_own_origin_by_default(http: HttpClient) -> None:
    project = "7e3b9f20-1c4d-4a8b-8e55-2d90c6fa3b01"
    panel = http.get(f"/chat/panel/?type=project&project_id={project}")
    assert get_policy(panel)["frame-ancestors"] == "'self'"
    assert f'"project_id": "{project}"' in panel.content.decode()
    assert 'id="sidebar"' not in panel.content.decode()

    assert http.get("/chat/panel/?type=project").status_code == 400
    assert http.get("/chat/panel/?session=nonsense").status_code == 404
    assert "A question" in http.get(f"/chat/panel/?session={create_answer().pk}").content.decode()


def test_panel_asks_strangers_to_sign_in_elsewhere(client: HttpClient) -> None:
    response = client.get("/chat/panel/")

    assert response.status_code == 401
    assert 'target="_blank"' in response.content.decode()


# --- what they show ---------------------------------------------------------------------------------------------------


def test_new_page_has_ten_suggestions_and_says_that_no_model_is_connected(http: HttpClient) -> None:
    page = http.get("/chat/").content.decode()

    assert page.count('class="suggestion"') == 10
    assert "Scripted model: no AI is connected" in page
    assert "LLM_BASE_URL=" in page
    assert http.get("/chat/").headers["Cache-Control"] == "no-store"


def test_message_in_the_address_is_in_the_field_and_not_sent(http: HttpClient) -> None:
    page = http.get("/chat/", {"message": "List <patients>"}).content.decode()

    assert "List &lt;patients&gt;</textarea>" in page
    assert not Message.objects.exists()


@override_settings(LLM_BASE_URL="http://llm.test/v1", LLM_MODEL="big", LLM_FAST_MODEL="quick")
def test_new_page_names_the_model(http: HttpClient) -> None:
    page = http.get("/chat/").content.decode()

    assert "Answered by quick" in page
    assert "Scripted model" not in page


def test_answer_is_rendered_between_its_calls(http: HttpClient) -> None:
    envelope = {
        "op": "onto.task.create",
        "ok": True,
        "result": {"task": {"id": "1", "title": "Find a venue"}, "message": "Created the task."},
        "meta": {"operation": {"entity": "task", "action": "create", "entity_id": "1"}},
    }
    text = "I **create** it.\n\nDone."
    call = {"op": "onto.task.create", "args": '{"op": "onto.task.create"}', "envelope": envelope, "text_before": 18}
    written = [{"entity": "task", "action": "create", "entity_name": "Find a venue", "status": "success"}]
    message = create_answer(text=text, calls=[call], written=written, surface="gateway", release="abcdefgh1234")
    page = read_page(http, message)

    parts = ("I <strong>create</strong> it.", "onto.task.create", "“Find a venue”", "<p>Done.</p>")
    assert sorted(parts, key=page.index) == list(parts)
    assert '<li data-done="true">Created task “Find a venue”</li>' in page
    assert 'gateway · <span title="abcdefgh1234">release</span>' in page


def test_staff_gets_links_to_what_served_an_answer(http: HttpClient, ana: User) -> None:
    conversation = create_answer(surface="gateway", release="abcdefgh1234", cohort="demo")
    assert "/admin/registry/" not in read_page(http, conversation)
    User.objects.filter(pk=ana.pk).update(is_staff=True)
    page = read_page(http, conversation)

    turn = conversation.messages.get(role="assistant")
    for path in (
        "registry/release/abcdefgh1234/change/",
        "analytics/cohort/?q=demo",
        f"analytics/turn/?turn__exact={turn.pk}",
    ):
        assert f'/admin/{path}"' in page


def test_reasoning_is_folded_text_above_the_answer(http: HttpClient) -> None:
    reasoned = read_page(http, create_answer(text="It is done.", reasoning=HOSTILE))
    plain = read_page(http, create_answer(text="It is done."))

    folded = '<details class="reasoning">'
    assert (reasoned.count(folded), plain.count(folded)) == (1, 0)
    assert reasoned.index(folded) < reasoned.index("It is done.")
    assert HOSTILE not in reasoned
    assert "&lt;script&gt;alert(2)" in reasoned


def test_running_answer_is_left_to_the_stream(http: HttpClient) -> None:
    held_until = datetime.now(UTC) + timedelta(minutes=1)
    conversation = create_answer(finish="", held_until=held_until, calls=[{"op": "onto.task.list"}])
    page = read_page(http, conversation)

    assert 'data-state="waiting"' in page
    assert page.count('class="card"') == 1  # that of the template


def test_answer_that_failed_can_be_sent_again(http: HttpClient) -> None:
    error = {"code": "model_failed", "message": "The model did not answer.", "retryable": True}
    page = read_page(http, create_answer(finish="error", error=error))

    assert "The model did not answer." in page
    assert re.search(r'data-action="retry">Try again', page)


def test_versions_of_a_message_can_be_switched(http: HttpClient) -> None:
    conversation = create_answer(text="First.")
    first = conversation.messages.get(role="assistant")
    Message.objects.filter(pk=first.pk).update(hidden_under=first)
    turn = {"conversation": conversation, "role": "assistant", "finish": "stop"}
    Message.objects.create(**turn, position=3, text="Second.", version_of=first)
    page = read_page(http, conversation)

    assert "<p>Second.</p>" in page
    assert "<p>First.</p>" not in page
    assert '<span class="versions-count">2/2</span>' in page
    assert f'data-version="{first.pk}" aria-label="Previous version">' in page
    assert 'aria-label="Next version" disabled>' in page


def test_list_marks_conversations_that_are_answering(http: HttpClient) -> None:
    create_answer(finish="", held_until=datetime.now(UTC) + timedelta(minutes=1))
    create_answer()
    page = http.get("/chat/").content.decode()

    assert page.count('aria-label="Answering" hidden>') == 2  # with that of the template
    assert page.count('aria-label="Answering">') == 1


def test_no_text_becomes_markup(http: HttpClient) -> None:
    envelope = {"op": HOSTILE, "ok": True, "result": {"tasks": [{"title": HOSTILE}], "message": HOSTILE}}
    operation = {"entity": HOSTILE, "action": HOSTILE, "entity_name": HOSTILE}
    call = {"op": HOSTILE, "name": HOSTILE, "args": HOSTILE, "envelope": {**envelope, "meta": {"operation": operation}}}
    conversation = create_answer(
        text=f"{HOSTILE}\n\n[x](javascript:alert(1)) ![x](https://evil.example/x.png)",
        question=HOSTILE,
        calls=[call],
        surface=HOSTILE[:20],
        cohort=HOSTILE,
        layers=[{"name": HOSTILE, "tokens": 1, "budget": 1, "cut": False}],
    )
    Conversation.objects.update(title=HOSTILE[:60], context={"type": HOSTILE})
    page = read_page(http, conversation)

    assert "<img src=x" not in page
    assert "<script>alert" not in page
    assert 'href="javascript:' not in page
    assert 'src="https://evil.example' not in page
    assert page.count("&lt;img src=x") >= 8


def test_markdown_export_has_what_is_shown_and_what_was_changed(http: HttpClient) -> None:
    written = [{"entity": "task", "action": "create", "entity_name": "Venue", "status": "success"}]
    conversation = create_answer(text="It is **there**.", question="Create it", written=written)
    Conversation.objects.filter(pk=conversation.pk).update(title="Plans: Zürich", created_at=AT)
    response = http.get(f"/chat/c/{conversation.pk}/markdown/")

    assert response.headers["Content-Disposition"] == "attachment; filename*=UTF-8''plans-z%C3%BCrich.md"
    assert response.content.decode() == (
        "# Plans: Zürich\n\n1 January 2030, 12:00 UTC\n\n## You\n\nCreate it\n\n"
        "## Assistant\n\nIt is **there**.\n\n- Created task “Venue”\n"
    )
    assert http.get(f"/chat/c/{uuid.uuid4()}/markdown/").status_code == 404


def test_model_page_shows_staff_what_the_environment_sets_and_tests_it(
    http: HttpClient, ana: User, llm: FakeLlm
) -> None:
    assert http.get("/chat/model/").status_code == 403
    User.objects.filter(pk=ana.pk).update(is_staff=True)
    page = http.get("/chat/model/").content.decode()

    for text in ("http://llm.test/v1", "quick", "LLM_FAST_MODEL", "It is not shown."):
        assert text in page
    assert LLM_KEY not in page
    called = build_stream(calls=[("c1", "say_hello", '{"text": "hello"}')])
    for answer, text in (
        (called, "and called the tool of the test"),
        (build_stream("Hello."), "did not call the tool"),
        (build_response(b"", status="401 Unauthorized"), "Check LLM_API_KEY"),
    ):
        llm.answers = [answer]
        assert text in http.post("/chat/model/").content.decode()
