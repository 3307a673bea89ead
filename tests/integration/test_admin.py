"""The Django admin: every page opens for a superuser, none for anybody else, and its actions do what they say."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db.models import Model
from django.test import Client as HttpClient
from django.urls import reverse
from django.utils import timezone

from analytics.models import Flag
from gateway.clients import api_keys
from gateway.models import ApiKey, Client, IdempotencyRecord, Scope
from registry.catalog import model
from registry.models import Activation, Op, Release
from registry.releases import publishing
from tests.support.admin_models import MODELS, OURS, act, page
from tests.support.api import Api

# Rows that services own: the admin shows them and changes nothing.
READ_ONLY = {
    "workspace.Edge",
    *("analytics.OperationEvent", "analytics.OpDaily", "analytics.Rollup", "analytics.Assignment"),
    *(
        "analytics.Turn",
        "analytics.ToolSelection",
        "analytics.Subject",
        "analytics.AuditEntry",
        "gateway.IdempotencyRecord",
        "gateway.PeriodicJob",
    ),
    *("gateway.Batch", "gateway.BatchEntry", "registry.Release", "registry.Activation"),
}


@pytest.mark.parametrize("label", sorted(m._meta.label for app in OURS for m in apps.get_app_config(app).get_models()))
def test_every_model_is_in_the_admin(label: str) -> None:
    inline = {"registry.PolicyRule", "registry.Example", "registry.OpAlias", "analytics.CohortRule"}

    assert label in {model._meta.label for model in MODELS} | inline


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model._meta.label)
def test_every_page_of_a_model_opens(everything: None, admin_client: HttpClient, model: type[Model]) -> None:
    read_only = model._meta.label in READ_ONLY

    listed = admin_client.get(page(model, "changelist"))
    searched = admin_client.get(page(model, "changelist"), {"q": "onto 'x\" %"})
    added = admin_client.get(page(model, "add"))
    row = model._default_manager.first()

    assert listed.status_code == 200
    assert searched.status_code == 200
    assert added.status_code == (403 if read_only or model is Flag else 200)  # flags are declared in the code
    if row is not None:
        changed = admin_client.get(page(model, "change", row.pk))
        assert changed.status_code == 200
        assert "<script>alert(1)" not in changed.content.decode()
    if model._meta.app_label in OURS:
        assert row is not None


@pytest.mark.parametrize("label", sorted(READ_ONLY))
def test_rows_of_services_cannot_be_changed_or_deleted(everything: None, admin_client: HttpClient, label: str) -> None:
    model = apps.get_model(label)
    row = model._default_manager.first()

    assert admin_client.post(page(model, "change", row.pk), {}).status_code == 403
    assert admin_client.post(page(model, "delete", row.pk), {"post": "yes"}).status_code == 403
    assert model._default_manager.filter(pk=row.pk).exists()


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model._meta.label)
def test_no_page_opens_for_somebody_who_is_no_staff(
    db: None, client: HttpClient, django_user_model: type[User], model: type[Model]
) -> None:
    client.force_login(django_user_model.objects.create_user("somebody", password="a long enough one"))

    for address in (page(model, "changelist"), page(model, "add"), reverse("admin:index")):
        response = client.get(address)
        assert response.status_code == 302
        assert response.headers["Location"].startswith("/admin/login/")


def test_no_page_opens_for_staff_without_permission(
    everything: None, client: HttpClient, django_user_model: type[User]
) -> None:
    client.force_login(django_user_model.objects.create_user("staff", password="a long enough one", is_staff=True))

    assert {client.get(page(model, "changelist")).status_code for model in MODELS} == {403}


def test_api_key_opens_no_page_of_the_admin(api: Api) -> None:
    assert api.http.get("/admin/", headers=api.headers).status_code == 302


# --- keys -------------------------------------------------------------------------------------------------------------


def shown_key(html: str) -> str:
    return html.partition("it is not shown again: ")[2].partition("<")[0].strip()


def test_key_made_in_the_admin_is_shown_once_and_works(live_catalog: Any, admin_client: HttpClient) -> None:
    client = Client.objects.create(name="chat")
    form = {"client": client.pk, "name": "laptop", "subject": "demo-user", "scopes": '["help", "exec:read"]', "rate": 7}

    made = admin_client.post(page(ApiKey, "add"), form | {"_continue": "1"}, follow=True).content.decode()

    key = ApiKey.objects.get()
    plaintext = shown_key(made)
    assert plaintext.startswith(key.prefix)
    assert (key.client, key.name, key.subject, key.rate) == (client, "laptop", "demo-user", 7)
    assert key.scopes == [Scope.HELP, Scope.EXEC_READ]
    assert key.created_by == "admin"
    assert Api(plaintext).post("help", {}).status_code == 200
    for address in (page(ApiKey, "changelist"), page(ApiKey, "change", key.pk), page(ApiKey, "history", key.pk)):
        assert plaintext not in admin_client.get(address).content.decode()


@pytest.mark.parametrize("scopes", ["[]", '["root"]', '"help"', "nonsense", '{"help": 1}'])
def test_key_with_scopes_that_do_not_exist_is_refused_with_a_sentence(
    db: None, admin_client: HttpClient, scopes: str
) -> None:
    client = Client.objects.create(name="chat")

    response = admin_client.post(page(ApiKey, "add"), {"client": client.pk, "scopes": scopes, "rate": 7})

    assert response.status_code == 200
    assert "errorlist" in response.content.decode()
    assert not ApiKey.objects.exists()


def test_key_rotated_in_the_admin_has_a_successor_and_a_day(api: Api, admin_client: HttpClient) -> None:
    old = ApiKey.objects.get()

    html = act(admin_client, ApiKey, "rotate", old)

    new = ApiKey.objects.exclude(pk=old.pk).get()
    old.refresh_from_db()
    assert new.rotated_from == old
    assert old.expires_at is not None
    assert timedelta(hours=23) < old.expires_at - timezone.now() <= timedelta(hours=24)
    for each in (api, Api(shown_key(html))):
        assert each.post("help", {}).status_code == 200


def test_key_revoked_in_the_admin_is_refused(api: Api, admin_client: HttpClient) -> None:
    assert api.post("help", {}).status_code == 200

    html = act(admin_client, ApiKey, "revoke", ApiKey.objects.get())

    assert "Revoked" in html
    assert api.post("help", {}).status_code == 401


def test_key_changed_in_the_admin_keeps_its_secret(api: Api, admin_client: HttpClient) -> None:
    key = ApiKey.objects.get()
    form = {"client": key.client_id, "name": "renamed", "scopes": '["help"]', "rate": 5}

    response = admin_client.post(page(ApiKey, "change", key.pk), form, follow=True)

    assert "not shown again" not in response.content.decode()
    api_keys.follow()
    assert api.post("help", {}).status_code == 200
    assert api.post("exec", {"op": "onto.task.list"}).status_code == 403


# --- releases ---------------------------------------------------------------------------------------------------------


REVIEW = "/admin/registry/release/review/"


def publish(http: HttpClient, note: str = "In the admin") -> str:
    """Publish what the review shows and return the page that follows."""
    found = http.get(REVIEW).context["review"]
    return http.post(REVIEW, {"seen": found.seen, "note": note}, follow=True).content.decode()


def test_draft_published_in_the_admin_is_what_models_read(
    api: Api, admin_client: HttpClient, django_capture_on_commit_callbacks: Callable[..., Any]
) -> None:
    op = Op.objects.get(op="onto.task.get")
    op.summary = "Get one task, whole"
    op.save()
    assert api.help("onto.task.get")["summary"] != op.summary

    with django_capture_on_commit_callbacks(execute=True):
        html = publish(admin_client)

    assert f"is live with {Op.objects.count()} ops" in html
    assert api.help("onto.task.get")["summary"] == op.summary
    assert Activation.objects.get(is_live=True).activated_by == "admin"


def test_draft_without_a_change_is_not_published_again(api: Api, admin_client: HttpClient) -> None:
    html = publish(admin_client)

    assert "Your draft matches the live release." in html
    assert Activation.objects.count() == 1


def test_draft_that_would_break_serving_is_not_published(api: Api, admin_client: HttpClient) -> None:
    Op.objects.filter(op="onto.task.get").update(parameters_schema={"type": "object", "$ref": "http://evil.example/"})

    html = publish(admin_client)

    assert "The draft cannot be published." in html
    assert "onto.task.get" in html
    assert Release.objects.count() == 1


def test_release_made_live_in_the_admin_is_rolled_back_to(
    api: Api, admin_client: HttpClient, django_capture_on_commit_callbacks: Callable[..., Any]
) -> None:
    first = Release.objects.get()
    before = api.help("onto.task.get")
    Op.objects.filter(op="onto.task.get").update(summary="Changed")
    publishing.publish_draft(note="second", by="tests", at=timezone.now())
    model.refresh_live()
    assert api.help("onto.task.get")["summary"] == "Changed"

    with django_capture_on_commit_callbacks(execute=True):
        step = reverse("admin:registry_release_make_live", args=[first.pk])
        html = admin_client.post(step, {"note": "The words were better"}, follow=True).content.decode()

    assert f"Release {first} is live." in html
    assert api.help("onto.task.get") == before


def test_idempotency_record_cannot_be_deleted_by_an_action(everything: None, admin_client: HttpClient) -> None:
    act(admin_client, IdempotencyRecord, "delete_selected", IdempotencyRecord.objects.get())

    assert IdempotencyRecord.objects.exists()
