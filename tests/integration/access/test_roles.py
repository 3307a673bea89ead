"""Every admin page, form and action is open to exactly the roles that may use it.

The pages and actions come from the console. `tests.support.console.role_matrix` and the table below list the expected
roles. A new page or action without an expectation fails.
"""

from html import unescape
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings
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

from console.access import roles
from console.access.roles import Role
from core import manifest
from gateway.models import ApiKey, BatchEntry, IdempotencyRecord
from tests.support.clients.api import Api
from tests.support.console.admin_models import MODELS, PROJECT_APPS, get_admin_url
from tests.support.console.hostile_pages import dump_rows
from tests.support.console.role_matrix import (
    ADDRESSES,
    ADMIN_NAMES,
    MODEL_PAGES,
    MODELS_BY_ROLES,
    OWNED,
    PAGES,
    ROLES_BY_LETTER,
    ROLES_BY_MODEL,
    create_user_with_role,
    get_expected_roles,
    get_page_url,
)
from tests.support.loops import for_each

pytestmark = pytest.mark.usefixtures("short_sidebar")

# All actions except delete_selected, which needs the delete permission.
ACTIONS = {
    ("registry.Op", "change_selected"): "AE",
    **{(f"registry.{name}", act): "A" for name in ("Op", "Group", "Connection") for act in ("switch_off", "switch_on")},
    **{("registry.Switch", action): "A" for action in ("turn_off", "turn_on")},
    ("auth.User", "end_sessions"): "A",
    ("auth.User", "remove_second_factors"): "A",
    ("axes.AccessAttempt", "unlock"): "A",
    ("registry.Op", "export_csv"): "AE",
    ("audit.AuditEntry", "take_back"): "AE",
    **{("gateway.ApiKey", action): "A" for action in ("rotate", "revoke")},
    ("gateway.SignedInApplication", "revoke"): "A",
    ("gateway.ModelRun", "stop"): "AE",
    ("notifications.Notification", "send_again"): "A",
    **{
        (label, action): "A"
        for label in set(MODELS_BY_ROLES[OWNED]) - {"workspace.Membership"}
        for action in ("delete_softly", "restore")
    },
}

UNNAMED_ROUTES = {"<path:object_id>/", "(?P<url>.*)$"}  # Django's redirects

# API routes that need no key. All others need one, whatever the admin session.
PUBLIC_NAMES = {"front", "schema", "docs", "healthz", "readyz", "metrics", "connect", "connect_callback"}
PUBLIC_NAMES |= {"user_page", "user_page_open", "user_key_save", "user_key_delete", "user_grant_delete"}
PUBLIC_NAMES |= {"moved_analytics_auditentry", "moved_analytics_notification"}  # redirects to pages


def is_allowed(response: HttpResponse) -> bool:
    """Return whether a page was served, also with form errors. Fails if it neither served nor refused the request."""
    if response.status_code == 200 or (
        response.status_code == 302 and not response.headers["Location"].startswith("/admin/login/")
    ):
        return True
    assert response.status_code in (302, 403, 404, 405), (response.status_code, response.content[:300])
    return False


@for_each("name", ADMIN_NAMES)
def test_every_page_has_expected_roles(name: str) -> None:
    assert all(set(who) <= set(ROLES_BY_LETTER) for who in get_expected_roles(name) if who is not None)


@for_each("model", MODELS)
def test_every_action_has_expected_roles(model: type[Model]) -> None:
    model_admin = admin.site.get_model_admin(model)
    names = {name for _, name, _ in model_admin._get_base_actions()} | set(model_admin.actions_submit_line)

    assert names - {"delete_selected"} == {action for label, action in ACTIONS if label == model._meta.label}


def test_every_expected_page_and_model_exists() -> None:
    labels = {model._meta.label for model in MODELS}
    routes = {route for space, name, route in ADDRESSES if space == "admin" and name is None}

    assert set(PAGES) <= set(ADMIN_NAMES)
    assert set(ROLES_BY_MODEL) == labels
    assert routes == UNNAMED_ROUTES


@pytest.mark.parametrize("letter", ROLES_BY_LETTER)
def test_pages_are_open_to_the_expected_roles(
    rows: dict[str, Any], logged_in_user: User, client: HttpClient, letter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TemplateResponse, "rendered_content", "")  # permissions are checked before rendering
    failures, session = [], client.cookies[settings.SESSION_COOKIE_NAME].value
    for name in ADMIN_NAMES:
        for method, who in zip(("GET", "POST"), get_expected_roles(name), strict=True):
            with transaction.atomic():
                client.cookies[settings.SESSION_COOKIE_NAME] = session  # a page may have logged out
                response = client.generic(
                    method, get_page_url(name, rows), content_type="application/x-www-form-urlencoded"
                )
                transaction.set_rollback(True)
            if is_allowed(response) != (letter in (who or "")):
                failures.append((name, method, response.status_code))

    assert failures == []


