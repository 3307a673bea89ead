"""Writes of a subject, with the rows as they were before, so that they can be undone."""

from django.db import models
from django.utils import timezone

from workspace.models import base
from workspace.models.base import AsSent


class WriteRecord(models.Model):
    """One write of a subject: the rows that it changed or created. It is committed with the write.

    `rows` has for each row its model, its id, and the changed columns `before` (null for a row that was created) and
    `after`. Long values after the write are only hashes, because they are only compared.
    """

    id = models.BigAutoField(primary_key=True)  # short, because models send it, and in the order of the writes
    subject = models.CharField(max_length=200, help_text="Who made the write, and can undo it.")
    tool_name = models.CharField(max_length=100)
    summary = models.CharField(max_length=300, help_text="What the write answered.")
    entity_id = models.CharField(max_length=36, blank=True, default="", help_text="The row that it was about.")
    rows = models.JSONField(decoder=AsSent)
    at = models.DateTimeField(default=timezone.now, editable=False)
    undone_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        indexes = [
            # The last writes of a subject, for onto.history.undo.
            models.Index(fields=["subject", "-id"], name="write_of_subject"),
            # Writes that are too old to be undone.
            models.Index(fields=["at"], name="write_by_age"),
        ]
        constraints = [
            # A write without a subject could be undone by anyone without one.
            base.require_text("subject", name="write_subject_given"),
        ]

    def __str__(self) -> str:
        return self.summary
