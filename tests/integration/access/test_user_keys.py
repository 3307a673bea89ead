"""End users' own keys: from the error with a link to a call with the key, and everything that can go wrong."""

import logging
from base64 import b64encode
from datetime import timedelta
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import time_machine
from django.http import HttpResponse
from django.test import Client as HttpClient
from django.utils import timezone

from analytics.events import event_log
from analytics.events.models import OperationEvent
from audit.models import AuditEntry
from core.demo_data import DEFAULT_SUBJECT
from gateway.credentials import end_user_settings, key_rotation, user_keys, user_links
from gateway.jobs import retention, subject_data
from gateway.models import Client, EndUserSettings, OpenedLink, UserGrant, UserKey
from registry.catalog import connections
from registry.models import Connection
from tests.support.clients.api import Api, assert_refused
from tests.support.console.admin_models import get_admin_url
from tests.support.console.admin_pages import read_form
from tests.support.loops import for_each
from tests.support.upstreams.http_servers import build_response
from tests.support.upstreams.http_upstream import NAME, READ, WRITE, HttpUpstream, build_json

GATEWAY = "https://gateway.example.com"
KEY = "canary-own-key-5c1e"


@pytest.fixture
def shop(shop: HttpUpstream, settings: Any) -> HttpUpstream:
    """Make the end users of the shop bring their own keys."""
    settings.GATEWAY_URL = GATEWAY
    change_connection(auth="bearer")
    connection = Connection.objects.get(name=NAME)
    EndUserSettings.objects.create(connection=connection, has_user_keys=True)
    end_user_settings.refresh_settings()
    return shop


@pytest.fixture
def browser() -> HttpClient:
    return HttpClient(enforce_csrf_checks=True)


def change_connection(**fields: Any) -> None:
    Connection.objects.filter(name=NAME).update(**fields)
    connections.refresh_connections()


def read(api: Api) -> dict[str, Any]:
    return api.exec(READ, {"order_id": "7"})


def get_link(envelope: dict[str, Any]) -> str:
    """Return the link of an error, below the gateway's address."""
    error = envelope["error"]
    assert (error["code"], error["details"]["reason"]) == ("PERMISSION_DENIED", "key_required"), envelope
    assert error["details"]["requires_user_action"]["type"] == "enter_key"
    url: str = error["details"]["requires_user_action"]["url"]
    assert url.startswith(f"{GATEWAY}/connect/user/open?")
    return url.removeprefix(GATEWAY)


def get_token(link: str) -> str:
    return parse_qs(urlsplit(link).query)["token"][0]


def post(browser: HttpClient, path: str, data: dict[str, str] | None = None) -> HttpResponse:
    token = browser.cookies["csrftoken"].value if "csrftoken" in browser.cookies else ""
    return browser.post(path, {"csrfmiddlewaretoken": token, **(data or {})})


def open_page(browser: HttpClient, link: str) -> HttpResponse:
    """Open a link, click on its button, and return the page behind it."""
    question = browser.get(link)
    assert question.status_code == 200, question.content
    assert_private(question)
    opened = post(browser, "/connect/user/open", {"token": get_token(link)})
    assert (opened.status_code, opened.headers["Location"]) == (302, "/connect/user/"), opened.content
    page = browser.get("/connect/user/")
    assert_private(page)
    return page


def enter_key(browser: HttpClient, link: str, **fields: str) -> HttpResponse:
    open_page(browser, link)
    return post(browser, f"/connect/user/keys/{NAME}", {"secret": KEY, **fields})


def assert_private(response: HttpResponse) -> None:
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["Referrer-Policy"] == "same-origin"
    assert "default-src 'none'" in response.headers["Content-Security-Policy"]


def assert_closed(response: HttpResponse, message: str) -> None:
    text = unescape(response.content.decode())
    assert response.status_code == 400, text
    assert message in text
    assert "Go back to the conversation and ask for a new link." in text


def get_sent_headers(shop: HttpUpstream) -> str:
    return shop.requests[-1].partition(b"\r\n\r\n")[0].decode()


