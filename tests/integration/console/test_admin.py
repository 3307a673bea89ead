"""The Django admin: every page opens for a superuser, and its actions work."""

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.apps import apps
from django.contrib.sessions.models import Session
from django.db.models import Model
from django.test import Client as HttpClient
from django.utils import timezone

from analytics.events.stored_contents import StoredContents
from analytics.reports.models import SavedView
from analytics.rollout.models import Flag
from gateway.access import key_verification
from gateway.models import ApiKey, Client, Scope, UserGrant, UserKey
from registry.models import Switch
from tests.support.clients.api import Api
from tests.support.console.admin_models import MODELS, PROJECT_APPS, get_admin_url, run_action
from tests.support.console.admin_pages import read_text
from tests.support.loops import for_each

# Models whose rows only services change. The admin shows them read-only.
READ_ONLY = set(
    """
    workspace.Edge analytics.OperationEvent analytics.OpDaily analytics.Rollup analytics.Assignment analytics.EventLoss
    analytics.Turn analytics.ToolSelection analytics.Feedback analytics.Subject audit.AuditEntry
    gateway.IdempotencyRecord gateway.UsedConfirmation gateway.PeriodicJob registry.OpEmbedding axes.AccessAttempt
    gateway.StoredFile gateway.SignedInApplication gateway.PendingInput gateway.TurnLabel gateway.Batch
    gateway.BatchEntry
    registry.Release registry.Activation notifications.Notification registry.ReviewRequest registry.ScheduledPublish
    workspace.WriteRecord
""".split()
)


@for_each("label", sorted(m._meta.label for app in PROJECT_APPS for m in apps.get_app_config(app).get_models()))
def test_every_model_is_in_the_admin(label: str) -> None:
    inline = {"registry.PolicyRule", "registry.Example", "registry.OpAlias", "analytics.CohortRule"}
    inline |= {"registry.ReviewComment", "analytics.Alert"}  # alerts have a page of their own
    of_their_connection = {"registry.DocumentImport", "registry.UpstreamDefinition"}
    of_their_connection |= {"gateway.ConnectionSecret", "gateway.EndUserSettings"}  # on its page
    of_their_connection |= {"gateway.SignIn", "gateway.OpenedLink"}  # short-lived
    of_their_experiments = {"analytics.ExperimentResult", "analytics.SubjectFigures"}
    of_their_users = {"chat.Conversation", "chat.Message", "chat.ToolCall", "chat.EventChunk"}

    owned = of_their_connection | of_their_users | of_their_experiments
    assert label in {model._meta.label for model in MODELS} | inline | owned


@for_each("model", MODELS)
def test_search_and_add_page_of_a_model_open(
    row_of_every_model: None, admin_client: HttpClient, model: type[Model]
) -> None:
    read_only = model._meta.label in READ_ONLY

    search = admin_client.get(get_admin_url(model, "changelist"), {"q": "onto 'x\" %"})
    add_page = admin_client.get(get_admin_url(model, "add"))

    assert search.status_code == 200
    # Flags are declared in the code, end users sign in and enter keys themselves, views are saved where they are shown,
    # switches are set on the page of what they switch off, and there is one row of stored contents.
    cannot_be_added = read_only or model in (Flag, UserGrant, UserKey, SavedView, StoredContents, Switch)
    assert add_page.status_code == (403 if cannot_be_added else 200)
    assert model._default_manager.exists() or model._meta.app_label not in PROJECT_APPS


def test_api_key_gives_no_access_to_the_admin(api: Api) -> None:
    assert api.http.get("/admin/", headers=api.headers).status_code == 302


# --- keys -------------------------------------------------------------------------------------------------------------


def extract_key(html: str) -> str:
    return html.partition('ui-new-key" id="key-1">')[2].partition("<")[0]


