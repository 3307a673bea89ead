"""People and their roles in the console."""

from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client as HttpClient
from django.urls import reverse

pytestmark = pytest.mark.django_db

PASSWORD = "correct horse battery 1"


def add_user(http: HttpClient, name: str, *roles: str) -> User:
    groups = [group.pk for group in Group.objects.filter(name__in=roles)]
    form = {"username": name, "usable_password": "true", "password1": PASSWORD, "password2": PASSWORD, "groups": groups}
    assert http.post(reverse("admin:auth_user_add"), form).status_code == 302
    return User.objects.get(username=name)


def test_new_user_with_a_role_may_sign_in(admin_client: HttpClient, client: HttpClient) -> None:
    ana, ben = add_user(admin_client, "ana", "Editor"), add_user(admin_client, "ben")

    assert (ana.is_staff, [group.name for group in ana.groups.all()]) == (True, ["Editor"])
    assert not ben.is_staff
    client.force_login(ana)
    assert client.get(reverse("admin:registry_op_changelist")).status_code == 200


def test_list_shows_roles_and_last_sign_in(admin_client: HttpClient) -> None:
    user = add_user(admin_client, "ana", "Editor", "Auditor")
    User.objects.filter(pk=user.pk).update(last_login=datetime(2026, 3, 1, 9, 30, tzinfo=UTC))
    add_user(admin_client, "ben")

    page = admin_client.get(reverse("admin:auth_user_changelist")).content.decode()

    assert "Auditor, Editor" in page
    assert "1 Mar 2026, 09:30 UTC" in page
    assert "never" in page
