"""Who may open which page of the admin, send which form and run which action: every one of them, for every role.

Pages and actions are those that are there; what may be done with them is written down here a second time. A page or an
action without a line here fails.
"""

from html import unescape
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.db import transaction
from django.db.models import Model
from django.http import HttpResponse
from django.template.response import TemplateResponse
from django.test import Client as HttpClient
from django.test import RequestFactory
from django.urls import reverse

from gateway import roles
from gateway.models import ApiKey, BatchEntry, IdempotencyRecord
from gateway.roles import Role
from tests.support.admin_models import MODELS, OURS, page
from tests.support.api import Api
from tests.support.hostile_pages import stored
from tests.support.role_matrix import (
    ADDRESSES,
    ADMIN_NAMES,
    MODELS_OF,
    OF_MODELS,
    OWNED,
    PAGES,
    PEOPLE,
    ROWS,
    address,
    create_person,
    may,
)

# Actions beside delete_selected, which goes with deleting.
ACTIONS = {
    **{(f"registry.{name}", act): "A" for name in ("Op", "Group", "Connection") for act in ("switch_off", "switch_on")},
    **{("registry.Switch", action): "A" for action in ("turn_off", "turn_on")},
    ("registry.Op", "export_csv"): "AE",
    ("analytics.AuditEntry", "take_back"): "AE",
    **{("gateway.ApiKey", action): "A" for action in ("rotate", "revoke")},
    **{
        (label, action): "A"
        for label in set(MODELS_OF[OWNED]) - {"workspace.Membership"}
        for action in ("delete_softly", "restore")
    },
}

NAMELESS = {"<path:object_id>/", "(?P<url>.*)$"}  # Django's: to a row's page, and to what is missing only a slash

# Outside the admin a session says nothing: these are for everybody, all others ask for an API key.
OPEN = {"schema", "docs", "healthz", "readyz", "metrics"}


def is_let_in(response: HttpResponse) -> bool:
    """Whether a page did what it is there for, if only to say what is wrong with a form; else it must have refused."""
    if response.status_code == 200 or (
        response.status_code == 302 and not response.headers["Location"].startswith("/admin/login/")
    ):
        return True
    assert response.status_code in (302, 403, 404, 405), (response.status_code, response.content[:300])
    return False


@pytest.mark.parametrize("name", ADMIN_NAMES)
def test_every_page_says_who_may_use_it(name: str) -> None:
    assert all(set(who) <= set(PEOPLE) for who in may(name) if who is not None)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model._meta.label)
def test_every_action_says_who_may_run_it(model: type[Model]) -> None:
    of_model = admin.site.get_model_admin(model)
    names = {name for _, name, _ in of_model._get_base_actions()} | set(of_model.actions_submit_line)

    assert names - {"delete_selected"} == {action for label, action in ACTIONS if label == model._meta.label}


def test_no_page_or_action_is_expected_that_is_not_there() -> None:
    labels = {model._meta.label for model in MODELS}
    routes = {route for space, name, route in ADDRESSES if space == "admin" and name is None}

    assert set(PAGES) <= set(ADMIN_NAMES)
    assert set(ROWS) == labels
    assert routes == NAMELESS


@pytest.mark.parametrize("letter", PEOPLE)
def test_pages_let_in_whom_they_should(
    rows: dict[str, Any], person: User, client: HttpClient, letter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TemplateResponse, "rendered_content", "")  # who may is decided before a page is drawn
    wrong = []
    for name in ADMIN_NAMES:
        for method, who in zip(("GET", "POST"), may(name), strict=True):
            with transaction.atomic():
                client.force_login(person)
                response = client.generic(method, address(name, rows), content_type="application/x-www-form-urlencoded")
                transaction.set_rollback(True)
            if is_let_in(response) != (letter in (who or "")):
                wrong.append((name, method, response.status_code))

    assert wrong == []


@pytest.mark.parametrize("letter", "AEPUS")
def test_actions_are_offered_to_whom_they_should(
    rows: dict[str, Any], person: User, client: HttpClient, rf: RequestFactory, letter: str
) -> None:
    request = rf.get("/")
    request.user = person
    before = stored()

    for model in MODELS:
        label, of_model = model._meta.label, admin.site.get_model_admin(model)
        every = {name for _, name, _ in of_model._get_base_actions()}
        allowed = {name for name in every if letter in ACTIONS.get((label, name), ROWS[label][3])}
        assert set(of_model.get_actions(request)) == allowed, label
        for action in every - allowed:
            forged = {"action": action, "_selected_action": [rows[label].pk], "reason": "Forged", "post": "yes"}
            client.post(page(model, "changelist"), forged)

    assert stored() == before
    assert not LogEntry.objects.exists()