@pytest.mark.parametrize("letter", "AEPUS")
def test_actions_are_offered_to_the_expected_roles(
    rows: dict[str, Any], logged_in_user: User, client: HttpClient, rf: RequestFactory, letter: str
) -> None:
    request = rf.get("/")
    request.user = logged_in_user
    before = dump_rows()

    for model in MODELS:
        label, model_admin = model._meta.label, admin.site.get_model_admin(model)
        every = {name for _, name, _ in model_admin._get_base_actions()}
        allowed = {name for name in every if letter in ACTIONS.get((label, name), ROLES_BY_MODEL[label][3])}
        assert set(model_admin.get_actions(request)) == allowed, label
        for action in every - allowed:
            forged = {"action": action, "_selected_action": [rows[label].pk], "reason": "Forged", "post": "yes"}
            client.post(get_admin_url(model, "changelist"), forged)

    assert dump_rows() == before
    assert not LogEntry.objects.exists()


def is_of_session(name: str) -> bool:
    """Whether a page is about the session itself (console/access/sign_in_urls.py)."""
    return name.startswith(("account_", "mfa_", "usersessions_"))


@for_each(
    "name",
    sorted(name for space, name, _ in ADDRESSES if not space and name not in PUBLIC_NAMES and not is_of_session(name)),
)
def test_admin_session_gives_no_access_to_the_api(live_catalog: Any, admin_client: HttpClient, name: str) -> None:
    url_args = {
        "batch_status": ["0d9a4c1e-5b7f-4e2a-9c31-ffffffffffff"],
        "file": ["0d9a4c1e-5b7f-4e2a-9c31-ffffffffffff"],
        "release": ["abcdef"],
        "experiment": [1],
        "flag": ["tool_release"],
        "discover": ["discover_project_tools"],
        "escalate": ["nonsense"],
    }
    url = reverse(name, args=url_args.get(name))

    responses = [admin_client.get(url), admin_client.post(url, {}, content_type="application/json")]

    assert {response.status_code for response in responses} <= {401, 405}
    assert 401 in {response.status_code for response in responses}


# --- secrets ---------------------------------------------------------------------------------------------


def test_pages_show_no_secrets_and_no_call_content(
    rows: dict[str, Any], api: Api, admin_client: HttpClient, settings: Any
) -> None:
    key, user = ApiKey.objects.get(), User.objects.get(username="admin")
    record, entry = IdempotencyRecord.objects.get(), BatchEntry.objects.first()
    BatchEntry.objects.update(body={"path": "canary-of-a-body"})
    for row in (record, entry):
        assert len(row.answer) > 40
    secrets = [
        key.secret_hash,
        api.headers["Authorization"].partition(" ")[2],
        user.password,
        user.password[-20:],
        record.answer[:40],
        entry.answer[:40],
        "canary-of-a-body",
        settings.SECRET_KEY,
        settings.GATEWAY_KEY_PEPPER,
        admin_client.session.session_key,
    ]
    auditor = HttpClient()
    auditor.force_login(create_user_with_role("U"))

    # Somebody who may not change a row gets another page of it. Lists and histories are the same for both.
    for http, kinds in ((admin_client, ("changelist", "change", "history")), (auditor, ("change",))):
        for name, (model, kind) in MODEL_PAGES.items():
            if kind in kinds:
                row = user if model is User else rows[model._meta.label]
                page = http.get(get_page_url(name, {**rows, model._meta.label: row})).content.decode()
                assert [secret for secret in secrets if secret in unescape(page)] == [], name
                assert "<script>alert(1)" not in page, name


# --- the groups -------------------------------------------------------------------------------------------------------


def test_every_model_belongs_to_one_area() -> None:
    listed_models = [model for models in manifest.get().areas.values() for model in models]
    project_models = [
        model._meta.label_lower for app in PROJECT_APPS for model in apps.get_app_config(app).get_models()
    ]

    others = ["auth.user", "auth.group", "axes.accessattempt", "oauth2_provider.application"]
    assert sorted(listed_models) == sorted([*project_models, *others])


def test_every_role_has_a_group_with_its_permissions(db: None) -> None:
    for role in Role:
        permissions = Group.objects.get(name=role.value).permissions.values_list("content_type__app_label", "codename")
        assert {f"{app}.{codename}" for app, codename in permissions} == set(roles.list_permissions(role))
    assert set(roles.GRANTS) == set(Role)


def test_migrate_restores_a_role_and_keeps_other_groups(db: None) -> None:
    editor, other_group = Group.objects.get(name="Editor"), Group.objects.create(name="Night shift")
    change_switch = Group.objects.get(name="Admin").permissions.get(codename="change_switch")
    editor.permissions.set([change_switch])
    other_group.permissions.set([change_switch])
    user = User.objects.create_user("person")
    user.groups.set([editor, other_group])

    call_command("migrate", verbosity=0)

    assert not editor.permissions.filter(codename="change_switch").exists()
    assert editor.permissions.filter(codename="change_op").exists()
    assert user.has_perms(["registry.change_switch", "registry.change_op"])


def test_role_groups_are_read_only_in_the_admin(admin_client: HttpClient) -> None:
    editor = Group.objects.get(name="Editor")

    assert admin_client.get(get_admin_url(Group, "change", editor.pk)).status_code == 200
    assert admin_client.post(get_admin_url(Group, "change", editor.pk), {"name": "Mine"}).status_code == 403
    assert admin_client.post(get_admin_url(Group, "delete", editor.pk), {"post": "yes"}).status_code == 403
    chosen = {"action": "delete_selected", "_selected_action": [editor.pk], "post": "yes"}
    admin_client.post(get_admin_url(Group, "changelist"), chosen)
    assert Group.objects.filter(name="Editor").exists()