@pytest.mark.both_databases
def test_a_key_is_entered_used_replaced_and_deleted(api: Api, shop: HttpUpstream, browser: HttpClient) -> None:
    saved = enter_key(browser, get_link(read(api)))
    assert (saved.status_code, shop.requests) == (303, [])
    page = browser.get(saved.headers["Location"]).content.decode()
    assert "Your key is saved." in page
    assert KEY not in page

    assert read(api)["ok"] is True
    assert f"authorization: Bearer {KEY}" in get_sent_headers(shop).replace("Authorization", "authorization")
    assert KEY not in UserKey.objects.get().secret

    post(browser, f"/connect/user/keys/{NAME}", {"secret": "canary-second"})
    assert read(api)["ok"] is True
    assert "Bearer canary-second" in get_sent_headers(shop)
    deleted = post(browser, f"/connect/user/keys/{NAME}/delete")
    assert "Your key was deleted." in browser.get(deleted.headers["Location"]).content.decode()
    get_link(read(api))

    entries = list(AuditEntry.objects.filter(kind="user_key").order_by("pk"))
    assert [(each.by, each.name, each.action) for each in entries] == [
        (f"end user {DEFAULT_SUBJECT}", NAME, action) for action in ("added", "changed", "removed")
    ]
    assert "canary" not in str([vars(each) for each in entries])


KINDS = [
    ({"auth": "bearer"}, {}, f"Authorization: Bearer {KEY}"),
    (
        {"auth": "basic", "username": "admin"},
        {"username": "ana"},
        "Authorization: Basic " + b64encode(f"ana:{KEY}".encode()).decode(),
    ),
    ({"auth": "api_key", "key_name": "X-Key"}, {}, f"X-Key: {KEY}"),
    ({"auth": "api_key", "key_name": "key", "key_in": "query"}, {}, f"?key={KEY}"),
]


@for_each("connection, fields, sent", KINDS)
def test_each_kind_of_key_is_sent_as_the_service_takes_it(
    api: Api, shop: HttpUpstream, connection: dict[str, str], fields: dict[str, str], sent: str
) -> None:
    UserKey.objects.all().delete()
    change_connection(**connection)
    assert enter_key(HttpClient(enforce_csrf_checks=True), get_link(read(api)), **fields).status_code == 303

    assert read(api)["ok"] is True
    assert sent.lower() in get_sent_headers(shop).lower()


def test_a_key_is_used_for_its_user_and_client_only(
    api: Api, shop: HttpUpstream, browser: HttpClient, make_api: Any
) -> None:
    enter_key(browser, get_link(read(api)))
    other_subject = Api(api.headers["Authorization"].removeprefix("Bearer "), "ben")

    for stranger in (other_subject, make_api(acts_for=DEFAULT_SUBJECT)):
        link = get_link(read(stranger))
        page = open_page(HttpClient(enforce_csrf_checks=True), link).content.decode()
        assert "Enter your own key" in page
    assert shop.requests == []
    without_user = Api(api.headers["Authorization"].removeprefix("Bearer "), "")
    assert read(without_user)["error"]["details"]["reason"] == "subject_required"


@pytest.mark.parametrize("op", [READ, WRITE])
def test_a_refused_key_is_asked_for_again_and_not_sent_again(
    api: Api, shop: HttpUpstream, browser: HttpClient, op: str
) -> None:
    enter_key(browser, get_link(read(api)))
    shop.answer = build_response(f"Invalid token {KEY}".encode(), "401 Unauthorized")
    args, key = ({"order_id": "7"}, None) if op == READ else ({"product": "pen"}, "once")

    refused = api.exec(op, args, **({"idempotency_key": key} if key else {}))

    link = get_link(refused)
    assert KEY not in str(refused)
    assert len(shop.requests) == 1
    get_link(api.exec(op, args))
    assert len(shop.requests) == 1
    assert "refused your key" in open_page(browser, link).content.decode()
    post(browser, f"/connect/user/keys/{NAME}", {"secret": "canary-right-one"})
    shop.answer = build_json({"id": "7"})
    assert api.exec(op, args, **({"idempotency_key": key} if key else {}))["ok"] is True


