"""The audit log has everything that people do with access, releases and copy, and never a secret."""

import json
import re
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client as HttpClient
from django.urls import reverse
from django.utils import timezone

from audit import audit_log
from audit.models import AuditEntry
from gateway.access import api_keys
from gateway.models import ApiKey, Client
from registry.models import Activation, Release
from registry.releases import publishing
from tests.support.clients.api import Api
from tests.support.console.admin_models import get_admin_url
from tests.support.console.role_matrix import create_user_with_role
from tests.support.rows.copy_rows import make_op

pytestmark = pytest.mark.django_db

PASSWORD = "correct horse battery 1"
LOG = "admin:audit_auditentry_changelist"


def submit(http: HttpClient, page: str, *args: Any, **fields: Any) -> None:
    response = http.post(reverse(f"admin:{page}", args=args), fields)
    assert response.status_code in (200, 302), response.content.decode()


def read_entries(*kinds: str) -> list[tuple[str, str, Any]]:
    """Return (name, action, changes) of the entries of some kinds, oldest first."""
    rows = AuditEntry.objects.filter(kind__in=kinds).order_by("id")
    return list(rows.values_list("name", "action", "changes"))


def test_clients_and_keys_are_logged_without_secrets(admin_client: HttpClient) -> None:
    fields = {"name": "chat", "subject_pattern": "*", "op_patterns": "*", "confirms": "on", "is_active": "on"}
    submit(admin_client, "gateway_client_add", **fields)
    client = Client.objects.get()
    submit(admin_client, "gateway_client_change", client.pk, **fields | {"is_active": ""})
    key_fields = {"client": client.pk, "scopes": "help", "rate": 5}
    submit(admin_client, "gateway_apikey_add", **key_fields, name="web")
    key = ApiKey.objects.get()
    submit(admin_client, "gateway_apikey_change", key.pk, **key_fields | {"rate": 9}, name="web")
    submit(admin_client, "gateway_apikey_changelist", action="rotate", _selected_action=key.pk)
    submit(admin_client, "gateway_apikey_changelist", action="revoke", _selected_action=key.pk)
    submit(admin_client, "gateway_apikey_changelist", action="revoke", _selected_action=key.pk)

    name, successor = f"{key.prefix} of chat", ApiKey.objects.exclude(pk=key.pk).get()
    added, changed, key_added, key_changed, rotated, revoked = read_entries("client", "api_key")
    assert (added[0], added[1], added[2]["name"]) == ("chat", "added", [None, "chat"])
    assert changed == ("chat", "changed", {"is_active": [True, False]})
    assert key_added[:2] == (name, "added")
    assert key_changed == (name, "changed", {"rate": [5, 9]})
    assert rotated == (name, "rotated", {"prefix": [key.prefix, successor.prefix]})
    key.refresh_from_db()
    assert revoked == (name, "revoked", {"revoked_at": [None, key.revoked_at.isoformat()]})  # type: ignore[union-attr]
    text = json.dumps(list(AuditEntry.objects.values("name", "changes", "note")))
    assert key.secret_hash not in text
    assert set(AuditEntry.objects.values_list("by", flat=True)) == {"admin"}


def test_users_and_roles_are_logged_without_passwords(admin_client: HttpClient) -> None:
    role = Group.objects.get(name="Editor")
    passwords = {"usable_password": "true", "password1": PASSWORD, "password2": PASSWORD}
    submit(admin_client, "auth_user_add", username="ana", **passwords)
    ana = User.objects.get(username="ana")
    joined = {"date_joined_0": "2026-01-01", "date_joined_1": "10:00:00"}
    fields = {"username": "ana", "is_active": "on", "is_staff": "on", "groups": role.pk}
    submit(admin_client, "auth_user_change", ana.pk, **fields, **joined)
    submit(admin_client, "auth_user_password_change", ana.pk, usable_password="true", password1="x", password2="y")
    submit(admin_client, "auth_user_password_change", ana.pk, **passwords)
    submit(admin_client, "auth_group_add", name="Helper")

    added, changed, password = read_entries("user")
    assert added[:2] == ("ana", "added")
    assert changed[2]["is_staff"] == [False, True]
    assert changed[2]["roles"] == [[], ["Editor"]]
    assert password == ("ana", "changed", {})
    assert read_entries("role")[0][:2] == ("Helper", "added")
    assert AuditEntry.objects.filter(note="Set a new password").count() == 1
    text = json.dumps(list(AuditEntry.objects.values("changes", "note")))
    assert not re.search(r"pbkdf2|argon2|md5|correct horse", text)


