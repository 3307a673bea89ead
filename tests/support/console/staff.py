"""Staff users with a role or with single permissions."""

from collections.abc import Collection

from django.contrib.auth.models import Group, Permission, User
from django.test import Client


def create_staff(name: str, *, role: str = "", permissions: Collection[str] = ()) -> User:
    """Create a user who may enter the console."""
    user = User.objects.create_user(name, is_staff=True)
    user.groups.set(Group.objects.filter(name=role))
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    return user


def sign_in(name: str, *, role: str = "", permissions: Collection[str] = ()) -> Client:
    """Create a user who may enter the console, and return a browser session of theirs."""
    client = Client()
    client.force_login(create_staff(name, role=role, permissions=permissions))
    return client
