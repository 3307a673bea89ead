"""Drafts that are to be published at a time."""

from django.db import models
from django.db.models import Q


class ScheduledPublish(models.Model):
    """A reviewed draft that a job publishes at a time, if it is still the same. The row is the work.

    Only one waits at a time, because there is one draft.
    """

    class State(models.TextChoices):
        WAITING = "waiting", "waiting"
        PUBLISHED = "published", "published"
        FAILED = "failed", "not published"
        CANCELLED = "cancelled", "cancelled"

    version = models.CharField(max_length=64, help_text="Hash of the draft to publish.")
    live_version = models.CharField(max_length=64, blank=True, help_text="The release that was live at the review.")
    summary = models.CharField("changes", max_length=200, help_text="What the draft changes.")
    publish_at = models.DateTimeField()
    note = models.CharField(max_length=500)
    accepted = models.CharField("warnings accepted because", max_length=500, blank=True)
    accepted_loss = models.CharField("losses accepted because", max_length=500, blank=True)
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    reason = models.TextField("why not", blank=True, help_text="Why it was not published.")
    created_by = models.CharField(max_length=150)
    created_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True, help_text="When it was published, cancelled or given up.")
    ended_by = models.CharField(max_length=150, blank=True)
    # Set by the process that works on it. One that dies is taken for dead after a while, and another one takes over.
    claimed_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        verbose_name, verbose_name_plural = "scheduled publish", "scheduled publishes"
        ordering = ["-publish_at", "-id"]
        constraints = [
            # There is one draft. The index also serves the query for the one that waits.
            models.UniqueConstraint(fields=["state"], condition=Q(state="waiting"), name="scheduled_publish_one_waits"),
            models.CheckConstraint(
                condition=Q(state="waiting", ended_at=None)
                | Q(state__in=["published", "failed", "cancelled"], ended_at__isnull=False),
                name="scheduled_publish_ends_once",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.summary} at {self.publish_at:%Y-%m-%d %H:%M}"
