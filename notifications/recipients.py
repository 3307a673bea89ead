"""Whom to notify."""

from django.contrib.auth.models import User


def find_emails(permission: str, *, but: str = "") -> list[str]:
    """Return the e-mail addresses of the staff users who have a permission, such as analytics.change_cohort.

    `but` is the name of a user to leave out.
    """
    users = User.objects.with_perm(permission, backend="django.contrib.auth.backends.ModelBackend")
    rows = users.filter(is_staff=True).exclude(username=but).exclude(email="").order_by("pk")
    return list(dict.fromkeys(rows.values_list("email", flat=True)))
