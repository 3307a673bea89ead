"""The audit log: who did what and when, and the values before and after a change."""

from django.db import models
from django.db.models import Q

from core import manifest

AUDIT_ACTIONS = """
    added changed removed tried published released made_live imported exported rotated revoked signed_in signed_out
    asked commented approved sent_back withdrawn failed
""".split()


class AuditEntry(models.Model):
    """What an admin, a command or an import did: who, when, and the values before and after. Never updated."""

    class Action(models.TextChoices):
        ADDED = "added", "added"
        CHANGED = "changed", "changed"
        REMOVED = "removed", "removed"
        TRIED = "tried", "tried"  # an op, for a subject whose rows the answer shows; the note has the op
        PUBLISHED = "published", "published"  # a release that was never live before
        RELEASED = "released", "released to a cohort"
        MADE_LIVE = "made_live", "made live again"  # a rollback, or its undoing
        IMPORTED = "imported", "imported"
        EXPORTED = "exported", "exported"
        ROTATED = "rotated", "rotated"
        REVOKED = "revoked", "revoked"
        SIGNED_IN = "signed_in", "signed in"
        SIGNED_OUT = "signed_out", "signed out"
        ASKED = "asked", "asked for"
        COMMENTED = "commented", "commented"
        APPROVED = "approved", "approved"
        SENT_BACK = "sent_back", "sent back"  # the reviewer wants changes
        WITHDRAWN = "withdrawn", "withdrawn"
        FAILED = "failed", "failed"

    time = models.DateTimeField()
    by = models.CharField(max_length=150)
    # No foreign key: the log never blocks a delete.
    by_id = models.BigIntegerField(
        null=True, editable=False, help_text="Id of the account. A name can be changed, or given to somebody else."
    )
    kind = models.CharField(max_length=10, help_text="Of what: one of the kinds that the manifests declare.")
    name = models.CharField(max_length=200, help_text="The path or name after the change.")
    action = models.CharField(max_length=10, choices=Action)
    changes = models.JSONField(
        default=dict, help_text="{field: [before, after]}, null if empty. For a removed row, all fields."
    )
    note = models.CharField(max_length=500, blank=True)

    class Meta:
        db_table = "analytics_auditentry"  # named by its former app
        verbose_name, verbose_name_plural = "audit log entry", "audit log entries"
        ordering = ["-time", "-id"]
        indexes = [
            models.Index(fields=["-time", "-id"], name="audit_newest"),  # the whole history, newest first
            models.Index(fields=["kind", "name", "-id"], name="audit_of_one"),  # one op's history
        ]
        constraints = [
            # Every change has an author and a known action.
            models.CheckConstraint(condition=~Q(by=""), name="audit_by_somebody"),
            models.CheckConstraint(condition=Q(action__in=AUDIT_ACTIONS), name="audit_action_known"),
        ]

    def __str__(self) -> str:
        return f"{self.kind_label} {self.name} {self.get_action_display()} by {self.by}"

    @property
    def kind_label(self) -> str:
        """The kind in words; the kind itself if the app that declared it is gone."""
        kind = manifest.get().audit_kinds.get(self.kind)
        return kind.label if kind else self.kind
