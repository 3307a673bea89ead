"""Whom to notify, and who else has a permission."""

from django.contrib.auth.models import User
from django.db.models import QuerySet


def find_emails(permission: str, *, but: str = "") -> list[str]:
    """Return the e-mail addresses of the staff users who have a permission, such as analytics.change_cohort.

    `but` is the name of a user to leave out.
    """
    rows = _find_staff(permission).exclude(username=but).exclude(email="").order_by("pk")
    return list(dict.fromkeys(rows.values_list("email", flat=True)))


def list_names(permission: str, *, but: str) -> list[str]:
    """Return the names of the staff users who have a permission, without the user `but`."""
    return list(_find_staff(permission).exclude(username=but).order_by("username").values_list("username", flat=True))


def _find_staff(permission: str) -> QuerySet[User]:
    users = User.objects.with_perm(permission, backend="django.contrib.auth.backends.ModelBackend")
    return users.filter(is_staff=True)