@pytest.mark.parametrize("name", sorted(name for space, name, _ in ADDRESSES if not space and name not in OPEN))
def test_session_of_the_admin_opens_nothing_of_the_api(live_catalog: Any, admin_client: HttpClient, name: str) -> None:
    given = {"batch_status": ["0d9a4c1e-5b7f-4e2a-9c31-ffffffffffff"], "release": ["abcdef"], "flag": ["tool_release"]}
    url = reverse(name, args=given.get(name))

    answers = [admin_client.get(url), admin_client.post(url, {}, content_type="application/json")]

    assert {answer.status_code for answer in answers} <= {401, 405}
    assert 401 in {answer.status_code for answer in answers}


# --- what nobody is shown ---------------------------------------------------------------------------------------------


def test_no_page_shows_a_secret_or_what_calls_carried(
    rows: dict[str, Any], api: Api, admin_client: HttpClient, settings: Any
) -> None:
    key, person = ApiKey.objects.get(), User.objects.get(username="admin")
    record, entry = IdempotencyRecord.objects.get(), BatchEntry.objects.first()
    BatchEntry.objects.update(body={"path": "canary-of-a-body"})
    for row in (record, entry):
        assert len(row.answer) > 40
    secrets = [
        *(key.secret_hash, api.headers["Authorization"].partition(" ")[2], person.password, person.password[-20:]),
        *(record.answer[:40], entry.answer[:40], "canary-of-a-body"),
        *(settings.SECRET_KEY, settings.GATEWAY_KEY_PEPPER, admin_client.session.session_key),
    ]
    auditor = HttpClient()
    auditor.force_login(create_person("U"))

    for http in (admin_client, auditor):
        for name, (model, of_model) in OF_MODELS.items():
            if of_model in ("changelist", "change", "history"):
                row = person if model is User else rows[model._meta.label]
                text = unescape(http.get(address(name, {**rows, model._meta.label: row})).content.decode())
                assert [secret for secret in secrets if secret in text] == [], name


# --- the groups -------------------------------------------------------------------------------------------------------


def test_every_model_lies_in_one_area() -> None:
    placed = [model for models in roles.AREAS.values() for model in models]
    ours = [model._meta.label_lower for app in OURS for model in apps.get_app_config(app).get_models()]

    assert sorted(placed) == sorted([*ours, "auth.user", "auth.group"])


def test_every_role_has_a_group_with_its_permissions(db: None) -> None:
    for role in Role:
        held = Group.objects.get(name=role.value).permissions.values_list("content_type__app_label", "codename")
        assert {f"{app}.{codename}" for app, codename in held} == set(roles.list_permissions(role))
    assert set(roles.GRANTS) == set(Role)


def test_migrate_mends_a_role_and_leaves_other_groups_alone(db: None) -> None:
    editor, ours = Group.objects.get(name="Editor"), Group.objects.create(name="Night shift")
    change_switch = Group.objects.get(name="Admin").permissions.get(codename="change_switch")
    editor.permissions.set([change_switch])
    ours.permissions.set([change_switch])
    person = User.objects.create_user("person")
    person.groups.set([editor, ours])

    call_command("migrate", verbosity=0)

    assert not editor.permissions.filter(codename="change_switch").exists()
    assert editor.permissions.filter(codename="change_op").exists()
    assert person.has_perms(["registry.change_switch", "registry.change_op"])


def test_our_groups_are_looked_at_in_the_admin(admin_client: HttpClient) -> None:
    editor = Group.objects.get(name="Editor")

    assert admin_client.get(page(Group, "change", editor.pk)).status_code == 200
    assert admin_client.post(page(Group, "change", editor.pk), {"name": "Mine"}).status_code == 403
    assert admin_client.post(page(Group, "delete", editor.pk), {"post": "yes"}).status_code == 403
    chosen = {"action": "delete_selected", "_selected_action": [editor.pk], "post": "yes"}
    admin_client.post(page(Group, "changelist"), chosen)
    assert Group.objects.filter(name="Editor").exists()