def test_key_created_in_the_admin_is_shown_once_and_works(live_catalog: Any, admin_client: HttpClient) -> None:
    client = Client.objects.create(name="chat")
    form = {"client": client.pk, "name": "laptop", "subject": "demo-user", "scopes": ["help", "exec:read"], "rate": 7}

    response = admin_client.post(get_admin_url(ApiKey, "add"), form | {"_continue": "1"})
    html = response.content.decode()

    key = ApiKey.objects.get()
    plaintext = extract_key(html)
    assert plaintext.startswith(key.prefix)
    assert "no-store" in response.headers["Cache-Control"]
    assert plaintext not in str(response.cookies)
    assert not any(plaintext in str(session.get_decoded()) for session in Session.objects.all())
    assert (key.client, key.name, key.subject, key.rate) == (client, "laptop", "demo-user", 7)
    assert key.scopes == [Scope.HELP, Scope.EXEC_READ]
    assert key.created_by == "admin"
    assert Api(plaintext).post("help", {}).status_code == 200
    for address in (
        get_admin_url(ApiKey, "changelist"),
        get_admin_url(ApiKey, "change", key.pk),
        get_admin_url(ApiKey, "history", key.pk),
    ):
        assert plaintext not in admin_client.get(address).content.decode()


def test_a_new_client_leads_to_its_first_key_and_the_key_to_its_first_call(admin_client: HttpClient) -> None:
    form = {"name": "chat", "op_patterns": "*", "subject_pattern": "*", "is_active": "on"}
    added = admin_client.post(get_admin_url(Client, "add"), form)
    add_url = f"{get_admin_url(ApiKey, 'add')}?client={Client.objects.get().pk}"
    assert added.headers["Location"] == add_url
    add_page = admin_client.get(add_url)
    assert add_page.context["adminform"].form["client"].value() == str(Client.objects.get().pk)
    assert add_page.context["adminform"].form["scopes"].value() == [Scope.HELP, Scope.EXEC_READ]  # the least
    assert 'data-scopes="help exec:read"' in add_page.content.decode()

    key_form = {"client": Client.objects.get().pk, "name": "laptop", "scopes": ["help"], "rate": 7}
    html = unescape(admin_client.post(get_admin_url(ApiKey, "add"), key_form).content.decode())

    command = f'curl -s "http://testserver/api/v1/help" -H "Authorization: Bearer {extract_key(html)}"'
    assert command in html
    page = read_text(admin_client.get(get_admin_url(Client, "change", Client.objects.get().pk)))
    assert "laptop: help. Never used." in page
    assert f'href="{add_url}">Add key</a>' in page


@pytest.mark.parametrize(
    ("scopes", "path"),
    [(["reports"], "reports/overview"), (["events"], "events"), (["help", "reports"], "help"), (["exec:read"], "")],
)
def test_page_of_a_new_key_has_a_command_that_its_scopes_allow(
    api: Api, admin_client: HttpClient, scopes: list[str], path: str
) -> None:
    form = {"client": Client.objects.get().pk, "name": "laptop", "scopes": scopes, "rate": 7}

    html = unescape(admin_client.post(get_admin_url(ApiKey, "add"), form).content.decode())

    key = extract_key(html)
    commands = re.findall('curl -s "http://testserver(.+)" -H "Authorization: Bearer (.+)"<', html)
    assert commands == ([(f"/api/v1/{path}", key)] if path else [])
    for address, plaintext in commands:
        assert HttpClient().get(address, headers={"Authorization": f"Bearer {plaintext}"}).status_code == 200


def test_key_rotated_in_the_admin_has_a_successor_and_expires_in_a_day(api: Api, admin_client: HttpClient) -> None:
    old = ApiKey.objects.get()

    html = run_action(admin_client, ApiKey, "rotate", old)

    new = ApiKey.objects.exclude(pk=old.pk).get()
    old.refresh_from_db()
    assert new.rotated_from == old
    assert old.expires_at is not None
    assert timedelta(hours=23) < old.expires_at - timezone.now() <= timedelta(hours=24)
    for each in (api, Api(extract_key(html))):
        assert each.post("help", {}).status_code == 200


def test_key_revoked_in_the_admin_is_refused(api: Api, admin_client: HttpClient) -> None:
    assert api.post("help", {}).status_code == 200

    html = run_action(admin_client, ApiKey, "revoke", ApiKey.objects.get())

    assert "Revoked" in html
    assert api.post("help", {}).status_code == 401


def test_key_changed_in_the_admin_keeps_its_secret(api: Api, admin_client: HttpClient) -> None:
    key = ApiKey.objects.get()
    form = {"client": key.client_id, "name": "renamed", "scopes": "help", "rate": 5}

    response = admin_client.post(get_admin_url(ApiKey, "change", key.pk), form, follow=True)

    assert "ui-new-key" not in response.content.decode()
    key_verification.refresh_verified_keys()
    assert api.post("help", {}).status_code == 200
    assert api.post("exec", {"op": "onto.task.list"}).status_code == 403
