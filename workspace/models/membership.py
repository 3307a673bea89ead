"""Who may see and change a project."""

import uuid

from django.db import models
from django.db.models import Q
from django.utils import timezone

from workspace.models import rules


class Role(models.TextChoices):
    """What a member is to a project; policies says what each may do."""

    OWNER = "owner", "owner"
    EDITOR = "editor", "editor"
    VIEWER = "viewer", "viewer"


CHANGING_ROLES = (Role.OWNER, Role.EDITOR)  # read by the policy and by the filter that must agree with it


class Membership(models.Model):
    """A subject's place in a project. A subject is an opaque id from outside; there is no table of them.

    There is one row for a project and subject, ever: a member who left has `deleted_at`, one who returns loses it.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    project = models.ForeignKey("workspace.Project", on_delete=models.CASCADE, related_name="memberships")
    subject = models.CharField(max_length=200)
    role = models.CharField(max_length=10, choices=Role, default=Role.VIEWER)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            # Two rows for one subject would double every list row and leave its role open. Subject first: the
            # constraint's index is the one that finds a subject's projects in every list, search and get.
            models.UniqueConstraint(fields=["subject", "project"], name="membership_unique_subject"),
            # An unknown role would be neither refused nor allowed by the policy.
            rules.one_of("role", Role, name="membership_role_known"),
            # A call without a subject must never match a member.
            rules.not_empty("subject", name="membership_subject_given"),
        ]

    def __str__(self) -> str:
        return f"{self.subject} ({self.role})"


def member(*, subject: str, to_project: str, roles: tuple[Role, ...] = ()) -> Q:
    """Return the condition that a subject is a member, in one of the roles if given, of the project at that path.

    It must stand in one `filter()` call: the conditions speak of one and the same membership row.
    """
    of = f"{to_project}memberships__"
    condition = Q((f"{of}subject", subject), (f"{of}deleted_at", None))
    return condition & Q((f"{of}role__in", roles)) if roles else condition
