"""Memberships: who may see and change a project."""

import uuid

from django.db import models
from django.db.models import Q
from django.utils import timezone

from workspace.models import check_constraints


class MemberRole(models.TextChoices):
    """The role of a member in a project. workspace.policies decides what each role may do."""

    OWNER = "owner", "owner"
    EDITOR = "editor", "editor"
    VIEWER = "viewer", "viewer"


EDITING_ROLES = (MemberRole.OWNER, MemberRole.EDITOR)  # used by the policy and the filter, which must agree


class Membership(models.Model):
    """A subject's membership in a project. A subject is an opaque id from outside; there is no table of subjects.

    Each project and subject have at most one row: leaving sets `deleted_at`, and returning clears it.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    project = models.ForeignKey("workspace.Project", on_delete=models.CASCADE, related_name="memberships")
    subject = models.CharField(max_length=200)
    role = models.CharField(max_length=10, choices=MemberRole, default=MemberRole.VIEWER)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            # Two rows for one subject would duplicate list rows and leave the role ambiguous. Subject first: every
            # list, search and get uses this index to find a subject's projects.
            models.UniqueConstraint(fields=["subject", "project"], name="membership_unique_subject"),
            # The policy covers only the known roles.
            check_constraints.require_choice("role", MemberRole, name="membership_role_known"),
            # A call without a subject must never match a member.
            check_constraints.require_text("subject", name="membership_subject_given"),
        ]

    def __str__(self) -> str:
        return f"{self.subject} ({self.role})"


def filter_by_member(*, subject: str, to_project: str, roles: tuple[MemberRole, ...] = ()) -> Q:
    """Return a filter for rows whose project has the subject as a member, if given in one of the roles.

    `to_project` is the lookup path to the project. Pass the result to a single `filter()` call, so that all conditions
    apply to the same membership row.
    """
    prefix = f"{to_project}memberships__"
    condition = Q((f"{prefix}subject", subject), (f"{prefix}deleted_at", None))
    return condition & Q((f"{prefix}role__in", roles)) if roles else condition