def test_sign_ins_and_own_passwords_are_logged(client: HttpClient) -> None:
    User.objects.create_user("ben", password=PASSWORD, is_staff=True)

    client.post(reverse("admin:login"), {"username": "ben", "password": "wrong"})
    client.post(reverse("admin:login"), {"username": "ben", "password": PASSWORD})
    new = {"old_password": PASSWORD, "new_password1": f"{PASSWORD}2", "new_password2": f"{PASSWORD}2"}
    client.post(reverse("admin:password_change"), new)
    client.post(reverse("admin:logout"))

    entries = AuditEntry.objects.order_by("id").values_list("kind", "name", "action", "by", "note")
    assert list(entries) == [
        ("sign_in", "ben", "signed_in", "ben", "from 127.0.0.1"),
        ("user", "ben", "changed", "ben", "Set a new password"),
        ("sign_in", "ben", "signed_out", "ben", "from 127.0.0.1"),
    ]


def test_publishing_and_rolling_back_are_logged(admin_client: HttpClient) -> None:
    make_op()
    first = publishing.publish_draft(note="First", by="ana", at=timezone.now())
    make_op("onto.task.more", tool_name="more")
    second = publishing.publish_draft(note="Second", by="ana", at=timezone.now(), accepted="Fine", accepted_loss="Fine")
    submit(admin_client, "registry_release_make_live", first.pk, note="Back")

    assert read_entries("release") == [
        (first.version, "published", {"live": [None, first.version]}),
        (second.version, "published", {"live": [first.version, second.version]}),
        (first.version, "made_live", {"live": [second.version, first.version]}),
    ]
    page = admin_client.get(reverse("admin:registry_release_change", args=[first.pk])).content.decode()
    history = reverse("admin:registry_release_history", args=[first.pk])
    assert history in page
    rows = admin_client.get(history, follow=True).content.decode()
    assert f"r{second.number} → r{first.number}" in rows


def test_exports_are_logged(api: Api, admin_client: HttpClient) -> None:
    admin_client.get(reverse("admin:registry_op_download"))
    admin_client.get(reverse("admin:report_ops"), {"csv": "ops"})

    assert {(kind, action) for kind, action in AuditEntry.objects.values_list("kind", "action")} >= {
        ("copy", "exported"),
        ("report", "exported"),
    }
    assert Release.objects.exists()


def test_log_hides_entries_about_what_a_role_may_not_view(client: HttpClient, admin_client: HttpClient) -> None:
    key, _ = api_keys.issue(client=Client.objects.create(name="chat"), by="ana")
    make_op()
    publishing.publish_draft(note="First", by="ben", at=timezone.now())
    client.force_login(create_user_with_role("E"))

    seen, all_entries = (http.get(reverse(LOG)).content.decode() for http in (client, admin_client))

    random_part = key.prefix.removeprefix("gw_")  # the name may be broken after the underscore
    assert random_part in all_entries
    assert random_part not in seen
    assert "?by=ana" not in seen
    assert "First" in seen


def test_log_is_filtered_by_person_kind_and_time(admin_client: HttpClient) -> None:
    api_keys.issue(client=Client.objects.create(name="chat"), by="ana")
    api_keys.issue(client=Client.objects.create(name="other"), by="ben")

    def count(**query: str) -> int:
        return int(admin_client.get(reverse(LOG), query).context["cl"].result_count)

    assert count() == count(kind__exact="api_key") == 2
    assert count(by="ana") == 1
    assert count(time__gte=f"{timezone.now():%Y-%m-%d} 00:00:00+00:00") == 2
    assert count(time__lt="2020-01-01 00:00:00+00:00") == 0


def test_filter_by_action_has_the_words_of_the_list(admin_client: HttpClient) -> None:
    page = admin_client.get(reverse(LOG)).content.decode()

    assert "action__exact=asked" in page
    assert "requested" in page
    assert "asked for" not in page


def test_entries_of_a_removed_app_are_for_superusers(admin_client: HttpClient) -> None:
    AuditEntry.objects.create(time=timezone.now(), by="eva", kind="gone", name="secret plan", action="tried")
    other = HttpClient()
    other.force_login(create_user_with_role("A"))

    for page in (reverse(LOG), reverse("admin:index")):
        assert "secret plan" in admin_client.get(page).content.decode()
        assert "secret plan" not in other.get(page).content.decode()


def test_set_up_commands_are_one_actor_on_every_page(live_catalog: Any, admin_client: HttpClient) -> None:
    url = get_admin_url(AuditEntry, "changelist")
    for command in ("load_demo", "start"):
        audit_log.record_change("client", "chat", None, {"name": "chat"}, by=command, at=timezone.now())
    Activation.objects.update(activated_by="load_catalog")
    entry = AuditEntry.objects.latest("pk")

    listed = admin_client.get(url).content.decode()
    chosen = admin_client.get(url, {"by": "set-up"}).context["cl"].result_count
    pages = [
        listed,
        admin_client.get(get_admin_url(AuditEntry, "change", entry.pk)).content.decode(),
        admin_client.get(get_admin_url(Activation, "changelist")).content.decode(),
    ]

    assert [name for name in re.findall(r'href="\?by=([^"]*)"', listed) if name != "tests"] == ["set-up"]
    assert chosen == 2
    for page in pages:
        assert "set-up" in page
        assert not re.search(r">\s*(load_demo|load_catalog|start)\s*<", page)