def test_a_key_entered_during_a_refused_call_is_used(
    api: Api, shop: HttpUpstream, browser: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    enter_key(browser, get_link(read(api)))
    mark_refused = user_keys.mark_refused

    def enter_another_first(*arguments: Any, **options: Any) -> None:
        post(browser, f"/connect/user/keys/{NAME}", {"secret": "canary-newer"})
        mark_refused(*arguments, **options)

    monkeypatch.setattr(user_keys, "mark_refused", enter_another_first)
    shop.answer = lambda request: (
        build_json({"id": "7"}) if b"canary-newer" in request else build_response(b"", "401 Unauthorized")
    )
    assert read(api)["ok"] is True


def test_a_link_opens_once(api: Api, shop: HttpUpstream, browser: HttpClient) -> None:
    link = get_link(read(api))
    assert HttpClient().get(link).status_code == 200  # as the preview of a chat does
    open_page(browser, link)

    thief = HttpClient(enforce_csrf_checks=True)
    assert_closed(thief.get(link), "This link was already opened.")
    thief.get(get_link(read(api)))  # gets a CSRF token
    assert_closed(post(thief, "/connect/user/open", {"token": get_token(link)}), "This link was already opened.")
    assert_closed(thief.get("/connect/user/"), "This page is open for 10 minutes after you open a link to it.")


def test_forged_and_old_links_are_refused(api: Api, shop: HttpUpstream, browser: HttpClient) -> None:
    link = get_link(read(api))
    assert_closed(browser.get(link[:-1] + ("A" if link[-1] != "A" else "B")), "This link is not valid.")
    assert_closed(browser.get("/connect/user/open"), "This link is not valid.")
    with time_machine.travel(timezone.now() + timedelta(minutes=11)):
        assert_closed(browser.get(link), "This link is too old.")
    open_page(browser, link)
    # The token of a link opens no page by itself.
    browser.cookies["end_user"] = get_token(link)
    assert_closed(browser.get("/connect/user/"), "This link is not valid.")


def test_the_page_closes_after_ten_minutes_and_with_its_client(
    api: Api, shop: HttpUpstream, browser: HttpClient
) -> None:
    open_page(browser, get_link(read(api)))
    with time_machine.travel(timezone.now() + timedelta(minutes=11)):
        assert browser.get("/connect/user/").status_code == 400
        assert post(browser, f"/connect/user/keys/{NAME}", {"secret": KEY}).status_code == 400
    Client.objects.update(is_active=False)
    assert_closed(browser.get("/connect/user/"), "is not active")
    assert not UserKey.objects.exists()


def test_every_change_needs_the_csrf_token(api: Api, shop: HttpUpstream, browser: HttpClient) -> None:
    link = get_link(read(api))
    open_page(browser, link)
    for path in ("open", f"keys/{NAME}", f"keys/{NAME}/delete", f"sign-ins/{NAME}/delete"):
        assert browser.post(f"/connect/user/{path}", {"secret": KEY}).status_code == 403
    assert not UserKey.objects.exists()


WRONG = [
    ({"secret": ""}, "This field is required."),
    ({"secret": "two words"}, "Use visible ASCII characters only, without spaces."),
    ({"secret": "x" * 10_001}, "at most 10000 characters"),
]


@for_each("fields, message", WRONG)
def test_a_key_that_cannot_be_sent_is_refused(
    api: Api, shop: HttpUpstream, fields: dict[str, str], message: str
) -> None:
    response = enter_key(HttpClient(enforce_csrf_checks=True), get_link(read(api)), **fields)

    assert response.status_code == 400
    assert message in unescape(response.content.decode())
    assert_private(response)
    assert not UserKey.objects.exists()


def test_a_users_key_is_no_reference_to_a_variable(
    api: Api, shop: HttpUpstream, browser: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UPSTREAM_TOKEN", "canary-of-the-admin")
    enter_key(browser, get_link(read(api)), secret="env:UPSTREAM_TOKEN")

    assert read(api)["ok"] is True
    assert "Bearer env:UPSTREAM_TOKEN" in get_sent_headers(shop)


def test_a_key_for_another_address_is_not_sent(api: Api, shop: HttpUpstream, browser: HttpClient) -> None:
    enter_key(browser, get_link(read(api)))
    change_connection(base_url="https://elsewhere.example.com")
    link = get_link(read(api))
    assert "The address of shop has changed." in open_page(browser, link).content.decode()


def test_a_user_enters_keys_only_where_they_are_asked_for(api: Api, shop: HttpUpstream, browser: HttpClient) -> None:
    other = Connection.objects.create(name="other", kind="http", base_url="https://a.example.com", auth="bearer")
    open_page(browser, get_link(read(api)))
    assert post(browser, f"/connect/user/keys/{other.name}", {"secret": KEY}).status_code == 400
    EndUserSettings.objects.update(has_user_keys=False)
    end_user_settings.refresh_settings()
    assert post(browser, f"/connect/user/keys/{NAME}", {"secret": KEY}).status_code == 400
    assert not UserKey.objects.exists()


@pytest.mark.parametrize(("name", "value"), [("GATEWAY_URL", ""), ("GATEWAY_ENCRYPTION_KEYS", [])])
def test_a_missing_setting_is_named(api: Api, shop: HttpUpstream, settings: Any, name: str, value: Any) -> None:
    setattr(settings, name, value)
    error = read(api)["error"]
    assert (error["details"]["reason"], name in error["message"]) == ("not_configured", True)


def test_a_link_without_a_call_leads_to_all_connections(api: Api, shop: HttpUpstream, browser: HttpClient) -> None:
    UserGrant.objects.create(connection=Connection.objects.get(name="workspace"), subject=DEFAULT_SUBJECT)
    UserGrant.objects.create(connection=Connection.objects.get(name="utilities"), subject="ben")

    response = api.get("connect-link")
    assert (response.status_code, response.json()["expires_in"]) == (200, 600)
    page = open_page(browser, response.json()["url"].removeprefix(GATEWAY)).content.decode()
    assert "workspace" in page
    assert "utilities" not in page
    post(browser, "/connect/user/sign-ins/utilities/delete")
    post(browser, "/connect/user/sign-ins/workspace/delete")
    assert list(UserGrant.objects.values_list("subject", flat=True)) == ["ben"]
    assert "You have no connections." in browser.get("/connect/user/").content.decode()
    without_user = Api(api.headers["Authorization"].removeprefix("Bearer "), "")
    assert_refused(without_user.get("connect-link"), 403, "subject_required")


def test_an_admin_turns_own_keys_on_and_deletes_one(
    api: Api, shop: HttpUpstream, browser: HttpClient, admin_client: HttpClient
) -> None:
    EndUserSettings.objects.all().delete()
    end_user_settings.refresh_settings()
    connection = Connection.objects.get(name=NAME)
    page = get_admin_url(Connection, "change", connection.pk)
    assert "Calls are refused until it is set below." in admin_client.get(page).content.decode()
    form = read_form(admin_client.get(page)) | {"has_user_keys": "on", "max_file_kb": "500", "file_types": "image/*"}

    assert admin_client.post(page, form | {"file_types": "image"}).status_code == 200
    assert admin_client.post(page, form).status_code == 302

    shown = admin_client.get(page).content.decode()
    assert "Calls are refused until it is set below." not in shown
    settings = EndUserSettings.objects.get()
    assert (settings.has_user_keys, settings.max_file_kb, settings.file_types) == (True, 500, "image/*")
    changes = AuditEntry.objects.get(kind="connection").changes
    assert (changes["has_user_keys"], changes["file_types"]) == ([None, True], [None, "image/*"])
    enter_key(browser, get_link(read(api)))
    assert KEY not in admin_client.get(get_admin_url(UserKey, "changelist")).content.decode()
    assert (
        admin_client.post(get_admin_url(UserKey, "delete", UserKey.objects.get().pk), {"post": "yes"}).status_code
        == 302
    )
    removed = AuditEntry.objects.get(kind="user_key", action="removed")
    assert (removed.by, removed.name, removed.changes["subject"]) == ("admin", NAME, [DEFAULT_SUBJECT, None])
    subject_data.forget(DEFAULT_SUBJECT, by="tests", at=timezone.now())
    assert DEFAULT_SUBJECT not in str([vars(each) for each in AuditEntry.objects.filter(kind="user_key")])


def test_the_key_is_in_no_answer_event_log_or_export(
    api: Api, shop: HttpUpstream, browser: HttpClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    enter_key(browser, get_link(read(api)))
    shop.answer = lambda request: build_json({"id": "7", "sent": request.decode()})

    answer = read(api)

    assert (answer["ok"], KEY in str(answer)) == (True, False)
    event_log.flush()
    rows = str([*subject_data.export_subject(DEFAULT_SUBJECT), *OperationEvent.objects.values()])
    assert "'row': 'user_keys'" in rows
    stored = UserKey.objects.get().secret
    assert [text for text in (rows, caplog.text) if KEY in text or stored in text] == []


def test_old_opened_links_are_deleted_and_keys_are_encrypted_again(
    api: Api, shop: HttpUpstream, browser: HttpClient
) -> None:
    enter_key(browser, get_link(read(api)))
    stored = UserKey.objects.get().secret

    retention.delete_opened_links(timezone.now() + timedelta(minutes=user_links.MAX_AGE / 60))
    assert OpenedLink.objects.exists()
    retention.delete_opened_links(timezone.now() + timedelta(hours=2))
    assert not OpenedLink.objects.exists()
    assert key_rotation.reencrypt_all().failed == 0
    assert UserKey.objects.get().secret != stored
    assert read(api)["ok"] is True
